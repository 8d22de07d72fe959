package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"parley/tools"
	"parley/tools/programs"
)

// Options are what a host is made of. Servers and Changed are required.
type Options struct {
	Servers []Server
	// Runner runs those that are programs; nil: they are not started.
	Runner programs.Runner
	// Folder returns the absolute path of the folder in which the program of a server runs, and
	// which it may write; it is made if it is not there. Required with Runner.
	Folder func(server string) string
	// Changed is called when a server is in another state, or other tools may be offered than
	// before; by several servers at once. It must not block for long.
	Changed func()
	// Logins is the absolute path of the folder in which logins at servers are kept; empty: nobody
	// can log in at any.
	Logins string
	// Conceal has secrets of a server taken out of all that leaves the process, in place of those
	// that it was given of that server before; nil: nobody does.
	Conceal func(server string, secrets ...string)
	// People asks people what servers want to know; nil: nobody is asked, and servers are told so.
	People People
	// Tasks keeps what servers do beyond the time of a call; nil: no server is told that it may.
	Tasks    Tasks
	Version  string
	Resolver *net.Resolver    // nil: net.DefaultResolver
	Log      *slog.Logger     // nil: silence
	Now      func() time.Time // nil: time.Now

	examining bool // logins are left as they are
}

// Host keeps servers there, each once, and has their tools. Its methods may be called
// concurrently.
type Host struct {
	o       Options
	servers []*server
}

// NewHost makes a host. It starts nothing.
func NewHost(o Options) (*Host, error) {
	if err := Validate("servers", o.Servers); err != nil {
		return nil, fmt.Errorf("MCP: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Host{o: o}
	for _, c := range o.Servers {
		s, err := newServer(c, &h.o)
		if err != nil {
			return nil, fmt.Errorf("MCP server %s: %w", c.Name, err)
		}
		h.servers = append(h.servers, s)
	}
	return h, nil
}

// errNoWalls is why the programs of servers are not started.
var errNoWalls = errors.New("there is no sandbox to run its program in")

// Run starts all servers, keeps them there, and returns when ctx has ended and nothing of them
// is left. A server that does not work is tried again, ever more rarely, and is no error.
func (h *Host) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, s := range h.servers {
		if err := s.prepare(); err != nil {
			s.enter(Off, err)
			h.o.Log.Error("MCP server not started", "server", s.c.Name, "error", err)
			continue
		}
		running.Go(func() { s.run(ctx) })
	}
	<-ctx.Done()
	running.Wait()
	for _, s := range h.servers {
		if s.login != nil {
			s.login.Wait() // for a token that was asked for last
		}
	}
	return nil
}

// prepare notes which program of a server may run from now on. An error is why none does.
func (s *server) prepare() (err error) {
	switch {
	case len(s.c.Command) == 0:
		return nil
	case s.o.Runner == nil:
		return errNoWalls
	}
	if s.sum, err = s.c.Program.Sum(); err != nil {
		return fmt.Errorf("hash its program: %w", err)
	}
	return nil
}

// SetConsents puts in place what the operator has consented to of a server's tools, by their
// names.
func (h *Host) SetConsents(server string, consents map[string]Definition) {
	s, ok := h.find(server)
	if !ok {
		return
	}
	s.mu.Lock()
	same := maps.EqualFunc(s.consents, consents, func(a, b Definition) bool { return a.Digest == b.Digest })
	s.consents = maps.Clone(consents)
	s.mu.Unlock()
	if !same {
		h.o.Changed()
	}
}

func (h *Host) find(name string) (*server, bool) {
	i := slices.IndexFunc(h.servers, func(s *server) bool { return s.c.Name == name })
	if i < 0 {
		return nil, false
	}
	return h.servers[i], true
}

// Tools returns the tools that may be offered now, in the order of the configuration: those to
// which the operator has consented, as they were then, unless the server says otherwise now. A
// server that is not there keeps its tools, so that a model is told the same at all times;
// their calls say that it is not.
func (h *Host) Tools() (all []tools.Tool) {
	for _, s := range h.servers {
		for _, t := range s.offered() {
			all = append(all, t)
		}
	}
	return all
}

// Status returns how all servers are.
func (h *Host) Status() []Status {
	all := make([]Status, 0, len(h.servers))
	for _, s := range h.servers {
		all = append(all, s.status())
	}
	return all
}

// Recorded returns tools of servers as a recording has them: they can be offered and checked,
// and do not run.
func Recorded(all []Recording) (ts []tools.Tool) {
	for _, r := range all {
		ts = append(ts, &Tool{name: r.Server, where: r.Where, config: ToolConfig{Name: r.Definition.Name, Category: r.Category, Idempotent: r.Idempotent}, definition: r.Definition})
	}
	return ts
}

// Recording is one tool as a recording has it.
type Recording struct {
	Server     string         `json:"server"`
	Where      string         `json:"where,omitempty"`
	Category   tools.Category `json:"category,omitempty"`
	Idempotent bool           `json:"idempotent,omitempty"`
	Definition Definition     `json:"definition"`
}

// Record returns the tools that are offered now, for a recording.
func (h *Host) Record() (all []Recording) {
	for _, s := range h.servers {
		for _, t := range s.offered() {
			all = append(all, Recording{t.name, t.where, t.config.Category, t.config.Idempotent, t.definition})
		}
	}
	return all
}
