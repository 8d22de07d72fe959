package agent

import (
	"context"
	"runtime/debug"
)

// prepared is a call that was decided on: its result is there, or run makes it.
type prepared struct {
	ready *finishedCall
	again bool // it may be cancelled and run again
	run   func(ctx context.Context) (*finishedCall, error)
}

// side is calls that run side by side. Their results are taken from one
// goroutine.
type side struct {
	cancel  context.CancelCauseFunc
	results []chan ran
	got     []*ran // that were taken
}

// ran is how a call ended.
type ran struct {
	call  *finishedCall
	err   error
	panic *PanicError
}

// begin starts the calls. One alone runs where its result is taken.
func begin(ctx context.Context, calls []prepared) *side {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &side{cancel: cancel, results: make([]chan ran, len(calls)), got: make([]*ran, len(calls))}
	for i, p := range calls {
		s.results[i] = make(chan ran, 1)
		switch {
		case p.ready != nil:
			s.results[i] <- ran{call: p.ready}
		case len(calls) == 1:
			s.results[i] <- safe(ctx, p)
		default:
			go func() { s.results[i] <- safe(ctx, p) }()
		}
	}
	return s
}

// safe runs a call. What panics beside the turn must not end the process; it
// does so to the turn, where the result is taken.
func safe(ctx context.Context, p prepared) (r ran) {
	defer func() {
		if v := recover(); v != nil {
			r = ran{panic: &PanicError{v, debug.Stack()}}
		}
	}()
	r.call, r.err = p.run(ctx)
	return r
}

// result waits for call number i.
func (s *side) result(i int) (*finishedCall, error) {
	if s.got[i] == nil {
		r := <-s.results[i]
		s.got[i] = &r
	}
	if p := s.got[i].panic; p != nil {
		panic(p)
	}
	return s.got[i].call, s.got[i].err
}

// end ends what still runs, because the turn goes no further, and waits for it.
func (s *side) end() {
	s.cancel(ErrHandover)
	for i, c := range s.results {
		if s.got[i] == nil {
			r := <-c
			s.got[i] = &r
		}
	}
}
