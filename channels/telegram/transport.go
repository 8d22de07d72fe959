package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strings"
	"sync/atomic"

	"parley/channels"
)

// tokenTransport puts the token into the path of a copy of each request, and
// takes it out of whatever comes back. The one who asked never sees it.
type tokenTransport struct {
	base  http.RoundTripper
	token channels.Secret
}

func (t *tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	r := req.Clone(req.Context())
	at := strings.LastIndex(r.URL.Path, "/bot"+placeholder+"/")
	if at < 0 {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, fmt.Errorf("no place for the token in the path %s", r.URL.Path)
	}
	r.URL.Path = r.URL.Path[:at] + "/bot" + t.token.Reveal() + r.URL.Path[at+len("/bot"+placeholder):]
	r.URL.RawPath = ""
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, t.cleanError(err)
	}
	resp.Request = req
	for _, values := range resp.Header {
		for i, v := range values {
			values[i] = string(t.clean([]byte(v)))
		}
	}
	resp.Status = string(t.clean([]byte(resp.Status)))
	return resp, nil
}

// CloseIdleConnections is for http.Client.
func (t *tokenTransport) CloseIdleConnections() {
	if b, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		b.CloseIdleConnections()
	}
}

// clean replaces the token, also where its colon is escaped.
func (t *tokenTransport) clean(b []byte) []byte {
	token := t.token.Reveal()
	_, key, _ := strings.Cut(token, ":")
	if !bytes.Contains(b, []byte(key)) {
		return b
	}
	for _, form := range []string{token, strings.Replace(token, ":", "%3A", 1), strings.Replace(token, ":", "%3a", 1), key} {
		b = bytes.ReplaceAll(b, []byte(form), []byte("[redacted]"))
	}
	return b
}

// cleanError keeps err as it is unless its text holds the token; then only its
// text without the token and what sort of error it is remain.
func (t *tokenTransport) cleanError(err error) error {
	text := err.Error()
	cleaned := string(t.clean([]byte(text)))
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
// most of it, so calls carry an exchange in their context.
type exchange struct {
	left     atomic.Bool // some of the request may have gone out
	status   int         // 0: no answer
	body     []byte      // the whole answer, if whole; of one that is too large the beginning
	whole    bool
	tooLarge bool
	retry    string // the Retry-After header
	err      error
}

type exchangeKey struct{}

// poster sends requests. It is the library's HTTP client as well as ours.
type poster struct {
	client    *http.Client
	transport *tokenTransport
	most      int64
}

func newPoster(token channels.Secret, base http.RoundTripper, most int64) *poster {
	t := &tokenTransport{base, token}
	return &poster{
		client: &http.Client{
			Transport:     t,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		transport: t,
		most:      most,
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
	var content []byte
	if req.Body != nil {
		var err error
		content, err = io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
	}
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		WroteHeaders: func() { x.left.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) { x.left.Store(true) },
	})
	once := req.Clone(ctx)
	if empty(content) {
		content = nil
		once.Header.Del("Content-Type")
	}
	once.Body, once.GetBody = io.NopCloser(bytes.NewReader(content)), nil
	once.ContentLength = int64(len(content))
	return p.answer(once, x)
}

// answer sends a request and keeps the whole answer.
func (p *poster) answer(req *http.Request, x *exchange) (*http.Response, error) {
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	x.status = resp.StatusCode
	x.retry = resp.Header.Get("Retry-After")
	body, err := io.ReadAll(io.LimitReader(resp.Body, p.most+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", p.transport.cleanError(err))
	}
	if int64(len(body)) > p.most {
		body = p.transport.clean(body)
		x.tooLarge, x.body = true, body[:min(len(body), maxGarbled)]
		return nil, fmt.Errorf("%w: more than %d bytes", errTooLarge, p.most)
	}
	x.body, x.whole = p.transport.clean(body), true
	resp.Body = io.NopCloser(bytes.NewReader(x.body))
	return resp, nil
}

// empty says whether a body has nothing in it. The library's form without a field is
// two lines, of which Telegram's server waits for the rest until the caller gives up
// (tdlib, HttpReader::parse_multipart_form_data).
func empty(body []byte) bool { return emptyForm.Match(body) }

var emptyForm = regexp.MustCompile(`^\s*(--[0-9a-f]+--\s*)?$`)
