package agent

import (
	"context"
	"runtime/debug"

	"parley/costs"
)

// preparedCall is a call that was decided on: its result is there, or run makes it.
type preparedCall struct {
	ready      *finishedCall
	ask        string             // what people are asked, where ready says that the call waits
	rerunnable bool               // it may be cancelled and run again
	held       *costs.Reservation // of its price; nil: it has none
	refused    *costs.BudgetError // where ready says that the call waits for a higher budget; else nil
	run        func(ctx context.Context) (*finishedCall, error)
}

// parallelCalls is calls that run side by side. Their results are taken from one
// goroutine.
type parallelCalls struct {
	calls   []preparedCall
	cancel  context.CancelCauseFunc
	results []chan callResult
	taken   []*callResult // that were taken
}

// callResult is how a call ended.
type callResult struct {
	call  *finishedCall
	err   error
	panic *PanicError
}

// startCalls starts the calls. One alone runs where its result is taken.
func startCalls(ctx context.Context, calls []preparedCall) *parallelCalls {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &parallelCalls{calls: calls, cancel: cancel, results: make([]chan callResult, len(calls)), taken: make([]*callResult, len(calls))}
	for i, p := range calls {
		s.results[i] = make(chan callResult, 1)
		switch {
		case p.ready != nil:
			s.results[i] <- callResult{call: p.ready}
		case len(calls) == 1:
			s.results[i] <- runSafely(ctx, p)
		default:
			go func() { s.results[i] <- runSafely(ctx, p) }()
		}
	}
	return s
}

// runSafely runs a call. What panics beside the turn must not end the process; it
// does so to the turn, where the result is taken.
func runSafely(ctx context.Context, p preparedCall) (r callResult) {
	defer func() {
		if v := recover(); v != nil {
			r = callResult{panic: &PanicError{v, debug.Stack()}}
		}
	}()
	r.call, r.err = p.run(ctx)
	return r
}

// await waits for call number i.
func (s *parallelCalls) await(i int) (*finishedCall, error) {
	if s.taken[i] == nil {
		r := <-s.results[i]
		s.taken[i] = &r
	}
	if p := s.taken[i].panic; p != nil {
		panic(p)
	}
	return s.taken[i].call, s.taken[i].err
}

// stop ends what still runs, because the turn goes no further, and waits for it.
func (s *parallelCalls) stop() {
	s.cancel(ErrHandover)
	for i, c := range s.results {
		if s.taken[i] == nil {
			r := <-c
			s.taken[i] = &r
		}
	}
}
