package telegram

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is the simulated platform. Its methods may be called concurrently.
type Server struct {
	opts Options

	listener net.Listener
	stop     context.Context // ends when Run does
	stopped  context.CancelFunc
	hooked   chan struct{} // capacity 1

	mu       sync.Mutex // guards everything below; never held while writing to a client
	rng      *rand.Rand
	accounts []*account // in the order of Options.Bots
	rooms    map[int64]*room
	people   map[int64]Person
	files    map[string]*storedFile
	queries  map[string]bool // callback queries that may be answered
	books    *books
	plans    []*plan
	holds    map[holdKey]time.Time
	rates    map[rateKey][]time.Time
	watchers map[chan Happening]struct{}
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
	s := &Server{opts: o, watchers: map[chan Happening]struct{}{}, hooked: make(chan struct{}, 1)}
	s.stop, s.stopped = context.WithCancel(context.Background())
	s.reset()
	return s, nil
}

// reset gives the server a fresh world. The caller holds the lock, or is New.
func (s *Server) reset() {
	s.rng = rand.New(rand.NewPCG(s.opts.Seed, s.opts.Seed^0x9e3779b97f4a7c15))
	for _, a := range s.accounts {
		a.inbox.oust(textOusted)
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
	s.files, s.queries = map[string]*storedFile{}, map[string]bool{}
	if s.books != nil {
		s.books.touch()
	}
	s.books = newBooks(s.opts.Keep)
	s.plans, s.holds, s.rates = nil, map[holdKey]time.Time{}, map[rateKey][]time.Time{}
	s.lastID = 0
}

// Reset forgets chats, updates, books and faults, as if the server had just
// been made. Polls that wait end with 409. Watchers stay.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reset()
}

// Listen opens the listening socket, so that URL is known before Run. Run
// calls it when nobody else did. Listen and URL may not run at the same time.
func (s *Server) Listen() error {
	if s.listener != nil {
		return nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(s.stop, "tcp", s.opts.Addr)
	if err != nil {
		return fmt.Errorf("telegram simulator: listen: %w", err)
	}
	s.listener = l
	return nil
}

// URL is the root to give to a client, without a trailing slash; empty before
// Listen.
func (s *Server) URL() string {
	if s.listener == nil {
		return ""
	}
	return "http://" + s.listener.Addr().String()
}

// Run serves until ctx ends; then long polls are cut, and everything has
// stopped when it returns. A server runs once. The error is nil after an
// ordinary end.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Listen(); err != nil {
		return err
	}
	h := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return s.stop },
	}
	// Shutdown would wait for connections on which nothing was ever asked.
	var unused sync.Map
	h.ConnState = func(c net.Conn, is http.ConnState) {
		if unused.Delete(c); is == http.StateNew {
			unused.Store(c, nil)
		}
	}
	h.RegisterOnShutdown(func() {
		unused.Range(func(c, _ any) bool {
			_ = c.(net.Conn).Close()
			return true
		})
	})
	served := make(chan error, 1)
	go func() { served <- h.Serve(s.listener) }()
	var hooks sync.WaitGroup
	hooks.Go(func() { s.deliverHooks(s.stop) })
	defer hooks.Wait()
	var err error
	select {
	case err = <-served:
		served <- err
	case <-ctx.Done():
	}
	s.stopped()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	// What is left after that are connections that came at the last moment.
	if err = h.Shutdown(grace); errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	err = errors.Join(err, h.Close())
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("telegram simulator: serve: %w", err)
	}
	return nil
}

// Close releases the socket of a server that was never run.
func (s *Server) Close() error {
	s.stopped()
	if s.listener == nil {
		return nil
	}
	return s.listener.Close()
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
