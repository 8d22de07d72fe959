package model

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"io"
	"log"
	"net/http"
	"slices"
	"sync"
	"time"

	"parley/simulators/internal/stage"
)

// Options say how a [Server] behaves. The zero value is useful: it echoes, on
// a free port, for any model and any key.
type Options struct {
	Addr  string // to listen on; empty: 127.0.0.1:0
	Brain Brain  // nil: Echo

	// Keys that are accepted; empty: no key is asked for.
	Keys []string
	// Models are those that the lists name; empty: the list names demo, and each is found that is
	// asked for.
	Models []string
	// Prices by model, for the bill.
	Prices map[string]Price

	// Seed of identifiers and of random faults: the same one gives the same
	// ones in the same order. 0: a random one, so that the identifiers of a
	// server that was started again meet no old ones in a conversation.
	Seed uint64

	MaxBody        int64 // most bytes of a request; 0: 32 MiB, as Anthropic
	MaxBill        int   // most entries kept; 0: 200,000
	MaxRequests    int   // most requests recorded; 0: 256, negative: none
	MaxRecorded    int64 // most bytes of bodies recorded; 0: 16 MiB
	Window         int   // most tokens of a request and its answer; 0: any number
	MinCacheTokens int   // shortest prefix that is cached; 0: 1024

	// OnServed, if set, is called once for every request when nothing more
	// will be sent for it, with what the bill says. It may be called by many
	// requests at once and holds its own connection up.
	OnServed func(Entry)

	Now func() time.Time // nil: time.Now
}

type lifetime = stage.Life

// Server is a model provider. Its methods may be called by many goroutines at
// once. Listen, URL and Close are those of [stage.Life]. Anthropic clients take the
// URL as it is, OpenAI clients with /v1 behind it.
type Server struct {
	*lifetime
	o      Options
	names  *idMaker
	seals  *seals
	cache  *cache
	tools  *knownTools
	plan   *plan
	ledger *ledger
	tape   *requestLog
	mux    http.Handler
	busy   gate
}

// New wires a server. It starts and opens nothing.
func New(o Options) *Server {
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:0")
	o.MaxBody = cmp.Or(o.MaxBody, 32<<20)
	o.MaxBill = cmp.Or(o.MaxBill, 200_000)
	o.MaxRequests = cmp.Or(o.MaxRequests, 256)
	o.MaxRecorded = cmp.Or(o.MaxRecorded, 16<<20)
	o.MinCacheTokens = cmp.Or(o.MinCacheTokens, 1024)
	o.Keys = slices.Clone(o.Keys)
	if o.Brain == nil {
		o.Brain = Echo
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Seed == 0 {
		var b [8]byte
		crand.Read(b[:])
		o.Seed = binary.LittleEndian.Uint64(b[:])
	}
	s := &Server{
		o:      o,
		names:  newIDMaker(o.Seed),
		seals:  &seals{},
		cache:  newCache(o.MinCacheTokens, o.Now),
		tools:  &knownTools{byText: map[toolText]knownTool{}},
		plan:   &plan{seed: o.Seed},
		ledger: newLedger(o.Prices, o.MaxBill),
		tape:   &requestLog{limit: o.MaxRequests, maxBytes: o.MaxRecorded},
	}
	s.lifetime, _ = stage.NewLife("model simulator", o.Addr)
	s.mux = s.routes()
	return s
}

// Run serves until ctx ends; it listens first if that was not done. Then it
// cuts off every request that is still open and returns nil when the last one
// is gone. A server runs once.
func (s *Server) Run(ctx context.Context) error {
	return stage.Serve(ctx, s.lifetime, stage.Play{Handler: s.mux, Ended: s.busy.close, Tune: func(h *http.Server) {
		h.ReadTimeout, h.MaxHeaderBytes = time.Minute, 64<<10
		h.ErrorLog = log.New(io.Discard, "", 0)
	}})
}

// Handler serves requests within the process, for example with httptest. The
// faults that break connections need a real one.
func (s *Server) Handler() http.Handler { return s.mux }

// Bill returns what was served until now. A request is on it before its last byte
// is sent, so who has the whole answer finds it there.
func (s *Server) Bill() Bill { return s.ledger.snapshot() }

// Plan adds faults behind those already planned. If one is invalid none is
// added.
func (s *Server) Plan(faults ...Fault) error { return s.plan.add(faults) }

// Faults returns the plan, with how often each fault has hit.
func (s *Server) Faults() []Planned { return s.plan.snapshot() }

// ClearFaults ends the plan.
func (s *Server) ClearFaults() { s.plan.clear() }

// Requests are the last requests in any protocol, oldest first.
func (s *Server) Requests() []Recorded { return s.tape.snapshot() }

// Reset forgets the bill, the recorded requests, the plan and the prompt
// cache. Requests that are being served will not appear on the new bill.
func (s *Server) Reset() {
	s.plan.clear()
	s.ledger.reset()
	s.tape.reset()
	s.cache.reset()
}

// gate counts what is being served, and waits for its end.
type gate struct {
	mu     sync.Mutex // guards closed; held while n grows
	closed bool
	n      sync.WaitGroup
}

// enter is false when nothing more is served.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.n.Add(1)
	return true
}

func (g *gate) leave() { g.n.Done() }

// close lets nobody in and waits until all have left.
func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.n.Wait()
}
