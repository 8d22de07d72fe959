package slack

import (
	"fmt"
	"slices"
	"sync"

	"parley/simulators/internal/stage"
)

// reasons of a disconnect message.
var reasons = []string{"warning", "refresh_requested", "link_disabled", "too_many_websockets"}

// sockets are the apps, and the Socket Mode connections that each has open.
type sockets struct {
	*world
	apps    []*app         // in the order of Options.Apps
	agenda  *agenda        // of what is to happen later
	workers sync.WaitGroup // connections and posts
}

// app is an installed app with what the platform keeps for it.
type app struct {
	App
	revoked  string // the error that every call of it gets
	unlinked bool   // Socket Mode is switched off
	conns    []*conn
	tickets  map[string]bool     // good for one connection each
	pending  map[string]*attempt // by envelope id, until acknowledged
	late     []*delivery         // held back by a fault, in order
	owed     int                 // events that are neither acknowledged nor given up
	posting  chan struct{}       // bounds what is posted at once
}

// install makes the apps anew. The caller holds the lock, or is New.
func (s *sockets) install() {
	for _, a := range s.apps {
		a.hangUp("reset")
	}
	s.apps = nil
	for _, a := range s.opts.Apps {
		s.apps = append(s.apps, &app{
			App: a, tickets: map[string]bool{}, pending: map[string]*attempt{}, posting: make(chan struct{}, maxPosts),
		})
	}
}

// app finds an app by name; empty is the first. The caller holds the lock.
func (s *sockets) app(name string) *app {
	if name == "" {
		return s.apps[0]
	}
	for _, a := range s.apps {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// installed is the app of that name, which people need for what they do.
func (s *sockets) installed(name string) *app {
	a := s.app(name)
	if a == nil {
		panic(stage.Forbid("%w: %q", errNoApp, name))
	}
	return a
}

// locked is do under the lock.
func (s *sockets) locked(do func()) func() {
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		do()
	}
}

// hangUp closes every Socket Mode connection.
func (s *sockets) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.apps {
		a.hangUp("the server ends")
	}
}

// choose picks the connection that gets the next envelope: any that may still be
// used. The caller holds the lock.
func (s *sockets) choose(a *app) *conn {
	var open []*conn
	for _, c := range a.conns {
		if !c.gone && !c.ending {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return open[s.rng.IntN(len(open))]
}

// warn tells the client that the connection will end. The caller holds the lock.
func (s *sockets) warn(c *conn, reason string) {
	if reason == "" {
		reason = "warning"
	}
	if c.gone || c.warned {
		return
	}
	c.warned = true
	c.write(mustJSON(map[string]any{
		"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": s.host(c)},
	}))
	if reason == "link_disabled" || reason == "too_many_websockets" {
		c.hangUp(reason)
		return
	}
	s.agenda.after(s.opts.WarningGrace, s.locked(func() { c.hangUp(reason) }))
}

func (s *sockets) host(c *conn) string { return "applink-" + c.entry.ID }

// Disconnect sends a disconnect message with the reason to every connection of
// the app, and says how many there were. After warning and refresh_requested a
// connection lives for Options.WarningGrace, after the others it is closed at
// once; after link_disabled none can be opened until [Server.EnableSocketMode].
func (s *sockets) Disconnect(app, reason string) (n int, err error) {
	defer stage.Act(&s.mu, &err, "disconnect %q", app)()
	a := s.installed(app)
	if !slices.Contains(reasons, reason) {
		return 0, fmt.Errorf("disconnect: unknown reason %q", reason)
	}
	a.unlinked = a.unlinked || reason == "link_disabled"
	cs := slices.Clone(a.conns)
	for _, c := range cs {
		s.warn(c, reason)
	}
	return len(cs), nil
}

// EnableSocketMode ends what Disconnect with link_disabled began.
func (s *sockets) EnableSocketMode(app string) (err error) {
	defer stage.Act(&s.mu, &err, "enable Socket Mode of %q", app)()
	a := s.installed(app)
	a.unlinked = false
	return nil
}

// Revoke makes every call with the app's tokens fail with the error, such as
// token_revoked or account_inactive, and closes its connections; an empty error
// ends that.
func (s *sockets) Revoke(app, code string) (err error) {
	defer stage.Act(&s.mu, &err, "revoke")()
	a := s.installed(app)
	if a.revoked = code; code != "" {
		a.hangUp("revoked")
	}
	return nil
}

// Cut breaks every connection of the app as a network does, without a word, and
// says how many there were.
func (s *sockets) Cut(app string) (n int, err error) {
	defer stage.Act(&s.mu, &err, "cut %q", app)()
	a := s.installed(app)
	cs := slices.Clone(a.conns)
	for _, c := range cs {
		c.cut()
	}
	return len(cs), nil
}
