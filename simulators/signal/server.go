package signal

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

// Server is the world: people, conversations, and what the service keeps for each
// account. Its methods may be called concurrently.
type Server struct {
	opts Options

	listener net.Listener
	stop     context.Context // ends when Run does
	stopped  context.CancelFunc
	links    sync.WaitGroup // hijacked connections
	contents contents

	mu        sync.Mutex // guards everything below; never held while writing to a client
	rng       *rand.Rand
	accounts  []*account // in the order of Options.Accounts
	people    map[string]*person
	chats     map[chatKey]*conversation
	groups    map[string]*group
	files     map[string]*storedFile
	books     *books
	plans     []*plan
	processes map[int]*process
	watchers  map[chan Happening]struct{}
	lastStamp int64 // the newest timestamp given to anything
	lastID    int64 // envelopes, files, tokens
	lastProc  int
}

// account is a number with what the service keeps for it.
type account struct {
	Account
	queue   queue
	trusts  map[string]int // the key of each person, by ACI, that the account has seen
	profile string
	limited *limit // until a challenge is solved
}

// person is somebody, and what the service says about them.
type person struct {
	Person
	key  int  // changes when they install Signal again
	gone bool // not registered any more
}

// New checks the options and wires a server; it starts nothing.
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("signal simulator: %w", err)
	}
	s := &Server{opts: o, watchers: map[chan Happening]struct{}{}}
	s.stop, s.stopped = context.WithCancel(context.Background())
	s.reset()
	return s, nil
}

// reset gives the server a fresh world. The caller holds the lock, or is New.
func (s *Server) reset() {
	s.rng = rand.New(rand.NewPCG(s.opts.Seed, s.opts.Seed^0x9e3779b97f4a7c15))
	for _, p := range s.processes {
		p.over()
	}
	s.accounts = nil
	for _, a := range s.opts.Accounts {
		s.accounts = append(s.accounts, &account{Account: a, trusts: map[string]int{}, profile: a.Name})
	}
	s.people, s.chats, s.groups = map[string]*person{}, map[chatKey]*conversation{}, map[string]*group{}
	s.files, s.processes = map[string]*storedFile{}, map[int]*process{}
	if s.books != nil {
		s.books.touch()
	}
	s.books = newBooks(s.opts.Keep)
	s.plans = nil
}

// Reset forgets people, conversations, queues, books and faults, as if the server
// had just been made, and ends every daemon. Watchers stay. Timestamps go on from
// where they were.
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
		return fmt.Errorf("signal simulator: listen: %w", err)
	}
	s.listener = l
	return nil
}

// URL is where daemons and the control interface connect, without a trailing
// slash; empty before Listen. It is not signal-cli's: that is the daemon's.
func (s *Server) URL() string {
	if s.listener == nil {
		return ""
	}
	return "http://" + s.listener.Addr().String()
}

// Run serves until ctx ends; then daemons lose their connection and end, and
// everything has stopped when it returns. A server runs once. The error is nil
// after an ordinary end.
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
	s.links.Wait()
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("signal simulator: serve: %w", err)
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

// Handler answers the link of the daemons under /link/ and the control interface
// under /sim/.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.link(mux)
	mux.Handle("/sim/", s.control())
	return mux
}

// account finds an account by number or ACI; empty is the first. The caller holds
// the lock.
func (s *Server) account(id string) *account {
	if id == "" {
		return s.accounts[0]
	}
	for _, a := range s.accounts {
		if a.Number == id || a.ACI == id {
			return a
		}
	}
	return nil
}

func (s *Server) id() int64 {
	s.lastID++
	return s.lastID
}

// stamp gives the next timestamp: milliseconds, and no two are equal, because
// together with the author they are the id of a message.
func (s *Server) stamp() int64 {
	s.lastStamp = max(s.opts.Now().UnixMilli(), s.lastStamp+1)
	return s.lastStamp
}
