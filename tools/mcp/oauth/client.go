package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

// Options are what a client is made of.
type Options struct {
	Server string // the name of the MCP server, as a file can have it
	URL    string // of the MCP server
	Config Config
	// HTTP fetches metadata and tokens. It connects to nothing that parley may not connect to, and
	// sends nothing that is for the MCP server alone.
	HTTP   *http.Client
	Folder string // of logins, absolute
	// Conceal has secrets of the server taken out of all that leaves the process, in place of those
	// that it was given before; nil: nobody does.
	Conceal func(secrets ...string)
	// Examining has the login left as it is: no token of it is replaced, and no file is written. Where
	// one would be replaced a request comes to [ErrDue].
	Examining bool
	Log       *slog.Logger
	Now       func() time.Time
}

// Client is parley as an OAuth client of one MCP server. Its methods may be called concurrently.
type Client struct {
	o        Options
	changing chan struct{} // holds one while the grant is changed by this process

	mu        sync.Mutex // guards what follows
	said      challenge  // when the server refused a request last
	pending   *pending   // nil: no login is under way
	unsaved   *grant     // what could not be written; nil: the file is right
	own       *grant     // of client credentials; nil: there is none
	secret    string     // of the configuration, as it was read last
	concealed [4]string
}

var _ auth.OAuthHandler = (*Client)(nil)

// New makes a client. It opens nothing.
func New(o Options) *Client {
	return &Client{o: o, changing: make(chan struct{}, 1)}
}

// LoginError is why a request was not made: the operator has to log in, perhaps again.
type LoginError struct {
	Server string
	More   bool     // there is a login, and the server wants one with more rights
	Scopes []string // those rights, if the server said so
	Why    string   // there is no login any more; empty: nobody has logged in yet
}

// Error says what the operator has to do.
func (e *LoginError) Error() string {
	text := "nobody has logged in at it"
	switch {
	case len(e.Scopes) > 0:
		text = "it wants a login with more rights (" + strings.Join(e.Scopes, ", ") + ")"
	case e.More:
		text = "it wants a login with more rights"
	case e.Why != "":
		text = "its login is over (" + e.Why + ")"
	}
	return text + ": parley mcp login " + e.Server
}

// Reasons why a request was not made that no login mends.
var (
	ErrForbidden = errors.New("the server answered 403 Forbidden")
	errRefused   = errors.New("the authorization server refuses what the configuration says of the client (oauth)")
)

// ErrDue is what a request comes to of which an examination could only say more by replacing a token.
var ErrDue = errors.New("its token is not taken any more; a gateway that runs replaces it, which an examination does not")

// TokenError is why a request was not made: there is a login, or a client that logs in by itself, and
// no token can be had by it.
type TokenError struct{ Cause error }

// Error says what was attempted.
func (e *TokenError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *TokenError) Unwrap() error { return e.Cause }

// noToken returns err, which is no *[LoginError], as a *[TokenError].
func noToken(err error) error {
	if _, ok := errors.AsType[*LoginError](err); ok || err == nil || errors.Is(err, ErrDue) {
		return err
	}
	return &TokenError{err}
}

// fetchTime is how long all requests for one token, or for one step of a login, may take.
const fetchTime = 20 * time.Second

var errSlow = fmt.Errorf("the authorization server did not answer within %s", fetchTime)

// source is what yields tokens for requests of a connection.
type source struct {
	c   *Client
	ctx context.Context
}

// TokenSource implements [auth.OAuthHandler].
func (c *Client) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	return source{c, ctx}, nil
}

// Token implements [oauth2.TokenSource]. Without a grant it returns nil: the server is asked
// without a token, and says what it wants.
func (s source) Token() (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeoutCause(s.ctx, fetchTime, errSlow)
	defer cancel()
	g, err := s.c.current(ctx)
	if err != nil || g == nil {
		return nil, noToken(err)
	}
	return g.token(), nil
}

// current returns the grant with a token that can be used, after it has replaced one that ends
// soon; nil: there is none.
func (c *Client) current(ctx context.Context) (*grant, error) {
	if c.o.Config.ByItself() {
		return c.ownGrant(ctx, "")
	}
	g, err := c.load()
	switch now := c.o.Now(); {
	case err != nil:
		return nil, err
	case g == nil || g.Ended != "":
		return nil, nil // that there is none is no error
	case !g.stale(now):
		return g, nil
	case g.Refresh == "" && g.over(now):
		return nil, nil // as above
	case g.Refresh == "":
		return g, nil
	case c.o.Examining && g.over(now):
		return nil, nil // as above
	case c.o.Examining:
		return g, nil
	}
	fresh, err := c.refresh(ctx, g.Access)
	switch _, ended := errors.AsType[*LoginError](err); {
	case err == nil:
		return fresh, nil
	case ended:
		return nil, nil // as above
	case !g.over(c.o.Now()):
		c.o.Log.Warn("token of an MCP server not replaced, it is used to its end", "server", c.o.Server, "error", err)
		return g, nil
	}
	return nil, err
}

// Authorize implements [auth.OAuthHandler]: a server has answered 401 or 403. It returns nil when
// another token is there, with which the request can be made again, and otherwise what the operator
// has to do, as a *[LoginError]. No person is waited for.
func (c *Client) Authorize(ctx context.Context, r *http.Request, res *http.Response) error {
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	_ = res.Body.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTime, errSlow)
	defer cancel()
	said := readChallenge(res.Header)
	if res.StatusCode == http.StatusForbidden && said.problem != "insufficient_scope" {
		return ErrForbidden
	}
	c.mu.Lock()
	c.said = said
	c.mu.Unlock()
	sent, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case c.o.Config.ByItself() && res.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w: it wants %s", ErrForbidden, strings.Join(said.scopes, " "))
	case c.o.Config.ByItself():
		_, err := c.ownGrant(ctx, sent)
		return noToken(err)
	case res.StatusCode == http.StatusForbidden:
		return &LoginError{Server: c.o.Server, More: true, Scopes: said.scopes}
	case c.o.Examining:
		return noToken(c.due(ctx))
	case sent == "":
		return noToken(c.missing())
	}
	_, err := c.refresh(ctx, sent)
	return noToken(err)
}

// due returns what a request comes to whose token was refused, or for which there is none that is
// valid, when no token may be replaced. Whether the authorization server is there is looked at: a
// request that has no grant in it changes nothing.
func (c *Client) due(ctx context.Context) error {
	g, err := c.load()
	switch {
	case err != nil:
		return err
	case g == nil || g.Ended != "":
		return c.missing()
	case g.Refresh == "":
		return &LoginError{Server: c.o.Server, Why: "the server does not take its token any more"}
	}
	if err := checkSecure(g.TokenURL); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.TokenURL, nil)
	if err != nil {
		return fmt.Errorf("ask the authorization server: %w", err)
	}
	res, err := c.o.HTTP.Do(r)
	if err != nil {
		return fmt.Errorf("its token has to be replaced, and the authorization server does not answer: %w", c.worded(err))
	}
	_ = res.Body.Close()
	if res.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("its token has to be replaced, and the authorization server answers %d", res.StatusCode)
	}
	return ErrDue
}

// missing returns the error of a request for which there is no grant.
func (c *Client) missing() error {
	g, err := c.load()
	if err != nil {
		return err
	}
	e := &LoginError{Server: c.o.Server}
	if g != nil {
		e.Why = g.Ended
		if e.Why == "" {
			e.Why = "its token has ended"
		}
	}
	return e
}

// refresh replaces a token, once in all processes that have this folder: who comes later finds
// another token there. A *[LoginError] means that the grant is worth nothing. Once it has begun it goes
// on without its caller, see [Client.Wait]: the authorization server may have replaced the token when
// ctx ends, and would take another try with the old one for theft.
func (c *Client) refresh(ctx context.Context, replaced string) (*grant, error) {
	unlock, err := c.lock(ctx)
	if err != nil {
		return nil, err
	}
	var g *grant
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer unlock()
		own, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), fetchTime, errSlow)
		defer cancel()
		g, err = c.replace(own, replaced)
	}()
	select {
	case <-done:
		return g, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Wait returns when no change of the grant is under way in this process. A token that is being replaced
// takes fetchTime at most.
func (c *Client) Wait() {
	c.changing <- struct{}{}
	<-c.changing
}

// replace replaces a token. The caller holds the lock.
func (c *Client) replace(ctx context.Context, replaced string) (*grant, error) {
	g, err := c.load()
	switch {
	case err != nil:
		return nil, err
	case g == nil || g.Ended != "":
		return nil, c.missing()
	case g.Access != replaced && !g.stale(c.o.Now()):
		return g, nil
	case g.Refresh == "":
		return nil, c.end(g, "the server does not take its token any more")
	}
	secret, err := c.secretOf(g)
	if err != nil {
		return nil, err
	}
	t, err := c.fetch(ctx, g, secret, map[string]string{"grant_type": "refresh_token", "refresh_token": g.Refresh, "resource": g.Resource}, nil)
	if err != nil {
		if why, over := refusal(err); over {
			return nil, c.end(g, why)
		}
		return nil, fmt.Errorf("replace the token of the MCP server %s: %w", c.o.Server, c.worded(err, g.Refresh, secret))
	}
	next := *g
	next.take(t, c.o.Now())
	if err := c.save(&next); err != nil {
		c.o.Log.Error("new token of an MCP server not written, after a restart its operator has to log in again", "server", c.o.Server, "error", err)
	}
	return &next, nil
}

// end notes that a grant is worth nothing any more.
func (c *Client) end(g *grant, why string) error {
	next := *g
	next.Access, next.Refresh, next.Ended = "", "", why
	if err := c.save(&next); err != nil {
		c.o.Log.Error("end of a login not noted", "server", c.o.Server, "error", err)
	}
	return &LoginError{Server: c.o.Server, Why: why}
}

// Status is what there is of a login.
type Status struct {
	Issuer  string    `json:"issuer"`
	Scopes  []string  `json:"scopes,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // of the token, which is replaced before
}

// Status returns what there is of a login; nil: there is none.
func (c *Client) Status() *Status {
	c.mu.Lock()
	g := c.own
	c.mu.Unlock()
	if !c.o.Config.ByItself() {
		var err error
		if g, err = c.load(); err != nil {
			return nil // requests say so
		}
	}
	if g == nil || g.Access == "" {
		return nil
	}
	return &Status{Issuer: visible(g.Issuer), Scopes: g.Scopes, Expires: g.Expires}
}
