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
	watchers = stage.Audience[Happening]
)

// Server is the simulated platform. Its methods may be called concurrently.
// Listen, URL and Close are those of [stage.Life], Watch is that of
// [stage.Audience].
type Server struct {
	*lifetime
	watchers
	opts Options

	stop   context.Context // ends when Run does
	hooked chan struct{}   // capacity 1

	changes  stage.Change
	mu       sync.Mutex // guards everything below; never held while writing to a client
	rng      *rand.Rand
	accounts []*account // in the order of Options.Bots
	rooms    map[int64]*room
	people   map[int64]Person
	files    map[string]*storedFile
	queries  map[string]bool // callback queries that may be answered
	menus    map[menuKey][]Command
	books    *books
	plans    stage.Plans[Fault]
	holds    map[holdKey]penalty
	rates    map[rateKey][]time.Time
	lastID   int64 // files, queries, albums and chats made up here
}

// account is a bot with what the platform keeps for it.
type account struct {
	bot   Bot
	self  wireUser
	inbox inbox
}

// New checks the options and wires a server; it starts nothing.
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("telegram simulator: %w", err)
	}
	s := &Server{opts: o, plans: newPlans(), hooked: make(chan struct{}, 1)}
	s.lifetime, s.stop = stage.NewLife("telegram simulator", o.Addr)
	s.reset()
	return s, nil
}

// reset gives the server a fresh world. The caller holds the lock, or is New.
func (s *Server) reset() {
	s.rng = stage.NewRand(s.opts.Seed)
	for _, a := range s.accounts {
		a.inbox.endPoll(textOusted)
	}
	s.accounts = nil
	for _, b := range s.opts.Bots {
		next := s.opts.FirstUpdateID
		if next == 0 {
			next = 100_000_000 + s.rng.Int64N(800_000_000)
		}
		s.accounts = append(s.accounts, &account{bot: b, self: b.Person().wire(), inbox: inbox{next: next, hooked: s.hooked, hook: newWebhook()}})
	}
	s.rooms, s.people = map[int64]*room{}, map[int64]Person{}
	s.menus = map[menuKey][]Command{}
	s.files, s.queries = map[string]*storedFile{}, map[string]bool{}
	s.books = newBooks(s.opts.Keep, &s.changes)
	s.books.Notify()
	s.plans.Clear()
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

// Run serves until ctx ends; then long polls are cut, and everything has
// stopped when it returns. A server runs once. The error is nil after an
// ordinary end.
func (s *Server) Run(ctx context.Context) error {
	return stage.Serve(ctx, s.lifetime, stage.Play{Handler: s.Handler(), Beside: s.deliverHooks})
}

func (s *Server) account(username string) *account {
	if username == "" {
		return s.accounts[0]
	}
	for _, a := range s.accounts {
		if fold(a.bot.Username) == fold(username) {
			return a
		}
	}
	return nil
}

func (s *Server) id() int64 {
	s.lastID++
	return s.lastID
}
