package slack

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"parley/simulators/internal/stage"
)

type (
	lifetime = stage.Life
	records  = stage.Records[Book, Totals]
	watchers = stage.Audience[Happening]
	plans    = stage.Plans[Fault]
)

// Server is the simulated workspace. Its methods may be called concurrently.
// Listen, URL and Close are those of [stage.Life], Watch is that of
// [stage.Audience].
type Server struct {
	*lifetime
	records
	watchers
	plans
	opts Options

	stop    context.Context // ends when Run does
	agenda  *agenda
	client  *http.Client   // for what is posted to apps
	workers sync.WaitGroup // connections and posts

	changes stage.Change
	mu      sync.Mutex // guards everything below; never held while writing to a client
	rng     *rand.Rand
	apps    []*app // in the order of Options.Apps
	rooms   map[string]*room
	people  map[string]Person
	files   map[string]*storedFile
	uploads map[string]*storedFile
	// sessions are those of agents; entries of the books
	sessions map[sessionKey]*SessionEntry
	books    *books
	holds    map[holdKey]time.Time
	rates    map[holdKey][]time.Time
	lastTS   int64 // microseconds of the newest timestamp
	lastID   int64
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

// New checks the options and wires a server; it starts nothing.
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("slack simulator: %w", err)
	}
	s := &Server{opts: o}
	s.lifetime, s.stop = stage.NewLife("slack simulator", o.Addr)
	s.agenda = newAgenda()
	s.client = &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: maxPosts},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.records = stage.NewRecords(&s.mu, &s.changes, s.book, func() Totals { return s.books.totals })
	s.reset()
	return s, nil
}

// reset gives the server a fresh world. The caller holds the lock, or is New.
func (s *Server) reset() {
	s.rng = stage.NewRand(s.opts.Seed)
	for _, a := range s.apps {
		a.hangUp("reset")
	}
	s.apps = nil
	for _, a := range s.opts.Apps {
		s.apps = append(s.apps, &app{
			App: a, tickets: map[string]bool{}, pending: map[string]*attempt{}, posting: make(chan struct{}, maxPosts),
		})
	}
	s.agenda.clear()
	s.rooms, s.people = map[string]*room{}, map[string]Person{}
	s.files, s.uploads = map[string]*storedFile{}, map[string]*storedFile{}
	s.sessions = map[sessionKey]*SessionEntry{}
	s.books = newBooks(s.opts.Keep, &s.changes)
	s.books.Notify()
	stage.Clear(&s.plans)
	s.holds, s.rates = map[holdKey]time.Time{}, map[holdKey][]time.Time{}
	s.lastTS, s.lastID = 0, 0
}

// Reset forgets conversations, events, books and faults, as if the server had
// just been made. Connections are closed. Watchers stay.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reset()
}

// APIURL is the root of the Web API, with the trailing slash that clients want.
func (s *Server) APIURL() string { return s.URL() + "/api/" }

// Run serves until ctx ends; then connections are closed, and everything has
// stopped when it returns. A server runs once. The error is nil after an
// ordinary end.
func (s *Server) Run(ctx context.Context) error {
	return stage.Serve(ctx, s.lifetime, stage.Play{
		Handler: s.Handler(),
		Beside:  s.agenda.run,
		Ending:  s.hangUp,
		Ended: func() {
			s.workers.Wait()
			s.client.CloseIdleConnections()
		},
	})
}

// hangUp closes every Socket Mode connection.
func (s *Server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.apps {
		a.hangUp("the server ends")
	}
}

// app finds an app by name; empty is the first. The caller holds the lock.
func (s *Server) app(name string) *app {
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

// makeID makes an id of Slack's shape. The caller holds the lock.
func (s *Server) makeID(prefix string) string {
	s.lastID++
	return fmt.Sprintf("%s0%05X%04X", prefix, s.rng.IntN(1<<20), s.lastID&0xffff)
}

// stamp makes the next timestamp: it names a message, and orders them. The
// caller holds the lock.
func (s *Server) stamp() string {
	s.lastTS = max(s.lastTS+1, s.opts.Now().UnixMicro())
	return fmt.Sprintf("%d.%06d", s.lastTS/1e6, s.lastTS%1e6)
}
