package llm_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"parley/costs"
	"parley/llm"
)

// named is a model that is only named.
type named string

func (named) Provider() string { return "p" }
func (n named) Name() string   { return string(n) }
func (named) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(func(llm.Event, error) bool) {}
}

// circuits are circuits with a clock that the test moves.
type circuits struct {
	llm.Circuits
	now time.Time
}

func newCircuits(failures int) *circuits {
	c := &circuits{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	c.Failures, c.Now = failures, func() time.Time { return c.now }
	return c
}

// call makes one call of m that ends with err; false: it was refused.
func (c *circuits) call(t *testing.T, m named, err *llm.Error, final bool) bool {
	t.Helper()
	p, refusal := c.Enter(m, costs.CallID{})
	if refusal != nil {
		if !llm.IsCircuitOpen(refusal) {
			t.Fatalf("refused by %v", refusal)
		}
		return false
	}
	p.Leave(err, final)
	return true
}

func TestCircuit(t *testing.T) {
	t.Parallel()
	down := failed(llm.Server, 500)
	t.Run("failures in a row open it, and the cool-down lets one probe through", func(t *testing.T) {
		t.Parallel()
		c := newCircuits(3)
		for range 2 {
			c.call(t, "m", down, true)
		}
		c.call(t, "m", nil, true)
		for range 3 {
			if !c.call(t, "m", down, true) {
				t.Fatal("refused before there were three failures in a row")
			}
		}
		if c.call(t, "m", nil, true) {
			t.Error("called although its circuit is open")
		}
		if !c.call(t, "other", nil, true) {
			t.Error("another model of the provider was refused")
		}
		c.now = c.now.Add(llm.DefaultCircuitCooldown)
		probe, err := c.Enter(named("m"), costs.CallID{})
		if err != nil || !probe.IsProbe() {
			t.Fatalf("probe %v, %v", probe.IsProbe(), err)
		}
		if c.call(t, "m", nil, true) {
			t.Error("a second call beside the probe")
		}
		probe.Leave(down, false)
		if c.call(t, "m", nil, true) {
			t.Error("called after its probe failed")
		}
		c.now = c.now.Add(llm.DefaultCircuitCooldown)
		if !c.call(t, "m", nil, true) || !c.call(t, "m", down, true) || !c.call(t, "m", nil, true) {
			t.Error("refused after its probe was answered")
		}
	})
	t.Run("it counts calls, not their tries, and only what is the provider's", func(t *testing.T) {
		t.Parallel()
		c := newCircuits(1)
		for _, err := range []*llm.Error{failed(llm.InvalidRequest, 400), failed(llm.ContentFilter, 0), failed(llm.ContextLength, 400), failed(llm.Canceled, 0), failed(llm.Other, 0)} {
			c.call(t, "m", err, true)
		}
		c.call(t, "m", down, false) // it is tried again
		if !c.call(t, "m", down, true) {
			t.Fatal("refused")
		}
		if c.call(t, "m", nil, true) {
			t.Error("one call that failed for good did not open it")
		}
	})
	t.Run("a probe that was given up leaves its place", func(t *testing.T) {
		t.Parallel()
		c := newCircuits(1)
		c.call(t, "m", down, true)
		c.now = c.now.Add(time.Minute)
		c.call(t, "m", failed(llm.Canceled, 0), false)
		if !c.call(t, "m", nil, true) {
			t.Error("nobody may probe any more")
		}
	})
	t.Run("an answer from before it opened does not close it", func(t *testing.T) {
		t.Parallel()
		c := newCircuits(1)
		slow, _ := c.Enter(named("m"), costs.CallID{})
		c.call(t, "m", down, true)
		slow.Leave(nil, true)
		if c.call(t, "m", nil, true) {
			t.Error("closed by a call that began before")
		}
	})
	t.Run("Retry-After is the least cool-down, and a long one opens it at once", func(t *testing.T) {
		t.Parallel()
		c := newCircuits(5)
		busy := failed(llm.RateLimited, 429)
		busy.RetryAfter = 5 * time.Minute
		c.call(t, "m", busy, true)
		c.now = c.now.Add(5*time.Minute - time.Second)
		if c.call(t, "m", nil, true) {
			t.Error("called before the time that the provider named")
		}
		c.now = c.now.Add(time.Second)
		if !c.call(t, "m", nil, true) {
			t.Error("refused after it")
		}
		busy.RetryAfter = 48 * time.Hour
		c.call(t, "m", busy, true)
		c.now = c.now.Add(time.Hour)
		if !c.call(t, "m", nil, true) {
			t.Error("no call looks within the hour whether it still holds")
		}
	})
	t.Run("a negative number turns it off", func(t *testing.T) {
		t.Parallel()
		c := newCircuits(-1)
		for range 100 {
			if !c.call(t, "m", down, true) {
				t.Fatal("refused")
			}
		}
	})
	t.Run("what it keeps of a failure says nothing of another call's answer", func(t *testing.T) {
		t.Parallel()
		c := newCircuits(1)
		broken := failed(llm.Network, 0)
		broken.Visible, broken.Usage = true, &costs.Usage{Input: 3}
		c.call(t, "m", broken, true)
		_, err := c.Enter(named("m"), costs.CallID{})
		if e, ok := errors.AsType[*llm.CircuitError](err); !ok || e.Last.Visible || e.Last.Usage != nil || e.Last.Kind != llm.Network {
			t.Errorf("%+v", err)
		}
		if _, ok := errors.AsType[*llm.Error](err); ok {
			t.Error("a refusal is taken for a call that failed")
		}
	})
	t.Run("changes are told once each", func(t *testing.T) {
		t.Parallel()
		c := newCircuits(1)
		var states []llm.CircuitState
		c.Changed = func(s llm.CircuitStatus) { states = append(states, s.State) }
		c.call(t, "m", nil, true)
		c.call(t, "m", down, true)
		c.now = c.now.Add(time.Minute)
		c.call(t, "m", nil, true)
		if len(states) != 3 || states[0] != llm.CircuitOpen || states[1] != llm.CircuitProbing || states[2] != llm.CircuitClosed {
			t.Errorf("%v", states)
		}
		if len(c.Open()) != 0 {
			t.Errorf("open: %v", c.Open())
		}
	})
}

// requirements B22, TX20: after no model was available, none is tried for a while.
func TestPostponeKeepsAllModelsOfATurnAwayForTheBackoff(t *testing.T) {
	t.Parallel()
	c := newCircuits(1)
	c.call(t, "a", failed(llm.Server, 500), true)
	c.now = c.now.Add(llm.DefaultCircuitCooldown - time.Second)
	c.call(t, "b", failed(llm.Server, 500), true)
	if c.Unavailable(costs.CallID{}, named("a"), named("c")) != nil {
		t.Error("c works")
	}
	if c.Unavailable(costs.CallID{}, named("a"), named("b")) == nil {
		t.Fatal("both are open")
	}
	c.Postpone(named("a"), named("b"), named("c"))
	c.now = c.now.Add(llm.DefaultNoneBackoff - time.Millisecond) // a's cool-down is over
	if c.call(t, "a", nil, true) {
		t.Error("tried within the back-off")
	}
	c.now = c.now.Add(time.Millisecond)
	if !c.call(t, "c", nil, true) || !c.call(t, "a", nil, true) {
		t.Error("refused after the back-off")
	}
}

func TestCircuitsLetOneProbeThroughWhoeverAsks(t *testing.T) {
	t.Parallel()
	c := newCircuits(1)
	c.call(t, "m", failed(llm.Server, 500), true)
	c.now = c.now.Add(time.Minute)
	var wg sync.WaitGroup
	through := make(chan llm.Permit, 64)
	for range 64 {
		wg.Go(func() {
			if p, err := c.Enter(named("m"), costs.CallID{}); err == nil {
				through <- p
			}
		})
	}
	wg.Wait()
	if n := len(through); n != 1 {
		t.Errorf("%d probes at once", n)
	}
}

func TestOnlyTheProvidersFailuresAreTakenToAnotherModel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  *llm.Error
		want bool
	}{
		{failed(llm.RateLimited, 429), true},
		{failed(llm.Overloaded, 529), true},
		{failed(llm.Auth, 401), true},
		{failed(llm.Quota, 402), true},
		{failed(llm.Timeout, 0), true},
		{failed(llm.Network, 0), true},
		{failed(llm.Server, 501), true},
		{failed(llm.Malformed, 200), true},
		{failed(llm.Empty, 200), true},
		{failed(llm.InvalidRequest, 404), true}, // the model is gone
		{failed(llm.InvalidRequest, 400), false},
		{failed(llm.ContextLength, 400), false},
		{failed(llm.ContentFilter, 200), false},
		{failed(llm.Canceled, 0), false},
		{failed(llm.Other, 302), false},
	} {
		if got := c.err.IsProviders(); got != c.want {
			t.Errorf("%s %d: %v", c.err.Kind, c.err.Status, got)
		}
	}
}
