package signal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"

	"parley/simulators/internal/stage"
)

type (
	lifetime = stage.Life
	records  = stage.Records[Book, Totals]
	watchers = stage.Audience[Happening]
	plans    = stage.Plans[Fault]
)

// Server is the world: people, conversations, and what the service keeps for each
// account. Its methods may be called concurrently. Listen, Close and URL, where
// daemons and the control interface connect, are those of [stage.Life], Books, Totals
// and Await those of [stage.Records], Watch is that of [stage.Audience], Plan that of
// [stage.Plans]. URL is not signal-cli's: that is the daemon's. What people do are the
// methods of people, what accounts do those of a call.
type Server struct {
	*lifetime
	records
	*world
	*queues
	*chats
	*fileStore
	*people
	*daemons
}

// world is what every part of the server shares: the lock, the clock, the books, the
// faults that are planned.
type world struct {
	watchers
	plans
	opts Options
	stop context.Context // ends when Run does

	changes   stage.Change
	mu        sync.Mutex // guards everything below and in the parts; never held while writing to a client
	rng       *rand.Rand
	books     *books
	lastStamp int64 // the newest timestamp given to anything
	lastID    int64 // envelopes, files, tokens
}

// person is somebody, and what the service says about them.
type person struct {
	Person
	key  int  // changes when they install Signal again
	gone bool // not registered any more
}

// person returns the account as others see it.
func (a *account) person() Person {
	return Person{ACI: a.ACI, Number: a.Number, SharesNumber: true, Name: a.Name}
}

// New checks the options and wires a server; it starts nothing.
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("signal simulator: %w", err)
	}
	w := &world{opts: o}
	s := &Server{world: w, queues: &queues{world: w}, fileStore: &fileStore{world: w}}
	s.chats = &chats{world: w, queues: s.queues}
	s.people = &people{world: w, chats: s.chats, fileStore: s.fileStore}
	s.daemons = &daemons{world: w, chats: s.chats}
	s.lifetime, w.stop = stage.NewLife("signal simulator", o.Addr)
	s.records = stage.NewRecords(&w.mu, &w.changes, s.book, func() Totals { return w.books.totals })
	s.reset()
	return s, nil
}

// reset gives the server a fresh world. The caller holds the lock, or is New.
func (s *Server) reset() {
	s.rng = stage.NewRand(s.opts.Seed)
	for _, p := range s.processes {
		p.end()
	}
	s.accounts = nil
	for _, a := range s.opts.Accounts {
		s.accounts = append(s.accounts, &account{Account: a, trusts: map[string]int{}})
	}
	s.known, s.talks, s.groups = map[string]*person{}, map[chatKey]*conversation{}, map[string]*group{}
	s.stored, s.processes, s.provisions = map[string]*storedFile{}, map[int]*process{}, map[string]*provision{}
	s.books = newBooks(s.opts.Keep, &s.changes)
	s.books.Notify()
	stage.Clear(&s.plans)
}

// Reset forgets people, conversations, queues, books and faults, as if the server
// had just been made, and ends every daemon. Watchers stay. Timestamps go on from
// where they were.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reset()
}

// Run serves until ctx ends; then daemons lose their connection and end, and
// everything has stopped when it returns. A server runs once. The error is nil
// after an ordinary end.
func (s *Server) Run(ctx context.Context) error {
	return stage.Serve(ctx, s.lifetime, stage.Play{Handler: s.Handler(), Ended: s.links.Wait})
}

// Handler answers the link of the daemons under /link/ and the control interface
// under /sim/.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.link(mux)
	mux.Handle("/sim/", s.control())
	return mux
}

func (w *world) id() int64 {
	w.lastID++
	return w.lastID
}

// stamp gives the next timestamp: milliseconds, and no two are equal, because
// together with the author they are the id of a message.
func (w *world) stamp() int64 {
	w.lastStamp = max(w.opts.Now().UnixMilli(), w.lastStamp+1)
	return w.lastStamp
}
