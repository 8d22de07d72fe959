package slack

import (
	"cmp"
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
// Listen, URL and Close are those of [stage.Life], Books, Totals and Await those of
// [stage.Records], Watch is that of [stage.Audience], Plan that of [stage.Plans].
// What people do are the methods of people, what apps do those of a call.
type Server struct {
	*world
	records
	*sockets
	*events
	*fileStore
	*rooms
	*people
	limiter
}

// world is what every part of the server shares: the lock, the clock, the books, the
// faults that are planned.
type world struct {
	*lifetime
	watchers
	plans
	opts Options
	stop context.Context // ends when Run does

	changes stage.Change
	mu      sync.Mutex // guards everything below and in the parts; never held while writing to a client
	rng     *rand.Rand
	books   *books
	lastTS  int64 // microseconds of the newest timestamp
	lastID  int64
}

// New checks the options and wires a server; it starts nothing.
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("slack simulator: %w", err)
	}
	w := &world{opts: o}
	w.lifetime, w.stop = stage.NewLife("slack simulator", o.Addr)
	s := &Server{world: w, sockets: &sockets{world: w, agenda: newAgenda()}, fileStore: &fileStore{world: w}}
	s.events = &events{world: w, sockets: s.sockets, client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: maxPosts},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	s.rooms = &rooms{world: w, events: s.events}
	s.people = &people{world: w, rooms: s.rooms, fileStore: s.fileStore}
	s.records = stage.NewRecords(&w.mu, &w.changes, s.book, func() Totals { return w.books.totals })
	s.reset()
	return s, nil
}

// reset gives the server a fresh world. The caller holds the lock, or is New.
func (s *Server) reset() {
	s.rng = stage.NewRand(s.opts.Seed)
	s.install()
	s.agenda.clear()
	s.open, s.known, s.responses = map[string]*room{}, map[string]Person{}, map[string]*response{}
	s.stored, s.uploads = map[string]*storedFile{}, map[string]*storedFile{}
	s.sessions = map[sessionKey]*SessionEntry{}
	s.books = newBooks(s.opts.Keep, &s.changes)
	s.books.Notify()
	stage.Clear(&s.plans)
	s.limiter = limiter{holds: map[holdKey]time.Time{}, rates: map[holdKey][]time.Time{}}
	s.lastTS, s.lastID = 0, 0
}

// Reset forgets conversations, events, books and faults, as if the server had
// just been made. Connections are closed. Watchers stay.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reset()
}

// ClearFaults ends all plans and every Retry-After that still holds.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	stage.Clear(&s.plans)
	clear(s.holds)
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

// makeID makes an id of Slack's shape. The caller holds the lock.
func (w *world) makeID(prefix string) string {
	w.lastID++
	return fmt.Sprintf("%s0%05X%04X", prefix, w.rng.IntN(1<<20), w.lastID&0xffff)
}

func (w *world) uuid() string {
	hi, lo := w.rng.Uint64(), w.rng.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xfff, 0x8000|lo>>48&0x3fff, lo&0xffffffffffff)
}

// stamp makes the next timestamp: it names a message, and orders them. The
// caller holds the lock.
func (w *world) stamp() string {
	w.lastTS = max(w.lastTS+1, w.opts.Now().UnixMicro())
	return fmt.Sprintf("%d.%06d", w.lastTS/1e6, w.lastTS%1e6)
}

// whole is a timestamp in whole seconds, as edits have.
func (w *world) whole() string { return fmt.Sprintf("%d.000000", w.opts.Now().Unix()) }

func (w *world) teamOf(p Person) string { return cmp.Or(p.Team, w.opts.Team.ID) }
