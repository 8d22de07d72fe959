package worker

import (
	"context"
	"sync"
	"time"
)

// registry knows which mailboxes have an actor in this process, and lets only
// one touch of a mailbox run at a time.
type registry struct {
	base context.Context // parent of every actor's context; set once, before use

	mu      sync.Mutex
	running int           // actors; guarded by mu
	none    chan struct{} // closed when the last of them ended; guarded by mu
	byToken map[string]*entry
	failed  map[string]int // how often in a row work on a mailbox failed; guarded by mu
}

// fail counts a failure of the mailbox and says how many there were in a row.
func (r *registry) fail(token string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[token]++
	return r.failed[token]
}

// well forgets the failures of the mailbox.
func (r *registry) well(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failed, token)
}

// entry is one mailbox that this process deals with right now.
type entry struct {
	touch chan struct{} // full while a touch runs; a channel, so that a test in fake time sees who waits
	refs  int           // touches waiting or running, and the actor; guarded by registry.mu
	actor *actor        // guarded by registry.mu
}

// lock holds the mailbox for one touch until the returned function is called.
func (r *registry) lock(token string) (unlock func()) {
	r.mu.Lock()
	e := r.byToken[token]
	if e == nil {
		e = &entry{touch: make(chan struct{}, 1)}
		r.byToken[token] = e
	}
	e.refs++
	r.mu.Unlock()
	e.touch <- struct{}{}
	return func() {
		<-e.touch
		r.drop(token, e)
	}
}

func (r *registry) drop(token string, e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.refs--; e.refs == 0 {
		delete(r.byToken, token)
	}
}

// has says whether the mailbox has an actor.
func (r *registry) has(token string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byToken[token]
	return e != nil && e.actor != nil
}

// start runs a in a goroutine of its own, after an actor of the same mailbox
// that has released it but not yet returned. The caller holds the mailbox.
func (r *registry) start(a *actor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byToken[a.token]
	before := e.actor
	e.actor = a
	e.refs++
	if r.running == 0 {
		r.none = make(chan struct{})
	}
	r.running++
	go func() {
		defer r.ended()
		if before != nil {
			<-before.done
		}
		a.run()
		r.mu.Lock()
		if e.actor == a {
			e.actor = nil
		}
		r.mu.Unlock()
		close(a.done)
		r.drop(a.token, e)
	}()
}

func (r *registry) ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running--; r.running == 0 {
		close(r.none)
	}
}

// poke tells the mailbox's actor to look for control requests; false when
// there is none here.
func (r *registry) poke(token string) bool {
	return r.tell(token, func(a *actor) chan struct{} { return a.poked })
}

// more tells the mailbox's actor, if there is one here, that there are more
// messages, up to seq.
func (r *registry) more(token string, seq uint64) {
	r.tell(token, func(a *actor) chan struct{} {
		a.hear(seq)
		return a.news
	})
}

func (r *registry) tell(token string, by func(*actor) chan struct{}) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byToken[token]
	if e == nil || e.actor == nil {
		return false
	}
	select {
	case by(e.actor) <- struct{}{}:
	default:
	}
	return true
}

func (r *registry) cancelAll(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.byToken {
		if e.actor != nil {
			e.actor.cancel(cause)
		}
	}
}

// idle waits until no actor runs; false when that takes longer than d.
func (r *registry) idle(ctx context.Context, d time.Duration) bool {
	limit := time.NewTimer(d)
	defer limit.Stop()
	select {
	case <-r.empty():
		return true
	case <-limit.C:
	case <-ctx.Done():
	}
	return false
}

func (r *registry) wait() { <-r.empty() }

// empty is closed when no actor runs of those that do now.
func (r *registry) empty() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == 0 {
		none := make(chan struct{})
		close(none)
		return none
	}
	return r.none
}
