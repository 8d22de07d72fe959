package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/tools"
	"parley/tools/mcp/oauth"
	"parley/tools/programs"
	"parley/tools/web/guard"
)

// Times of a server at which nobody is logged in.
const (
	loginLook  = 15 * time.Second // between two looks whether somebody has, by another process
	loginRetry = 5 * time.Minute  // it is asked again without a login
)

// ErrNoLogin means that nobody can log in at a server.
var ErrNoLogin = errors.New("nobody can log in at it")

// hasToken reports whether the operator gives a token in a header.
func (s Server) hasToken() bool {
	return slices.ContainsFunc(s.Headers, func(v programs.Variable) bool { return strings.EqualFold(v.Name, "authorization") })
}

// newLogin makes what logs parley in at the server; nil where the operator has done that, and for
// programs. What it fetches goes through the same guard as requests to the server, without the
// operator's headers, which are for the server alone.
func (s *server) newLogin() (*oauth.Client, error) {
	if s.c.URL == "" || s.c.hasToken() || s.o.Logins == "" {
		return nil, nil // no way to log in is no error
	}
	g, err := guard.New(guard.Options{Private: s.c.AllowPrivate, Resolver: s.o.Resolver})
	if err != nil {
		return nil, err // it names the network
	}
	c := g.Client(nil)
	c.Transport = &courier{next: c.Transport, agent: s.o.Version, login: true}
	o := oauth.Options{Server: s.c.Name, URL: s.c.URL, Config: s.c.OAuth, HTTP: c, Folder: s.o.Logins, Examining: s.o.examining, Log: s.o.Log, Now: s.o.Now}
	if s.o.Conceal != nil {
		o.Conceal = func(secrets ...string) { s.o.Conceal(s.c.Name, secrets...) }
	}
	return oauth.New(o), nil
}

func (s *server) loginStatus() *oauth.Status {
	if s.login == nil {
		return nil
	}
	return s.login.Status()
}

// awaitLogin waits until somebody has logged in, in this process or in another with the same folder
// of logins, or until it is time to look whether the server still wants that.
func (s *server) awaitLogin(ctx context.Context, need *oauth.LoginError) {
	s.mu.Lock()
	known := s.state == NeedsLogin
	s.mu.Unlock()
	s.enter(NeedsLogin, need)
	if !known {
		s.o.Log.Warn("MCP server wants a login", "server", s.c.Name, "problem", s.told(need))
	}
	look := time.NewTicker(loginLook)
	defer look.Stop()
	ask := time.NewTimer(loginRetry)
	defer ask.Stop()
	before := s.loginStatus()
	for {
		select {
		case <-look.C:
			if now := s.loginStatus(); now != nil && before == nil {
				s.enter(Starting, nil)
				return
			}
		case <-s.retry:
			s.enter(Starting, nil)
			return
		case <-ask.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// rest waits before the server is connected to again, or until somebody wants that now.
func (s *server) rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.retry:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// unauthorized returns what is said of a call that was not made because the server wants a login,
// or another one; nil: that is not why it failed.
func (s *server) unauthorized(now *session, t *Tool, err error) error {
	need, ok := errors.AsType[*oauth.LoginError](err)
	switch {
	case ok && need.More:
		s.mu.Lock()
		state := s.state
		s.mu.Unlock()
		s.enter(state, need)
		s.o.Log.Warn("MCP server wants a login with more rights", "server", s.c.Name, "tool", t.config.Name, "problem", s.told(need))
	case ok:
		now.end(fmt.Errorf("%w: %w", errEnded, err)) // it is said when the session is over
	case errors.Is(err, errHeaderToken):
		return tools.Errorf(tools.Permanent, "the MCP server %s does not take the token that its operator gave, so %s was not done", s.c.Name, t.config.Name)
	case errors.Is(err, oauth.ErrForbidden):
		return tools.Errorf(tools.Permanent, "the MCP server %s does not permit %s (403), so it was not done", s.c.Name, t.config.Name)
	default:
		return nil
	}
	return tools.Errorf(tools.Permanent, "the MCP server %s has not done %s. Its operator has to log in: %s", s.c.Name, t.config.Name, s.told(need))
}

// lookUpLogin returns what logs parley in at a server.
func (h *Host) lookUpLogin(name string) (*server, error) {
	s, ok := h.find(name)
	switch {
	case !ok:
		return nil, fmt.Errorf("no MCP server %q", name)
	case s.login != nil:
		return s, nil
	case s.c.URL == "":
		return nil, fmt.Errorf("%w: the MCP server %s is a program", ErrNoLogin, name)
	case s.c.hasToken():
		return nil, fmt.Errorf("%w: the configuration gives a token to the MCP server %s in the header authorization", ErrNoLogin, name)
	}
	return nil, ErrNoLogin
}

// BeginLogin begins a login at a server, as [oauth.Client.Begin] says.
func (h *Host) BeginLogin(ctx context.Context, server, redirect string, scopes ...string) (oauth.Started, error) {
	s, err := h.lookUpLogin(server)
	if err != nil {
		return oauth.Started{}, err
	}
	return s.login.Begin(ctx, redirect, scopes...) // it says what failed
}

// FinishLogin ends a login with the address to which the browser was led, and has the server
// connected to again.
func (h *Host) FinishLogin(ctx context.Context, server, address string) error {
	s, err := h.lookUpLogin(server)
	if err != nil {
		return err
	}
	if err := s.login.Finish(ctx, address); err != nil {
		return err // it says what failed
	}
	s.mu.Lock()
	up := s.state == Up
	s.mu.Unlock()
	if up { // with fewer rights; the next request has the new token
		s.enter(Up, nil)
	}
	s.retry.Send()
	return nil
}

// Logout forgets the login at a server. It reports whether there was one.
func (h *Host) Logout(ctx context.Context, server string) (bool, error) {
	s, err := h.lookUpLogin(server)
	if err != nil {
		return false, err
	}
	was, err := s.login.Logout(ctx)
	if err != nil {
		return was, err // it says what failed
	}
	s.mu.Lock()
	now := s.session
	s.mu.Unlock()
	if was && now != nil {
		now.end(fmt.Errorf("%w: %w", errEnded, &oauth.LoginError{Server: server}))
	}
	return was, nil
}
