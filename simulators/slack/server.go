package slack

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

// Server is the simulated workspace. Its methods may be called concurrently.
type Server struct {
	opts Options

	listener net.Listener
	stop     context.Context // ends when Run does
	stopped  context.CancelFunc
	agenda   *agenda
	client   *http.Client   // for what is posted to apps
	workers  sync.WaitGroup // connections and posts

	mu       sync.Mutex // guards everything below; never held while writing to a client
	rng      *rand.Rand
	apps     []*app // in the order of Options.Apps
	rooms    map[string]*room
	people   map[string]Person
	files    map[string]*storedFile
	uploads  map[string]*storedFile
	answers  map[string]*answerURL
	books    *books
	plans    []*plan
	holds    map[holdKey]time.Time
	rates    map[holdKey][]time.Time
	watchers map[chan Happening]struct{}
	lastTS   int64 // microseconds of the newest timestamp
	lastID   int64
}

// app is an installed app with what the platform keeps for it.
type app struct {
	App
	revoked  string // the error that every call of it gets
	unlinked bool   // Socket Mode is switched off
	conns    []*conn
	tickets  map[string]string   // to the process that asked for it
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
	s := &Server{opts: o, watchers: map[chan Happening]struct{}{}}
	s.stop, s.stopped = context.WithCancel(context.Background())
	s.agenda = newAgenda()
	s.client = &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: maxPosts},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.reset()
	return s, nil
}

// reset gives the server a fresh world. The caller holds the lock, or is New.
func (s *Server) reset() {
	s.rng = rand.New(rand.NewPCG(s.opts.Seed, s.opts.Seed^0x9e3779b97f4a7c15))
	for _, a := range s.apps {
		a.hangUp("reset")
	}
	s.apps = nil
	for _, a := range s.opts.Apps {
		s.apps = append(s.apps, &app{
			App: a, tickets: map[string]string{}, pending: map[string]*attempt{}, posting: make(chan struct{}, maxPosts),
		})
	}
	s.agenda.clear()
	s.rooms, s.people = map[string]*room{}, map[string]Person{}
	s.files, s.uploads, s.answers = map[string]*storedFile{}, map[string]*storedFile{}, map[string]*answerURL{}
	if s.books != nil {
		s.books.touch()
	}
	s.books = newBooks(s.opts.Keep)
	s.plans, s.holds, s.rates = nil, map[holdKey]time.Time{}, map[holdKey][]time.Time{}
	s.lastTS, s.lastID = 0, 0
}

// Reset forgets conversations, events, books and faults, as if the server had
// just been made. Connections are closed. Watchers stay.
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
		return fmt.Errorf("slack simulator: listen: %w", err)
	}
	s.listener = l
	return nil
}

// URL is the root of the server, without a trailing slash; empty before Listen.
func (s *Server) URL() string {
	if s.listener == nil {
		return ""
	}
	return "http://" + s.listener.Addr().String()
}

// APIURL is the root of the Web API, with the trailing slash that clients want.
func (s *Server) APIURL() string { return s.URL() + "/api/" }

// APIURLFor is a root of the Web API under which the books name the caller, its
// Socket Mode connections too, as the process. A process is a word without
// slashes.
func (s *Server) APIURLFor(process string) string { return s.URL() + "/as/" + process + "/api/" }

// Run serves until ctx ends; then connections are closed, and everything has
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
	var timed sync.WaitGroup
	timed.Go(func() { s.agenda.run(s.stop) })
	var err error
	select {
	case err = <-served:
		served <- err
	case <-ctx.Done():
	}
	s.stopped()
	timed.Wait()
	s.mu.Lock()
	for _, a := range s.apps {
		a.hangUp("the server ends")
	}
	s.mu.Unlock()
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
	s.workers.Wait()
	s.client.CloseIdleConnections()
	if err != nil {
		return fmt.Errorf("slack simulator: serve: %w", err)
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
