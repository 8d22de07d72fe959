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

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"

	"parley/tools/mcp/tasks"
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
	login  *gatekeeper // nil: a refusal is an error
}

// dial makes what asks the server. It connects to nothing yet.
func (s *server) dial() (*remote, error) {
	g, err := guard.New(guard.Options{Private: s.c.AllowPrivate, Resolver: s.o.Resolver})
	if err != nil {
		return nil, err // it names the network
	}
	u, err := g.Parse(s.c.URL)
	if err != nil {
		return nil, fmt.Errorf("read its URL: %w", err)
	}
	c := g.Client(nil)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return errRedirect }
	c.Transport = &courier{next: c.Transport, headers: s.c.Headers, agent: s.o.Version}
	r := &remote{url: u.String(), client: c}
	switch {
	case s.login != nil:
		r.login = &gatekeeper{OAuthHandler: s.login}
	case s.c.hasToken():
		r.login = &gatekeeper{OAuthHandler: headerToken{}}
	}
	return r, nil
}

func (r *remote) connect() sdk.Transport {
	// A broken stream is taken up again where the server can do that (Last-Event-ID); a request
	// is never made twice by it.
	t := &sdk.StreamableClientTransport{Endpoint: r.url, HTTPClient: r.client, MaxRetries: 2, MaxEventSize: maxMessage}
	if r.login != nil {
		t.OAuthHandler = r.login
	}
	return t
}

func (r *remote) close() { r.client.CloseIdleConnections() }

func (r *remote) explain(err error) error { return err }

func (r *remote) refusal() error {
	if r.login == nil {
		return nil
	}
	if err := r.login.last.Load(); err != nil {
		return *err
	}
	return nil
}

// headerToken is for servers whose token stands in the operator's headers: there is no other.
type headerToken struct{}

var _ auth.OAuthHandler = headerToken{}

var errHeaderToken = errors.New("the server does not take the token of the header authorization")

// TokenSource implements [auth.OAuthHandler].
func (headerToken) TokenSource(context.Context) (oauth2.TokenSource, error) { return nil, nil } // as the interface has it

// Authorize implements [auth.OAuthHandler].
func (headerToken) Authorize(_ context.Context, _ *http.Request, res *http.Response) error {
	_ = res.Body.Close()
	return fmt.Errorf("%w: %s", errHeaderToken, http.StatusText(res.StatusCode))
}

// gatekeeper notes why a request could not be made, or not again after it was refused. The library
// then asks the server in the way of older revisions, and what that comes to would hide why.
type gatekeeper struct {
	auth.OAuthHandler
	last atomic.Pointer[error]
}

// TokenSource implements [auth.OAuthHandler].
func (g *gatekeeper) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	s, err := g.OAuthHandler.TokenSource(ctx)
	if err != nil || s == nil {
		return s, err // as it is
	}
	return noting{s, g}, nil
}

// noting is a source of tokens whose errors a gatekeeper notes.
type noting struct {
	oauth2.TokenSource
	in *gatekeeper
}

// Token implements [oauth2.TokenSource].
func (n noting) Token() (*oauth2.Token, error) {
	t, err := n.TokenSource.Token()
	if err != nil {
		n.in.last.Store(&err)
	}
	return t, err // as it is
}

// Authorize implements [auth.OAuthHandler].
func (g *gatekeeper) Authorize(ctx context.Context, r *http.Request, res *http.Response) error {
	err := g.OAuthHandler.Authorize(ctx, r, res)
	if err != nil {
		g.last.Store(&err)
	}
	return err // as it is
}

// courier carries requests to a server: with the operator's headers, and with a bound on what
// comes back. It follows no redirect, so the headers go nowhere else.
type courier struct {
	next    http.RoundTripper
	headers []programs.Variable
	agent   string
	login   bool // its requests are for an authorization server, and no calls
}

// sentKey is the key in a context under which a *atomic.Bool stands that becomes true when a
// request of that context may have been sent.
type sentKey struct{}

func markSent(ctx context.Context) {
	if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
		sent.Store(true)
	}
}

func unmarkSent(ctx context.Context) {
	if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
		sent.Store(false)
	}
}

// RoundTrip implements [http.RoundTripper].
func (c *courier) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if c.login {
		ctx = context.WithValue(ctx, sentKey{}, nil)
	}
	r = r.Clone(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { markSent(r.Context()) },
	}))
	r.Header.Set("User-Agent", "parley/"+c.agent)
	tasks.NameTask(r)
	for _, h := range c.headers {
		r.Header.Set(h.Name, h.Value)
	}
	res, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err // the session says what was sent
	}
	if res.StatusCode == http.StatusUnauthorized { // so the server has not done what was asked
		unmarkSent(r.Context())
	}
	// A stream goes on for as long as the server likes, and each of its events is bounded. What
	// comes with an error is read as a whole, whatever it is said to be.
	if t, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); t != "text/event-stream" || res.StatusCode/100 != 2 {
		res.Body = &boundedBody{res.Body, maxMessage}
	}
	tasks.KeepIn(res, maxMessage)
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
	return n, err // as it is
}
