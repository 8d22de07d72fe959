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
	wg   sync.WaitGroup

	mu      sync.Mutex
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
	touch sync.Mutex // one touch at a time
	refs  int        // touches waiting or running, and the actor; guarded by registry.mu
	actor *actor     // guarded by registry.mu
}

// lock holds the mailbox for one touch until the returned function is called.
func (r *registry) lock(token string) (unlock func()) {
	r.mu.Lock()
	e := r.byToken[token]
	if e == nil {
		e = &entry{}
		r.byToken[token] = e
	}
	e.refs++
	r.mu.Unlock()
	e.touch.Lock()
	return func() {
		e.touch.Unlock()
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
	r.wg.Go(func() {
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
	})
}

// poke tells the mailbox's actor to look for control requests; false when
// there is none here.
func (r *registry) poke(token string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byToken[token]
	if e == nil || e.actor == nil {
		return false
	}
	select {
	case e.actor.poked <- struct{}{}:
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
	done := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(done)
	}()
	limit := time.NewTimer(d)
	defer limit.Stop()
	select {
	case <-done:
		return true
	case <-limit.C:
	case <-ctx.Done():
	}
	return false
}

func (r *registry) wait() { r.wg.Wait() }
