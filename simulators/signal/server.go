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
// daemons and the control interface connect, are those of [stage.Life], Watch is
// that of [stage.Audience]. URL is not signal-cli's: that is the daemon's.
type Server struct {
	*lifetime
	records
	watchers
	plans
	opts Options

	stop     context.Context // ends when Run does
	links    sync.WaitGroup  // hijacked connections
	contents contents

	changes    stage.Change
	mu         sync.Mutex // guards everything below; never held while writing to a client
	rng        *rand.Rand
	accounts   []*account // in the order of Options.Accounts
	people     map[string]*person
	chats      map[chatKey]*conversation
	groups     map[string]*group
	files      map[string]*storedFile
	books      *books
	processes  map[int]*process
	provisions map[string]*provision // by address
	lastStamp  int64                 // the newest timestamp given to anything
	lastID     int64                 // envelopes, files, tokens
	lastProc   int
}

// account is a number with what the service keeps for it.
type account struct {
	Account
	queue   queue
	trusts  map[string]int // the key of each person, by ACI, that the account has seen
	limited *limit         // until a challenge is solved
}

// person is somebody, and what the service says about them.
type person struct {
	Person
	key  int  // changes when they install Signal again
	gone bool // not registered any more
}

// person is the account as others see it.
func (a *account) person() Person {
	return Person{ACI: a.ACI, Number: a.Number, SharesNumber: true, Name: a.Name}
}

// New checks the options and wires a server; it starts nothing.
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("signal simulator: %w", err)
	}
	s := &Server{opts: o}
	s.lifetime, s.stop = stage.NewLife("signal simulator", o.Addr)
	s.records = stage.NewRecords(&s.mu, &s.changes, s.book, func() Totals { return s.books.totals })
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
	s.people, s.chats, s.groups = map[string]*person{}, map[chatKey]*conversation{}, map[string]*group{}
	s.files, s.processes, s.provisions = map[string]*storedFile{}, map[int]*process{}, map[string]*provision{}
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
