package worker_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"parley/sessions"
	"parley/sessions/sessiontest"
)

var (
	errBroken = errors.New("the store broke down")
	errDead   = errors.New("this process is dead")
)

// faults is a store as one worker process sees it: it fails, loses answers,
// and stops answering at all, as told.
type faults struct {
	sessions.Store
	told func()         // after each operation
	late sync.WaitGroup // operations that are under way, perhaps for nobody

	mu     sync.Mutex
	ops    int
	at     int  // the operation, counted from arm, that fails; 0: none
	lost   bool // it is performed all the same
	dead   bool // nothing is performed any more
	deadAt int  // the operation, counted as at, that is the last one; 0: none
	frozen bool // heartbeats are swallowed, as of a process that is paused
	mute   bool // heartbeats fail
	fenced int  // writes that were refused to a stale owner

	yield    func(perform func() error) error // in place of Yield
	listed   func()                           // before the answer of Held is heard
	held     func()                           // before Held
	recover  func()                           // before Recover
	noComply bool                             // control requests are not ended
	finish   func()                           // before Finish
	handed   int                              // how often Handover was tried
	reads    int                              // of histories
	pages    int                              // of histories that were read
	takes    time.Duration                    // how long an operation takes at most
	left     bool                             // Leave was performed
	tardy    int                              // operations after that
	touch    func()                           // before Touch
	writes   []string                         // what was written under a fence or took a mailbox
}

// arm makes the n-th operation from now fail; with lost only its answer is.
func (f *faults) arm(n int, lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops, f.at, f.lost = 0, n, lost
}

func (f *faults) set(change func(*faults)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *faults) read() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads
}

func (f *faults) readPages() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pages
}

func (f *faults) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

func (f *faults) refused() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fenced
}

func (f *faults) handovers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.handed
}

// over returns f, standing between a worker and a store.
func (f *faults) over(s sessions.Store) *faults {
	f.Store = sessiontest.Intercept(s, f.around)
	return f
}

// around is a [sessiontest.Around].
func (f *faults) around(ctx context.Context, c sessiontest.Call, perform func() error) error {
	f.mu.Lock()
	before, instead, frozen, mute, noComply := map[string]func(){"Touch": f.touch, "Held": f.held, "Finish": f.finish, "Recover": f.recover}[c.Op], f.yield, f.frozen, f.mute, f.noComply
	if c.Fence != nil || c.Op == "Touch" {
		f.writes = append(f.writes, c.Op)
	}
	switch c.Op {
	case "Handover":
		f.handed++
		defer f.told()
	case "Messages":
		f.reads++
	case "MessagesAfter":
		f.pages++
	case "Leave":
		defer f.set(func(f *faults) { f.left = true })
	case "Held":
		if f.listed != nil {
			defer f.listed()
		}
	}
	f.mu.Unlock()
	if before != nil {
		before()
	}
	switch {
	case c.Op == "Heartbeat" && frozen:
		return nil
	case c.Op == "Heartbeat" && mute, c.Op == "ApplyControls" && noComply:
		return errBroken
	case c.Op == "Yield" && instead != nil:
		return instead(func() error { return f.inTime(ctx, perform) })
	}
	return f.inTime(ctx, perform)
}

// inTime performs an operation as slowly as it is to be.
func (f *faults) inTime(ctx context.Context, perform func() error) error {
	f.mu.Lock()
	takes := f.takes
	f.mu.Unlock()
	if takes == 0 {
		return f.once(perform)
	}
	// Who gives up does not know what became of it.
	answered := make(chan error, 1)
	f.late.Go(func() {
		time.Sleep(rand.N(takes) / 2)
		err := f.once(perform)
		time.Sleep(rand.N(takes) / 2)
		answered <- err
	})
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *faults) once(perform func() error) error {
	f.mu.Lock()
	f.ops++
	if f.left {
		f.tardy++
	}
	fails, lost, dead := f.at > 0 && f.ops == f.at, f.lost, f.dead
	f.mu.Unlock()
	switch {
	case dead:
		return errDead
	case fails && !lost:
		return errBroken
	}
	err := perform()
	if errors.Is(err, sessions.ErrFenced) {
		f.set(func(f *faults) { f.fenced++ })
	}
	f.told()
	f.mu.Lock()
	f.dead = f.dead || f.deadAt > 0 && f.ops >= f.deadAt
	f.mu.Unlock()
	if fails {
		return errBroken
	}
	return err
}
