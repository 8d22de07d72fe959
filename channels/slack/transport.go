package slack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

	"parley/channels"
)

// placeholder stands where the transport puts a token.
const placeholder = "_"

// openMethod is the one call that takes the app's token.
const openMethod = "apps.connections.open"

// tokenTransport puts the tokens into a copy of each request, and takes them out
// of whatever comes back. The one who asked never sees them. slack-go sends the
// token in the form of a request; here it is in the header, which proxies do not
// log.
type tokenTransport struct {
	base     http.RoundTripper
	bot, app channels.Secret
	clean    *strings.Replacer
}

func newTokenTransport(o Options, base http.RoundTripper) *tokenTransport {
	var pairs []string
	for _, s := range []channels.Secret{o.BotToken, o.AppToken, o.SigningSecret} {
		if !s.IsZero() {
			pairs = append(pairs, s.Reveal(), s.String())
		}
	}
	return &tokenTransport{base: base, bot: o.BotToken, app: o.AppToken, clean: strings.NewReplacer(pairs...)}
}

func (t *tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	token := t.bot
	if strings.HasSuffix(req.URL.Path, "/"+openMethod) {
		token = t.app
	}
	r := req.Clone(req.Context())
	r.Header.Set("Authorization", "Bearer "+token.Reveal())
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, t.cleanError(err)
	}
	resp.Request = req
	return resp, nil
}

// CloseIdleConnections is for http.Client.
func (t *tokenTransport) CloseIdleConnections() {
	if b, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		b.CloseIdleConnections()
	}
}

// cleanError keeps err as it is unless its text holds a token; then only its text
// without it and what sort of error it is remain.
func (t *tokenTransport) cleanError(err error) error {
	text := err.Error()
	cleaned := t.clean.Replace(text)
	if cleaned == text {
		return err
	}
	out := &cleanedError{text: cleaned}
	for _, kind := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, kind) {
			out.kind = kind
		}
	}
	return out
}

type cleanedError struct {
	text string
	kind error
}

func (e *cleanedError) Error() string { return e.text }
func (e *cleanedError) Unwrap() error { return e.kind }

// exchange is what is known of one call afterwards. The library's errors lose
// most of it, and it takes an answer without "ok" and "error" for a success
// (SlackResponse.Err), so calls carry an exchange in their context.
type exchange struct {
	left   atomic.Bool // some of the request may have gone out
	status int         // 0: no answer
	body   []byte      // the whole answer, if whole
	whole  bool
	retry  string // the Retry-After header
	err    error
}

type exchangeKey struct{}

// poster sends requests. It is the library's HTTP client as well as ours.
type poster struct {
	client    *http.Client
	bare      *http.Client // the same without a token
	transport *tokenTransport
	most      int64
}

func newPoster(o Options, base http.RoundTripper) *poster {
	t := newTokenTransport(o, base)
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &poster{
		client:    &http.Client{Transport: t, CheckRedirect: stay},
		bare:      &http.Client{Transport: base, CheckRedirect: stay},
		transport: t,
		most:      o.MaxAnswer,
	}
}

// errTooLarge is the kind of an answer that was longer than allowed.
var errTooLarge = errors.New("the answer is too long")

// Do sends req once: its body is held in memory without a way to get it again,
// so that net/http cannot repeat the request on another connection.
func (p *poster) Do(req *http.Request) (*http.Response, error) {
	x, _ := req.Context().Value(exchangeKey{}).(*exchange)
	if x == nil {
		x = &exchange{}
	}
	resp, err := p.do(req, x)
	x.err = err
	return resp, err
}

func (p *poster) do(req *http.Request, x *exchange) (*http.Response, error) {
	content, err := contentOf(req)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		WroteHeaders: func() { x.left.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) { x.left.Store(true) },
	})
	once := req.Clone(ctx)
	once.Body, once.GetBody = io.NopCloser(bytes.NewReader(content)), nil
	once.ContentLength = int64(len(content))
	resp, err := p.client.Do(once)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	x.status, x.retry = resp.StatusCode, resp.Header.Get("Retry-After")
	body, err := io.ReadAll(io.LimitReader(resp.Body, p.most+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", p.transport.cleanError(err))
	}
	if int64(len(body)) > p.most {
		return nil, fmt.Errorf("%w: more than %d bytes", errTooLarge, p.most)
	}
	x.body, x.whole = []byte(p.transport.clean.Replace(string(body))), true
	resp.Body = io.NopCloser(bytes.NewReader(x.body))
	return resp, nil
}

// contentOf is the body of a request without the token that the library put into
// its form.
func contentOf(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	content, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, err
	}
	if req.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		return content, nil
	}
	values, err := url.ParseQuery(string(content))
	if err != nil {
		return nil, err
	}
	values.Del("token")
	return []byte(values.Encode()), nil
}
