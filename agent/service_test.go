package agent_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"parley/agent"
	"parley/sessionkeys"
)

// TX09, A02-A04, L10
func TestASessionHasOnePlace(t *testing.T) {
	t.Parallel()
	var s agent.Service
	var cause error
	release, err := s.Start("a", func(err error) { cause = err })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start("a", nil); !errors.Is(err, agent.ErrSessionBusy) {
		t.Errorf("second: %v", err)
	}
	other, err := s.Start("b", func(error) {})
	if err != nil {
		t.Errorf("another session: %v", err)
	}
	if !s.Busy("a") || !s.AnyBusy() || !slices.Equal(s.Running(), []sessionkeys.SessionID{"a", "b"}) {
		t.Errorf("running %v", s.Running())
	}
	if !s.Cancel("a", agent.ErrStopped) || !errors.Is(cause, agent.ErrStopped) || s.Cancel("c", nil) {
		t.Errorf("cause %v", cause)
	}
	if _, err := s.Start("a", nil); !errors.Is(err, agent.ErrSessionBusy) {
		t.Errorf("cancelled, but not ended: %v", err)
	}
	release()
	other()
	if s.Busy("a") || s.AnyBusy() || s.Cancel("a", nil) {
		t.Error("busy after release")
	}
	next, err := s.Start("a", func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	release() // of the one before: must not free the new one
	if !s.Busy("a") {
		t.Error("an old release freed a new place")
	}
	next()
}

// TX18
func TestAPanicFreesThePlace(t *testing.T) {
	t.Parallel()
	var s agent.Service
	err := s.Do(t.Context(), "a", func(context.Context) error { panic("boom") })
	if p, ok := errors.AsType[*agent.PanicError](err); !ok || p.Value != "boom" || len(p.Stack) == 0 || s.Busy("a") {
		t.Errorf("%v, busy %v", err, s.Busy("a"))
	}
}

func TestWorkSeesWhyItWasCancelled(t *testing.T) {
	t.Parallel()
	var s agent.Service
	err := s.Do(t.Context(), "a", func(ctx context.Context) error {
		if n := s.CancelAll(agent.ErrHandover); n != 1 {
			t.Errorf("cancelled %d", n)
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, agent.ErrHandover) {
		t.Error(err)
	}
}

func TestOnlyOneOfManyRunsAtATime(t *testing.T) {
	t.Parallel()
	var s agent.Service
	var inside, most, done atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				err := s.Do(t.Context(), "a", func(context.Context) error {
					most.Store(max(most.Load(), inside.Add(1)))
					s.Cancel("a", nil)
					s.Running()
					inside.Add(-1)
					done.Add(1)
					return nil
				})
				if err != nil && !errors.Is(err, agent.ErrSessionBusy) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 || done.Load() == 0 || s.AnyBusy() {
		t.Errorf("%d at once, %d in all", most.Load(), done.Load())
	}
}
