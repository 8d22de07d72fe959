package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/oauth2"

	"parley/pause"
)

// grant is what a login has brought, as it stands in its file. Only the user of the process reads
// that.
type grant struct {
	Server   string `json:"server"`   // the URL of the MCP server: tokens go there alone
	Resource string `json:"resource"` // what tokens are for
	Issuer   string `json:"issuer"`
	TokenURL string `json:"token_url"`
	Revoke   string `json:"revocation_url,omitempty"`

	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"` // of a client that parley registered
	Style        oauth2.AuthStyle `json:"auth_style"`

	Scopes   []string  `json:"scopes,omitempty"`
	Access   string    `json:"access_token,omitempty"`
	Refresh  string    `json:"refresh_token,omitempty"`
	Obtained time.Time `json:"obtained"`
	Expires  time.Time `json:"expires,omitzero"` // zero: nobody said
	// Ended says why the grant is worth nothing any more; then it has no tokens.
	Ended string `json:"ended,omitempty"`
}

// String says what g is, and nothing of it.
func (g *grant) String() string { return "[a login]" }

// GoString implements [fmt.GoStringer].
func (g *grant) GoString() string { return g.String() }

var _ fmt.GoStringer = (*grant)(nil)

const (
	early       = time.Minute               // before its end a token is replaced, at most
	maxLifetime = 10 * 365 * 24 * time.Hour // beyond it a token has no end
)

// stale reports whether the token should be replaced.
func (g *grant) stale(now time.Time) bool {
	if g.Expires.IsZero() {
		return false
	}
	return now.After(g.Expires.Add(-min(early, g.Expires.Sub(g.Obtained)/4)))
}

// over reports whether the token has ended by the clock.
func (g *grant) over(now time.Time) bool { return !g.Expires.IsZero() && !now.Before(g.Expires) }

func (g *grant) token() *oauth2.Token {
	return &oauth2.Token{AccessToken: g.Access, TokenType: "Bearer", Expiry: g.Expires}
}

// take puts a token into g that the authorization server gave.
func (g *grant) take(t *oauth2.Token, now time.Time) {
	g.Access, g.Obtained, g.Expires = t.AccessToken, now, time.Time{}
	if seconds, ok := t.Extra("expires_in").(float64); ok && seconds > 0 && seconds < maxLifetime.Seconds() {
		g.Expires = now.Add(time.Duration(seconds) * time.Second)
	}
	if t.RefreshToken != "" { // else the one that there is goes on
		g.Refresh = t.RefreshToken
	}
	if text, ok := t.Extra("scope").(string); ok && text != "" {
		g.Scopes = scopesIn(text)
	}
}

func (c *Client) path() string { return filepath.Join(c.o.Folder, c.o.Server+".json") }

// load returns the grant of the server; nil: there is none, or it is for something else than what
// the configuration says now.
func (c *Client) load() (*grant, error) {
	c.mu.Lock()
	g := c.unsaved
	c.mu.Unlock()
	if g == nil {
		text, err := os.ReadFile(c.path())
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil // that there is none is no error
		}
		if err != nil {
			return nil, fmt.Errorf("read the login at the MCP server %s: %w", c.o.Server, err)
		}
		g = &grant{}
		if err := json.Unmarshal(text, g); err != nil { // its text is not said: tokens stand in it
			return nil, fmt.Errorf("read the login at the MCP server %s: %s holds no login: log in again", c.o.Server, c.path())
		}
	}
	o := c.o.Config
	switch {
	case g.Server != c.o.URL, o.Issuer != "" && !sameIssuer(o.Issuer, g.Issuer), o.ClientID != "" && o.ClientID != g.ClientID:
		return nil, nil // as above
	}
	c.conceal(g)
	return g, nil
}

// save writes g so that either it or what stood there is there after a crash. While it cannot be
// written this process goes on with it.
func (c *Client) save(g *grant) error {
	c.conceal(g)
	err := writeFile(c.path(), g)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unsaved = nil; err != nil {
		c.unsaved = g
		return fmt.Errorf("keep the login at the MCP server %s: %w", c.o.Server, err)
	}
	return nil
}

// conceal has the tokens of g taken out of all that leaves the process.
func (c *Client) conceal(g *grant) {
	if c.o.Conceal == nil {
		return
	}
	c.mu.Lock()
	all := [4]string{g.Access, g.Refresh, g.ClientSecret, c.secret}
	known := c.concealed == all
	c.concealed = all
	c.mu.Unlock()
	if !known {
		c.o.Conceal(all[:]...)
	}
}

func writeFile(path string, g *grant) (err error) {
	type stored grant // without its String
	text, err := json.MarshalIndent((*stored)(g), "", "  ")
	if err != nil {
		return fmt.Errorf("encode it: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of logins: %w", err)
	}
	if err := removeUnfinished(path); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new") // with mode 0600
	if err != nil {
		return fmt.Errorf("make a file: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write a file: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("put the file in its place: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// removeUnfinished removes what processes left that ended while they wrote: tokens stand in it. The
// caller holds the lock.
func removeUnfinished(path string) error {
	dir, name := filepath.Split(path)
	all, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for unfinished files: %w", err)
	}
	for _, old := range all {
		if !strings.HasPrefix(old.Name(), name+".") || !strings.HasSuffix(old.Name(), ".new") {
			continue
		}
		if err := os.Remove(filepath.Join(dir, old.Name())); err != nil {
			return fmt.Errorf("remove an unfinished file: %w", err)
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open the folder of logins: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync the folder of logins: %w", err)
	}
	return nil
}

// lockRest is between two looks whether another process has let the lock go.
const lockRest = 20 * time.Millisecond

// lock makes the caller the only one, of all processes that have this folder, that changes the
// grant. The system frees it however the process ends.
func (c *Client) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case c.changing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() {
		if err != nil {
			<-c.changing
		}
	}()
	if err := os.MkdirAll(c.o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of logins: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(c.o.Folder, c.o.Server+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of a login: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			if err = pause.For(ctx, lockRest); err == nil {
				continue
			}
		}
		break
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock the login at the MCP server %s: %w", c.o.Server, err)
	}
	return func() {
		_ = f.Close() // which unlocks it
		<-c.changing
	}, nil
}
