package worker_test

import (
	"context"
	"errors"
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
	told func() // after each operation

	mu     sync.Mutex
	ops    int
	at     int  // the operation, counted from arm, that fails; 0: none
	lost   bool // it is performed all the same
	dead   bool // nothing is performed any more
	frozen bool // heartbeats are swallowed, as of a process that is paused
	resume int  // turns that were resumed
	fenced int  // writes that were refused to a stale owner

	noComply bool // control requests are not ended
	reads    int  // of histories
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

func (f *faults) resumed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.resume
}

func op[T any](f *faults, perform func() (T, error)) (T, error) {
	var none T
	f.mu.Lock()
	f.ops++
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

func op2[A, B any](f *faults, perform func() (A, B, error)) (A, B, error) {
	v, err := op(f, func() (both[A, B], error) {
		a, b, err := perform()
		return both[A, B]{a, b}, err
	})
	return v.a, v.b, err
}

func op0(f *faults, perform func() error) error {
	_, err := op(f, func() (struct{}, error) { return struct{}{}, perform() })
	return err
}

func (f *faults) Heartbeat(ctx context.Context, w sessions.Worker, until time.Time) error {
	f.mu.Lock()
	frozen := f.frozen
	f.mu.Unlock()
	if frozen {
		return nil
	}
	return op0(f, func() error { return f.Store.Heartbeat(ctx, w, until) })
}

func (f *faults) Leave(ctx context.Context, w sessions.Worker) error {
	return op0(f, func() error { return f.Store.Leave(ctx, w) })
}

func (f *faults) Touch(ctx context.Context, t sessions.Touch) (sessions.Mailbox, bool, error) {
	return op2(f, func() (sessions.Mailbox, bool, error) { return f.Store.Touch(ctx, t) })
}

func (f *faults) Reacquire(ctx context.Context, x sessions.Fence, now time.Time) (sessions.Mailbox, error) {
	return op(f, func() (sessions.Mailbox, error) { return f.Store.Reacquire(ctx, x, now) })
}

func (f *faults) Recover(ctx context.Context, w sessions.Worker, now time.Time, n int) ([]sessions.Mailbox, error) {
	return op(f, func() ([]sessions.Mailbox, error) { return f.Store.Recover(ctx, w, now, n) })
}

func (f *faults) Held(ctx context.Context, w sessions.Worker) ([]sessions.Mailbox, error) {
	return op(f, func() ([]sessions.Mailbox, error) { return f.Store.Held(ctx, w) })
}

func (f *faults) Release(ctx context.Context, x sessions.Fence) (sessions.Mailbox, bool, error) {
	return op2(f, func() (sessions.Mailbox, bool, error) { return f.Store.Release(ctx, x) })
}

func (f *faults) Handover(ctx context.Context, x sessions.Fence) error {
	return op0(f, func() error { return f.Store.Handover(ctx, x) })
}

func (f *faults) Controls(ctx context.Context, token string) ([]sessions.Control, error) {
	return op(f, func() ([]sessions.Control, error) { return f.Store.Controls(ctx, token) })
}

func (f *faults) Comply(ctx context.Context, x sessions.Fence, ids []string, read uint64, rs []sessions.Outgoing) error {
	f.mu.Lock()
	no := f.noComply
	f.mu.Unlock()
	if no {
		return errBroken
	}
	return op0(f, func() error { return f.Store.Comply(ctx, x, ids, read, rs) })
}

func (f *faults) Open(ctx context.Context, x sessions.Fence, o sessions.Opening) (sessions.Turn, bool, error) {
	return op2(f, func() (sessions.Turn, bool, error) { return f.Store.Open(ctx, x, o) })
}

func (f *faults) Resume(ctx context.Context, x sessions.Fence, now time.Time) (sessions.Turn, error) {
	f.set(func(f *faults) { f.resume++ })
	return op(f, func() (sessions.Turn, error) { return f.Store.Resume(ctx, x, now) })
}

func (f *faults) Skip(ctx context.Context, x sessions.Fence, seq uint64) error {
	return op0(f, func() error { return f.Store.Skip(ctx, x, seq) })
}

func (f *faults) Answer(ctx context.Context, x sessions.Fence, c sessions.Command) (bool, error) {
	return op(f, func() (bool, error) { return f.Store.Answer(ctx, x, c) })
}

func (f *faults) Messages(ctx context.Context, id sessionkeys.SessionID) ([]transcript.Message, error) {
	f.set(func(f *faults) { f.reads++ })
	return op(f, func() ([]transcript.Message, error) { return f.Store.Messages(ctx, id) })
}

func (f *faults) Append(ctx context.Context, x sessions.Fence, turn string, ms ...transcript.Message) error {
	return op0(f, func() error { return f.Store.Append(ctx, x, turn, ms...) })
}

func (f *faults) Begin(ctx context.Context, x sessions.Fence, turn string, step int, call string) (bool, error) {
	return op(f, func() (bool, error) { return f.Store.Begin(ctx, x, turn, step, call) })
}

func (f *faults) Reserve(ctx context.Context, x sessions.Fence, c sessions.Charge, r costs.Reservation) error {
	return op0(f, func() error { return f.Store.Reserve(ctx, x, c, r) })
}

func (f *faults) Settle(ctx context.Context, x sessions.Fence, s costs.Settlement, ms ...transcript.Message) error {
	return op0(f, func() error { return f.Store.Settle(ctx, x, s, ms...) })
}

func (f *faults) Finish(ctx context.Context, x sessions.Fence, e sessions.Ending) (sessions.Mailbox, bool, error) {
	return op2(f, func() (sessions.Mailbox, bool, error) { return f.Store.Finish(ctx, x, e) })
}

func (f *faults) Turn(ctx context.Context, id string) (sessions.Turn, error) {
	return op(f, func() (sessions.Turn, error) { return f.Store.Turn(ctx, id) })
}
