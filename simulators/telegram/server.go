package telegram

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// Server is the simulated platform. Its methods may be called concurrently.
// Listen, URL and Close are those of [stage.Life], Books, Totals and Await those of
// [stage.Records], Watch is that of [stage.Audience], Plan that of [stage.Plans].
// What people do are the methods of its chats, what bots do those of a call.
type Server struct {
	*lifetime
	records
	*world
	*inboxes
	*fileStore
	*limiter
	*chats
	menus map[menuKey][]Command
}

// world is what every part of the server shares: the lock, the clock, the books, the
// faults that are planned.
type world struct {
	watchers
	plans
	opts Options
	stop context.Context // ends when Run does

	changes stage.Change
	mu      sync.Mutex // guards everything below and in the parts; never held while writing to a client
	rng     *rand.Rand
	books   *books
	lastID  int64 // files, queries, albums and chats made up here
}

// New checks the options and wires a server; it starts nothing.
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("telegram simulator: %w", err)
	}
	w := &world{opts: o}
	s := &Server{world: w, inboxes: &inboxes{world: w, hooked: make(chan struct{}, 1)}, fileStore: &fileStore{world: w}, limiter: &limiter{world: w}}
	s.chats = &chats{world: w, inboxes: s.inboxes, fileStore: s.fileStore}
	s.lifetime, w.stop = stage.NewLife("telegram simulator", o.Addr)
	s.records = stage.NewRecords(&w.mu, &w.changes, s.book, func() Totals { return w.books.totals })
	s.reset()
	return s, nil
}

// reset gives the server a fresh world. The caller holds the lock, or is New.
func (s *Server) reset() {
	s.rng = stage.NewRand(s.opts.Seed)
	s.openInboxes()
	s.rooms, s.people = map[int64]*room{}, map[int64]Person{}
	s.menus, s.queries, s.pressed = map[menuKey][]Command{}, map[string]bool{}, map[string]time.Time{}
	s.stored = map[string]*storedFile{}
	s.books = newBooks(s.opts.Keep, &s.changes)
	s.books.Notify()
	stage.Clear(&s.plans)
	s.holds, s.rates = map[holdKey]penalty{}, map[rateKey][]time.Time{}
	s.lastID = 0
}

// Reset forgets chats, updates, books and faults, as if the server had just
// been made. Polls that wait end with 409. Watchers stay.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reset()
}

// ClearFaults ends all plans and every retry_after that still holds.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	stage.Clear(&s.plans)
	clear(s.holds)
}

// Run serves until ctx ends; then long polls are cut, and everything has
// stopped when it returns. A server runs once. The error is nil after an
// ordinary end.
func (s *Server) Run(ctx context.Context) error {
	return stage.Serve(ctx, s.lifetime, stage.Play{Handler: s.Handler(), Beside: s.deliverHooks})
}

func (w *world) id() int64 {
	w.lastID++
	return w.lastID
}
