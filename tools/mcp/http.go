package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools/programs"
	"parley/tools/web/guard"
)

var (
	errRedirect = errors.New("the server redirects, which is not followed: the configuration has to name where it is")
	errLarge    = fmt.Errorf("the server's answer is longer than %d bytes", maxMessage)
)

// remote is a server that is asked over HTTP.
type remote struct {
	url    string
	client *http.Client
}

// dial makes what asks the server. It connects to nothing yet.
func (s *server) dial() (*remote, error) {
	g, err := guard.New(guard.Options{Private: s.c.AllowPrivate, Resolver: s.o.Resolver})
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the network
	}
	u, err := g.Parse(s.c.URL)
	if err != nil {
		return nil, fmt.Errorf("read its URL: %w", err)
	}
	c := g.Client(nil)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return errRedirect }
	c.Transport = &courier{next: c.Transport, headers: s.c.Headers, agent: s.o.Version}
	return &remote{u.String(), c}, nil
}

func (r *remote) connect() sdk.Transport {
	// A broken stream is taken up again where the server can do that (Last-Event-ID); a request
	// is never made twice by it.
	return &sdk.StreamableClientTransport{Endpoint: r.url, HTTPClient: r.client, MaxRetries: 2, MaxEventSize: maxMessage}
}

func (r *remote) close() { r.client.CloseIdleConnections() }

func (r *remote) explain(err error) error { return err }

// courier carries requests to a server: with the operator's headers, and with a bound on what
// comes back. It follows no redirect, so the headers go nowhere else.
type courier struct {
	next    http.RoundTripper
	headers []programs.Variable
	agent   string
}

// sentKey is the key in a context under which a *atomic.Bool stands that becomes true when a
// request of that context may have been sent.
type sentKey struct{}

func markSent(ctx context.Context) {
	if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
		sent.Store(true)
	}
}

// RoundTrip implements [http.RoundTripper].
func (c *courier) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { markSent(r.Context()) },
	}))
	r.Header.Set("User-Agent", "parley/"+c.agent)
	for _, h := range c.headers {
		r.Header.Set(h.Name, h.Value)
	}
	res, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err //nolint:wrapcheck // the session says what was sent
	}
	// A stream goes on for as long as the server likes, and each of its events is bounded. What
	// comes with an error is read as a whole, whatever it is said to be.
	if t, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); t != "text/event-stream" || res.StatusCode/100 != 2 {
		res.Body = &boundedBody{res.Body, maxMessage}
	}
	return res, nil
}

// boundedBody is an error behind so many bytes.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err //nolint:wrapcheck // as it is
}
