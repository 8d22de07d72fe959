package simtest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"parley/sessions"
)

var (
	errLost = errors.New("no answer came in time")
	errDead = errors.New("this process is dead")
)

// op is one operation of a process on the world outside of it, parked at the
// gate. The scheduler says when it is performed and what the process hears.
type op struct {
	p        *process
	ctx      context.Context
	kind     string // touch, open, model, send, ack, …
	what     string // for the trace: the kind and what it is about
	token    string // the mailbox it is about, if any
	fence    *sessions.Fence
	now      time.Time // when it takes, by the clock of who takes
	answerID string    // of the outbox, if it is about one
	marks    bool      // it says how far that one is
	do       func()    // performs it; may be called twice, and after the answer was given up

	performed bool
	err       error
	done      chan struct{} // closed when the process may go on
}

// park is how every operation of a process reaches the world. It returns what
// the scheduler decided; nil when do was performed and its result is heard.
func (p *process) park(ctx context.Context, o *op) error {
	o.p, o.ctx, o.done = p, ctx, make(chan struct{})
	p.w.mu.Lock()
	switch {
	case p.dead:
		p.w.mu.Unlock()
		return errDead
	case ctx.Err() != nil:
		p.w.mu.Unlock()
		return context.Cause(ctx)
	}
	p.w.parked = append(p.w.parked, o)
	p.w.mu.Unlock()
	<-o.done
	return o.err
}

// call is park of an operation with a result.
func call[T any](ctx context.Context, p *process, o *op, f func() (T, error)) (T, error) {
	var v T
	var err error
	o.do = func() { v, err = f() }
	if refused := p.park(ctx, o); refused != nil {
		var none T
		return none, refused
	}
	return v, err
}

func call0(ctx context.Context, p *process, o *op, f func() error) error {
	_, err := call(ctx, p, o, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// parkedOps are the parked operations of processes that are not frozen, in an
// order that does not depend on how their goroutines ran.
func (w *world) parkedOps() []*op {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortStableFunc(w.parked, func(a, b *op) int {
		return cmp.Or(cmp.Compare(a.p.name, b.p.name), cmp.Compare(a.what, b.what))
	})
	return slices.DeleteFunc(slices.Clone(w.parked), func(o *op) bool { return o.p.frozen })
}

// finishOp ends o: its process goes on with err, or with o's own result.
func (w *world) finishOp(o *op, err error) {
	w.mu.Lock()
	w.parked = slices.DeleteFunc(w.parked, func(x *op) bool { return x == o })
	w.mu.Unlock()
	o.err = err
	close(o.done)
}
