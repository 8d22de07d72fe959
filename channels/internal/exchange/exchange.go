// Package exchange sends each request to a network's API once, and knows afterwards
// what went over the wire: whether it may have had its effect.
package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/channels/internal/route"
)

// ErrTimeout is why a call ended without an answer.
var ErrTimeout = errors.New("no answer in time")

// errTooLarge is the kind of an answer that was longer than allowed.
var errTooLarge = errors.New("the answer is too long")

// MaxGarbled is how much is kept of an answer that is too long, in bytes.
const MaxGarbled = 32 << 10

// Exchange is what is known of one call afterwards. A library's errors lose most of it,
// so calls carry an exchange in their context.
type Exchange struct {
	Left     atomic.Bool // some of the request may have gone out
	Status   int         // 0: no answer
	Body     []byte      // the whole answer, if Whole; of one that is too large the beginning
	Whole    bool
	TooLarge bool
	Retry    string // the Retry-After header
	Header   http.Header
	Err      error
}

type contextKey struct{}

// With returns a context whose call fills the exchange.
func With(ctx context.Context) (context.Context, *Exchange) {
	x := &Exchange{}
	return context.WithValue(ctx, contextKey{}, x), x
}

// Call runs one of a library's calls, which may take so long, and judges it by what went
// over the wire, not by what the library says of it.
func Call(ctx context.Context, within time.Duration, op string, run func(ctx context.Context) error, judge func(ctx context.Context, op string, x *Exchange) (json.RawMessage, error)) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, ErrTimeout)
	defer cancel()
	calling, x := With(ctx)
	err := run(calling)
	if x.Err == nil && x.Status == 0 {
		return nil, &channels.Error{Kind: channels.Refused, Op: op, Err: fmt.Errorf("make the request: %w", err)}
	}
	return judge(ctx, op, x)
}

// Error returns what an error of the call begins with. answered is false when there was
// no answer; then the error says whether the call may have had its effect.
func (x *Exchange) Error(ctx context.Context, op string) (e *channels.Error, answered bool) {
	e = &channels.Error{Op: op, Status: x.Status, Err: x.Err}
	if x.Status != 0 {
		return e, true
	}
	e.Kind = channels.Unsent
	if x.Left.Load() {
		e.Kind = channels.Ambiguous
	}
	e.Err = Cause(ctx, x.Err)
	return e, false
}

// Foreign judges an answer that the network's API did not give: something in between
// did, or the answer was cut off.
func (x *Exchange) Foreign(e *channels.Error) {
	if x.Whole {
		e.Message = markup.Brief(string(x.Body))
		if e.Message == "" {
			e.Message = "an empty answer"
		}
	}
	switch {
	case x.Status >= 300 && x.Status < 400:
		e.Kind = channels.Unsent // a redirect, which is not followed
	case x.Status == http.StatusProxyAuthRequired:
		e.Kind, e.Message = channels.Unsent, route.NoCredentials
	case x.Status >= 400 && x.Status < 500 && x.Status != http.StatusRequestTimeout:
		e.Kind = channels.Refused
	default:
		e.Kind = channels.Ambiguous // a gateway that gave up may have passed the request on
	}
}

// Cause says also why a context ended, if it did.
func Cause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// Poster sends requests. It is a library's HTTP client as well as ours.
type Poster struct {
	*http.Client
	// Clean takes secrets out of what comes back.
	Clean func(text []byte) []byte
	// Prepare makes of a request, and what its body holds, what is sent.
	Prepare func(req *http.Request, content []byte) ([]byte, error)
	Most    int64 // longest answer in bytes
}

// Stay returns a client over base that follows no redirect.
func Stay(base http.RoundTripper) *http.Client {
	return &http.Client{Transport: base, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Do sends req once: its body is held in memory without a way to get it again,
// so that net/http cannot repeat the request on another connection.
func (p *Poster) Do(req *http.Request) (*http.Response, error) {
	x, _ := req.Context().Value(contextKey{}).(*Exchange)
	if x == nil {
		x = &Exchange{}
	}
	resp, err := p.do(req, x)
	x.Err = err
	return resp, err
}

func (p *Poster) do(req *http.Request, x *Exchange) (*http.Response, error) {
	var content []byte
	if req.Body != nil {
		var err error
		content, err = io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
	}
	once := req.Clone(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		WroteHeaders: func() { x.Left.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) { x.Left.Store(true) },
	}))
	content, err := p.Prepare(once, content)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	once.Body, once.GetBody = io.NopCloser(bytes.NewReader(content)), nil
	once.ContentLength = int64(len(content))
	return p.Answer(once, x)
}

// Answer sends a request and keeps the whole answer in x.
func (p *Poster) Answer(req *http.Request, x *Exchange) (*http.Response, error) {
	resp, err := p.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	x.Status, x.Retry, x.Header = resp.StatusCode, resp.Header.Get("Retry-After"), resp.Header
	body, err := io.ReadAll(io.LimitReader(resp.Body, p.Most+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", p.CleanError(err))
	}
	tooLarge := int64(len(body)) > p.Most
	body = p.Clean(body)
	if tooLarge {
		x.TooLarge, x.Body = true, body[:min(len(body), MaxGarbled)]
		return nil, fmt.Errorf("%w: more than %d bytes", errTooLarge, p.Most)
	}
	x.Body, x.Whole = body, true
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// CleanError keeps err as it is unless its text holds a secret.
func (p *Poster) CleanError(err error) error { return CleanError(err, p.Clean) }

// CleanError keeps err as it is unless its text holds a secret; then only its text
// without the secret and what sort of error it is remain.
func CleanError(err error, clean func([]byte) []byte) error {
	text := err.Error()
	cleaned := string(clean([]byte(text)))
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

// Base is a transport under one that changes requests. It passes on to it what
// http.Client asks of a transport.
type Base struct{ http.RoundTripper }

// CloseIdleConnections is for http.Client.
func (b Base) CloseIdleConnections() {
	if c, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
