package agent

import (
	"context"
	"errors"

	"parley/llm"
)

// errPreparation ends a call that prepares a request and has brought nothing in time.
var errPreparation = errors.New("the turn goes on without it: nothing came in time")

// withGiveUp returns a context that ends when a call is to be given up that has brought
// nothing. alive must be called when something comes: what has begun to come is not given up
// any more, because it is being paid for and will be there soon. end must be called in any
// case.
func (r *take) withGiveUp(ctx context.Context) (_ context.Context, alive, end func()) {
	if r.giveUpAt.IsZero() {
		return ctx, func() {}, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	waiting, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if r.Wait(waiting, r.giveUpAt.Sub(r.Now())) == nil {
			cancel(errPreparation)
		}
	}()
	alive = func() {
		stop()
		<-done
	}
	return ctx, alive, func() {
		alive()
		cancel(nil)
	}
}

// asTimeout returns a call's error as a timeout if the call was given up.
func asTimeout(ctx context.Context, e *llm.Error) *llm.Error {
	if !errors.Is(context.Cause(ctx), errPreparation) {
		return e
	}
	e.Kind, e.Err, e.Sent = llm.Timeout, errPreparation, true // its answer may be on the way
	return e
}
