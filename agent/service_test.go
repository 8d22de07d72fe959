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
// (requirements AH02)
func TestASessionHasOnePlace(t *testing.T) {
	t.Parallel()
	var s agent.Registry
	var cause error
	release, err := s.Acquire("a", func(err error) { cause = err })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Acquire("a", nil); !errors.Is(err, agent.ErrSessionBusy) {
		t.Errorf("second: %v", err)
	}
	other, err := s.Acquire("b", func(error) {})
	if err != nil {
		t.Errorf("another session: %v", err)
	}
	if !s.IsBusy("a") || !slices.Equal(s.Running(), []sessionkeys.SessionID{"a", "b"}) {
		t.Errorf("running %v", s.Running())
	}
	if !s.Cancel("a", agent.ErrStopped) || !errors.Is(cause, agent.ErrStopped) || s.Cancel("c", nil) {
		t.Errorf("cause %v", cause)
	}
	if _, err := s.Acquire("a", nil); !errors.Is(err, agent.ErrSessionBusy) {
		t.Errorf("cancelled, but not ended: %v", err)
	}
	release()
	other()
	if s.IsBusy("a") || len(s.Running()) > 0 || s.Cancel("a", nil) {
		t.Error("busy after release")
	}
	next, err := s.Acquire("a", func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	release() // of the one before: must not free the new one
	if !s.IsBusy("a") {
		t.Error("an old release freed a new place")
	}
	next()
}

// TX18, AH05, B25
func TestAPanicFreesThePlace(t *testing.T) {
	t.Parallel()
	var s agent.Registry
	err := s.Do(t.Context(), "a", func(context.Context) error { panic("boom") })
	if p, ok := errors.AsType[*agent.PanicError](err); !ok || p.Value != "boom" || len(p.Stack) == 0 || s.IsBusy("a") {
		t.Errorf("%v, busy %v", err, s.IsBusy("a"))
	}
}

func TestWorkSeesWhyItWasCancelled(t *testing.T) {
	t.Parallel()
	var s agent.Registry
	err := s.Do(t.Context(), "a", func(ctx context.Context) error {
		if !s.Cancel("a", agent.ErrHandover) {
			t.Error("nothing was cancelled")
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
	var s agent.Registry
	var inside, limit, done atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				err := s.Do(t.Context(), "a", func(context.Context) error {
					limit.Store(max(limit.Load(), inside.Add(1)))
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
	if limit.Load() != 1 || done.Load() == 0 || len(s.Running()) > 0 {
		t.Errorf("%d at once, %d in all", limit.Load(), done.Load())
	}
}
