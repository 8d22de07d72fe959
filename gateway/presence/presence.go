// Package presence notices that the process of another worker has ended, long before its
// lease does.
//
// A worker that works says so several times a second. When it falls silent the others
// ask for its signs: things that a process takes with it when it dies, and keeps when it
// is only stopped, each known to another system. Who misses all of them twice, over
// connections of its own that have stood the whole time, takes the process for dead and
// ends its lease; why both, and what a wrong guess costs, is docs/decisions/0110. Where
// nobody works nothing is said and nobody asked.
package presence

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"parley/broker"
	"parley/gateway/signals"
	"parley/sessions"
)

// The times of a judgement. A worker that dies is missed between 0.3 and 0.5 s later, and
// then there is what the questions take.
const (
	interval   = 200 * time.Millisecond // between two words of a worker that works
	silence    = 300 * time.Millisecond // after which it is asked for
	recheck    = 200 * time.Millisecond // between two looks at its signs: a connection that was lost is back by then
	signTime   = 250 * time.Millisecond // for a sign to be asked
	storeTime  = 2 * time.Second        // for the store to be asked
	longest    = time.Second            // between two questions about one that is silent and there
	retryPause = time.Second            // until one whose signs were not all seen is looked at again
	memory     = time.Hour              // of one that says nothing
)

// Sign shows that a process is there. Its methods may be called concurrently.
type Sign interface {
	// Attend makes this process seen under name until ctx ends, and returns ctx's error.
	Attend(ctx context.Context, name string) error
	// IsAttended reports whether a process is seen under name; an error says that this is
	// not known. A process that is only stopped is never reported as not seen.
	IsAttended(ctx context.Context, name string) (bool, error)
	// Era is another number whenever this process did not see all the time in between.
	Era() uint64
}

// Signals is how workers hear of each other.
type Signals interface {
	Signal(ctx context.Context, s broker.Signal) error
	Signals(ctx context.Context, topic string, h func(broker.Signal)) error
}

// Leases are those of the workers, in the store.
type Leases interface {
	Lease(ctx context.Context, w sessions.Worker) (until time.Time, err error)
	EndLease(ctx context.Context, w sessions.Worker, until, now time.Time) (owed int, ended bool, err error)
}

// Options is what a Watch is made of.
type Options struct {
	Self sessions.Worker
	// Signs of a process, at least two, each known to another system: one alone may be
	// missed while the process lives.
	Signs   []Sign
	Signals Signals
	Leases  Leases
	// Now returns the store's time.
	Now func() time.Time
	// Lease is for how long a worker that is silent is asked for; later its lease has
	// ended by itself.
	Lease time.Duration
	// Begun has a value whenever this worker has begun to work; Working reports whether it
	// still does.
	Begun   <-chan struct{}
	Working func() bool
	// Ended is called when this process has ended the lease of a worker that owned so many
	// mailboxes that are owed work.
	Ended  func(w sessions.Worker, owed int)
	Logger *slog.Logger
}

// Watch is one worker's eye on the others. Make one with New, run it once.
type Watch struct {
	Options
	peers     map[string]*peer // by name; of the goroutine that hears
	followers sync.WaitGroup
}

// New checks and wires; it starts nothing.
func New(o Options) (*Watch, error) {
	if len(o.Signs) < 2 {
		return nil, fmt.Errorf("watch other workers: %d signs of a process, want two that are independent", len(o.Signs))
	}
	return &Watch{Options: o, peers: map[string]*peer{}}, nil
}

// Run says that this worker lives, and watches the others, until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer w.followers.Wait()
	defer stop()
	for _, s := range w.Signs {
		w.followers.Go(func() {
			if err := s.Attend(ctx, nameOf(w.Self)); ctx.Err() == nil {
				w.Logger.Error("presence sign lost, other workers learn of the end of this process by its lease only", "error", err)
			}
		})
	}
	w.followers.Go(func() { w.announce(ctx) })
	err := w.Signals.Signals(ctx, signals.PresenceTopic, func(s broker.Signal) { w.receive(ctx, s) })
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("hear of other workers: %w", err)
}

// nameOf is under what a worker's process is seen: its nonce, as signs take names.
func nameOf(w sessions.Worker) string { return "worker." + strings.ToLower(w.Nonce) }

// announce says that this worker is there, when it begins, and again and again while it
// works.
func (w *Watch) announce(ctx context.Context) {
	w.say(ctx, false)
	for {
		select {
		case <-w.Begun:
		case <-ctx.Done():
			return
		}
		for w.Working() {
			w.say(ctx, true)
			if !wait(ctx, interval) {
				return
			}
		}
		w.say(ctx, false)
	}
}

func (w *Watch) say(ctx context.Context, working bool) {
	body, err := json.Marshal(signals.Presence{Worker: w.Self, Working: working})
	if err == nil {
		err = w.Signals.Signal(ctx, broker.Signal{Topic: signals.PresenceTopic, Body: body})
	}
	if err != nil && ctx.Err() == nil {
		w.Logger.Debug("presence not announced", "error", err) // again in a moment
	}
}

// receive takes what a worker says of itself.
func (w *Watch) receive(ctx context.Context, s broker.Signal) {
	var m signals.Presence
	if err := json.Unmarshal(s.Body, &m); err != nil {
		w.Logger.Warn("unreadable signal dropped", "topic", s.Topic, "error", err)
		return
	}
	if m.Worker == w.Self {
		return
	}
	p := w.peers[m.Worker.Name]
	if p == nil || p.id != m.Worker || p.isForgotten() {
		if p != nil {
			p.forget()
		}
		p = w.follow(ctx, m.Worker)
	}
	select { // the newest word counts
	case <-p.heard:
	default:
	}
	p.heard <- m.Working
}

// follow begins to watch a worker of which nothing was heard before.
func (w *Watch) follow(ctx context.Context, id sessions.Worker) *peer {
	for name, p := range w.peers {
		if p.isForgotten() {
			delete(w.peers, name)
		}
	}
	ctx, forget := context.WithCancel(ctx)
	p := &peer{w: w, id: id, heard: make(chan bool, 1), forgotten: ctx.Done(), forget: forget}
	w.peers[id.Name] = p
	w.followers.Go(func() {
		defer forget()
		p.watch(ctx)
	})
	return p
}

// wait waits for d, and reports whether ctx let it.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
