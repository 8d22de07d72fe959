package worker_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
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
	frozen bool // heartbeats are swallowed, as of a process that is paused
	mute   bool // heartbeats fail
	resume int  // turns that were resumed
	fenced int  // writes that were refused to a stale owner

	yield    func(perform func() (bool, error)) (bool, error) // in place of Yield
	held     func()                                           // before Held
	noComply bool                                             // control requests are not ended
	finish   func()                                           // before Finish
	handed   int                                              // how often Handover was tried
	reads    int                                              // of histories
	takes    time.Duration                                    // how long an operation takes at most
	left     bool                                             // Leave was performed
	tardy    int                                              // operations after that
	touch    func()                                           // before Touch
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

func (f *faults) resumed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.resume
}

func op[T any](ctx context.Context, f *faults, perform func() (T, error)) (T, error) {
	f.mu.Lock()
	takes := f.takes
	f.mu.Unlock()
	if takes == 0 {
		return once(f, perform)
	}
	// Who gives up does not know what became of it.
	type answer struct {
		v   T
		err error
	}
	answered := make(chan answer, 1)
	f.late.Go(func() {
		time.Sleep(rand.N(takes) / 2)
		v, err := once(f, perform)
		time.Sleep(rand.N(takes) / 2)
		answered <- answer{v, err}
	})
	select {
	case a := <-answered:
		return a.v, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

func once[T any](f *faults, perform func() (T, error)) (T, error) {
	var none T
	f.mu.Lock()
	f.ops++
	if f.left {
		f.tardy++
	}
	fails, lost, dead := f.at > 0 && f.ops == f.at, f.lost, f.dead
	f.mu.Unlock()
	switch {
	case dead:
		return none, errDead
	case fails && !lost:
		return none, errBroken
	}
	v, err := perform()
	if errors.Is(err, sessions.ErrFenced) {
		f.set(func(f *faults) { f.fenced++ })
	}
	f.told()
	if fails {
		return none, errBroken
	}
	return v, err
}

// both carries two results through op.
type both[A, B any] struct {
	a A
	b B
}

func op2[A, B any](ctx context.Context, f *faults, perform func() (A, B, error)) (A, B, error) {
	v, err := op(ctx, f, func() (both[A, B], error) {
		a, b, err := perform()
		return both[A, B]{a, b}, err
	})
	return v.a, v.b, err
}

func op0(ctx context.Context, f *faults, perform func() error) error {
	_, err := op(ctx, f, func() (struct{}, error) { return struct{}{}, perform() })
	return err
}

func (f *faults) Heartbeat(ctx context.Context, w sessions.Worker, until time.Time) error {
	f.mu.Lock()
	frozen, mute := f.frozen, f.mute
	f.mu.Unlock()
	switch {
	case frozen:
		return nil
	case mute:
		return errBroken
	}
	return op0(ctx, f, func() error { return f.Store.Heartbeat(ctx, w, until) })
}

func (f *faults) Leave(ctx context.Context, w sessions.Worker) error {
	defer f.set(func(f *faults) { f.left = true })
	return op0(ctx, f, func() error { return f.Store.Leave(ctx, w) })
}

func (f *faults) Touch(ctx context.Context, t sessions.Touch) (sessions.Mailbox, bool, error) {
	f.mu.Lock()
	before := f.touch
	f.mu.Unlock()
	if before != nil {
		before()
	}
	return op2(ctx, f, func() (sessions.Mailbox, bool, error) { return f.Store.Touch(ctx, t) })
}

func (f *faults) Reacquire(ctx context.Context, x sessions.Fence, now time.Time) (sessions.Mailbox, error) {
	return op(ctx, f, func() (sessions.Mailbox, error) { return f.Store.Reacquire(ctx, x, now) })
}

func (f *faults) Recover(ctx context.Context, w sessions.Worker, now time.Time, n int) ([]sessions.Mailbox, error) {
	return op(ctx, f, func() ([]sessions.Mailbox, error) { return f.Store.Recover(ctx, w, now, n) })
}

func (f *faults) Held(ctx context.Context, w sessions.Worker) ([]sessions.Mailbox, error) {
	f.mu.Lock()
	before := f.held
	f.mu.Unlock()
	if before != nil {
		before()
	}
	return op(ctx, f, func() ([]sessions.Mailbox, error) { return f.Store.Held(ctx, w) })
}

func (f *faults) Release(ctx context.Context, x sessions.Fence) (sessions.Mailbox, bool, error) {
	return op2(ctx, f, func() (sessions.Mailbox, bool, error) { return f.Store.Release(ctx, x) })
}

func (f *faults) Handover(ctx context.Context, x sessions.Fence) error {
	f.set(func(f *faults) { f.handed++ })
	defer f.told()
	return op0(ctx, f, func() error { return f.Store.Handover(ctx, x) })
}

func (f *faults) Yield(ctx context.Context, x sessions.Fence, now time.Time) (bool, error) {
	f.mu.Lock()
	instead := f.yield
	f.mu.Unlock()
	perform := func() (bool, error) { return op(ctx, f, func() (bool, error) { return f.Store.Yield(ctx, x, now) }) }
	if instead != nil {
		return instead(perform)
	}
	return perform()
}

func (f *faults) Mailbox(ctx context.Context, token string) (sessions.Mailbox, error) {
	return op(ctx, f, func() (sessions.Mailbox, error) { return f.Store.Mailbox(ctx, token) })
}

func (f *faults) Controls(ctx context.Context, token string) ([]sessions.Control, error) {
	return op(ctx, f, func() ([]sessions.Control, error) { return f.Store.Controls(ctx, token) })
}

func (f *faults) Comply(ctx context.Context, x sessions.Fence, ids []string, read uint64, rs []sessions.Outgoing) error {
	f.mu.Lock()
	no := f.noComply
	f.mu.Unlock()
	if no {
		return errBroken
	}
	return op0(ctx, f, func() error { return f.Store.Comply(ctx, x, ids, read, rs) })
}

func (f *faults) Open(ctx context.Context, x sessions.Fence, o sessions.Opening) (sessions.Turn, bool, error) {
	return op2(ctx, f, func() (sessions.Turn, bool, error) { return f.Store.Open(ctx, x, o) })
}

func (f *faults) Join(ctx context.Context, x sessions.Fence, j sessions.Joining) (bool, error) {
	return op(ctx, f, func() (bool, error) { return f.Store.Join(ctx, x, j) })
}

func (f *faults) Resume(ctx context.Context, x sessions.Fence, now time.Time) (sessions.Turn, error) {
	f.set(func(f *faults) { f.resume++ })
	return op(ctx, f, func() (sessions.Turn, error) { return f.Store.Resume(ctx, x, now) })
}

func (f *faults) Skip(ctx context.Context, x sessions.Fence, seq uint64) error {
	return op0(ctx, f, func() error { return f.Store.Skip(ctx, x, seq) })
}

func (f *faults) Answer(ctx context.Context, x sessions.Fence, c sessions.Command) (bool, error) {
	return op(ctx, f, func() (bool, error) { return f.Store.Answer(ctx, x, c) })
}

func (f *faults) Messages(ctx context.Context, id sessionkeys.SessionID) ([]transcript.Message, error) {
	f.set(func(f *faults) { f.reads++ })
	return op(ctx, f, func() ([]transcript.Message, error) { return f.Store.Messages(ctx, id) })
}

func (f *faults) Append(ctx context.Context, x sessions.Fence, turn string, ms ...transcript.Message) error {
	return op0(ctx, f, func() error { return f.Store.Append(ctx, x, turn, ms...) })
}

func (f *faults) Post(ctx context.Context, x sessions.Fence, turn string, rs ...sessions.Outgoing) error {
	return op0(ctx, f, func() error { return f.Store.Post(ctx, x, turn, rs...) })
}

func (f *faults) Delivery(ctx context.Context, id string) (sessions.Delivery, error) {
	return op(ctx, f, func() (sessions.Delivery, error) { return f.Store.Delivery(ctx, id) })
}

func (f *faults) Begin(ctx context.Context, x sessions.Fence, turn string, step int, call string) (bool, error) {
	return op(ctx, f, func() (bool, error) { return f.Store.Begin(ctx, x, turn, step, call) })
}

func (f *faults) Reserve(ctx context.Context, x sessions.Fence, c sessions.Charge, r costs.Reservation) error {
	return op0(ctx, f, func() error { return f.Store.Reserve(ctx, x, c, r) })
}

func (f *faults) Settle(ctx context.Context, x sessions.Fence, s costs.Settlement, ms ...transcript.Message) error {
	return op0(ctx, f, func() error { return f.Store.Settle(ctx, x, s, ms...) })
}

func (f *faults) Finish(ctx context.Context, x sessions.Fence, e sessions.Ending) (sessions.Mailbox, bool, error) {
	f.mu.Lock()
	before := f.finish
	f.mu.Unlock()
	if before != nil {
		before()
	}
	return op2(ctx, f, func() (sessions.Mailbox, bool, error) { return f.Store.Finish(ctx, x, e) })
}

func (f *faults) Turn(ctx context.Context, id string) (sessions.Turn, error) {
	return op(ctx, f, func() (sessions.Turn, error) { return f.Store.Turn(ctx, id) })
}

func (f *faults) Said(ctx context.Context, w sessions.Wording) (string, bool, error) {
	return op2(ctx, f, func() (string, bool, error) { return f.Store.Said(ctx, w) })
}

func (f *faults) Known(ctx context.Context, events ...sessions.InboxID) ([]bool, error) {
	return op(ctx, f, func() ([]bool, error) { return f.Store.Known(ctx, events...) })
}
