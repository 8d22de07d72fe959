package worker

import (
	"context"
	"sync"
	"time"

	"parley/agent"
	"parley/wake"
)

// registry knows which mailboxes have an actor in this process, and lets only
// one touch of a mailbox run at a time.
type registry struct {
	base  context.Context // parent of every actor's context; set once, before use
	begun wake.Signal     // has a value when there were no actors and one has begun

	mu      sync.Mutex
	running int           // actors; guarded by mu
	idle    chan struct{} // closed when the last of them ended; guarded by mu
	byToken map[string]*entry
	failed  map[string]int // how often in a row work on a mailbox failed; guarded by mu
}

// countFailure counts a failure of the mailbox and says how many there were in a row.
func (r *registry) countFailure(token string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[token]++
	return r.failed[token]
}

// clearFailures forgets the failures of the mailbox.
func (r *registry) clearFailures(token string) {
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

// has reports whether the mailbox has an actor.
func (r *registry) has(token string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byToken[token]
	return e != nil && e.actor != nil
}

// start runs a in a goroutine of its own, after an actor of the same mailbox
// that has released or lost it and not yet returned; start cancels that one. The
// caller holds the mailbox.
func (r *registry) start(a *actor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byToken[a.token]
	before := e.actor
	e.actor = a
	e.refs++
	if r.running == 0 {
		r.idle = make(chan struct{})
		r.begun.Send()
	}
	r.running++
	go func() {
		defer r.markEnded()
		if before != nil {
			// before may wait for a slot, and a may hold the only one. If before has released the
			// mailbox, the store tells it so first.
			a.awaitDurable(a.ctx)
			before.cancel(agent.ErrHandover)
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

// isBusy reports whether there is an actor.
func (r *registry) isBusy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running > 0
}

func (r *registry) markEnded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running--; r.running == 0 {
		close(r.idle)
	}
}

// wake tells the mailbox's actor to look for control requests; false when
// there is none here.
func (r *registry) wake(token string) bool {
	return r.notify(token, func(a *actor) wake.Signal { return a.woken })
}

// notifyMessage tells the mailbox's actor, if there is one here, that there are more
// messages, up to seq.
func (r *registry) notifyMessage(token string, seq uint64) {
	r.notify(token, func(a *actor) wake.Signal {
		a.raiseLastSeen(seq)
		return a.news
	})
}

func (r *registry) notify(token string, by func(*actor) wake.Signal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byToken[token]
	if e == nil || e.actor == nil {
		return false
	}
	by(e.actor).Send()
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

// awaitIdle waits until no actor runs; false when that takes longer than d.
func (r *registry) awaitIdle(ctx context.Context, d time.Duration) bool {
	limit := time.NewTimer(d)
	defer limit.Stop()
	select {
	case <-r.whenIdle():
		return true
	case <-limit.C:
	case <-ctx.Done():
	}
	return false
}

func (r *registry) wait() { <-r.whenIdle() }

// whenIdle returns a channel that is closed when no actor runs of those that do now.
func (r *registry) whenIdle() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == 0 {
		none := make(chan struct{})
		close(none)
		return none
	}
	return r.idle
}
