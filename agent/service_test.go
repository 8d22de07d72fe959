package agent_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"parley/agent"
)

// TX09, A02, A03, L10
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
	other, err := s.Acquire("b", nil)
	if err != nil {
		t.Fatalf("another session: %v", err)
	}
	other()
	if !s.Cancel("a", agent.ErrStopped) || !errors.Is(cause, agent.ErrStopped) || s.Cancel("c", nil) {
		t.Errorf("cause %v", cause)
	}
	if _, err := s.Acquire("a", nil); !errors.Is(err, agent.ErrSessionBusy) {
		t.Errorf("cancelled, but not ended: %v", err)
	}
	release()
	next, err := s.Acquire("a", nil)
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	release() // of the one before: must not free the new one
	if _, err := s.Acquire("a", nil); !errors.Is(err, agent.ErrSessionBusy) {
		t.Errorf("an old release freed a new place: %v", err)
	}
	next()
}

func TestOnlyOneOfManyHasThePlace(t *testing.T) {
	t.Parallel()
	var s agent.Registry
	var inside, limit, done atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				release, err := s.Acquire("a", nil)
				if err != nil {
					if !errors.Is(err, agent.ErrSessionBusy) {
						t.Error(err)
					}
					continue
				}
				limit.Store(max(limit.Load(), inside.Add(1)))
				inside.Add(-1)
				done.Add(1)
				release()
			}
		})
	}
	wg.Wait()
	if limit.Load() != 1 || done.Load() == 0 {
		t.Errorf("%d at once, %d in all", limit.Load(), done.Load())
	}
}
