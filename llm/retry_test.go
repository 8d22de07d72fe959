package llm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"parley/llm"
)

func failed(kind llm.Kind, status int) *llm.Error {
	return &llm.Error{Kind: kind, Provider: "p", Model: "m", Status: status}
}

func middle() float64 { return 0.5 }

// requirements X02
func TestOnlyFailuresThatMayPassAreRetried(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{failed(llm.RateLimited, 429), true},
		{failed(llm.Overloaded, 529), true},
		{failed(llm.Overloaded, 503), true},
		{failed(llm.Overloaded, 200), true}, // an error event
		{failed(llm.Timeout, 408), true},
		{failed(llm.Timeout, 0), true},
		{failed(llm.Network, 0), true},
		{failed(llm.Server, 500), true},
		{failed(llm.Server, 502), true},
		{failed(llm.Server, 504), true},
		{failed(llm.Server, 200), true}, // an error event
		{failed(llm.Server, 501), false},
		{failed(llm.Server, 505), false},
		{failed(llm.Auth, 401), false},
		{failed(llm.Quota, 429), false},
		{failed(llm.InvalidRequest, 400), false},
		{failed(llm.ContextLength, 400), false},
		{failed(llm.ContentFilter, 400), false},
		{failed(llm.Canceled, 0), false},
		{failed(llm.Malformed, 200), false},
		{failed(llm.Empty, 200), false},
		{failed(llm.Other, 0), false},
		{fmt.Errorf("call model: %w", failed(llm.RateLimited, 429)), true},
		{errors.New("something else"), false},
		{context.Canceled, false},
		{nil, false},
	} {
		t.Run(fmt.Sprint(c.err), func(t *testing.T) {
			t.Parallel()
			if _, again := (llm.Retry{}).Next(1, 0, c.err); again != c.want {
				t.Errorf("again: %v", again)
			}
			if e, ok := errors.AsType[*llm.Error](c.err); ok {
				e.Visible = true
				if e.Retryable() {
					t.Error("retried although something was seen")
				}
			}
		})
	}
}

func TestWaitsDoubleUpToTheCapAndStayInsideTheWindow(t *testing.T) { // TX16
	t.Parallel()
	r := llm.Retry{Window: time.Hour, Random: middle}
	err := failed(llm.Overloaded, 529)
	for attempt, want := range map[int]time.Duration{
		1: 2 * time.Second, 2: 4 * time.Second, 3: 8 * time.Second, 4: 16 * time.Second, 5: 32 * time.Second,
		6: 60 * time.Second, 7: 60 * time.Second, 8: 60 * time.Second,
	} {
		if wait, again := r.Next(attempt, 0, err); wait != want || !again {
			t.Errorf("after attempt %d: %v, %v", attempt, wait, again)
		}
	}
	if _, again := r.Next(9, 0, err); again {
		t.Error("a ninth retry")
	}
	if _, again := (llm.Retry{Max: -1}).Next(1, 0, err); again {
		t.Error("a retry where none is wanted")
	}
	if _, again := (llm.Retry{Max: 2}).Next(3, 0, err); again {
		t.Error("a third retry of two")
	}
	usual := llm.Retry{Random: middle}
	if _, again := usual.Next(1, 118*time.Second, err); !again {
		t.Error("no retry at the end of the window")
	}
	if _, again := usual.Next(1, 118*time.Second+1, err); again {
		t.Error("a retry after the window")
	}
}

// requirements X01
func TestJitterIsTwentyPercentEitherWayAndNeverAboveTheCap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		random  float64
		attempt int
		want    time.Duration
	}{
		{0, 1, 1600 * time.Millisecond},
		{0.5, 1, 2 * time.Second},
		{0.75, 1, 2200 * time.Millisecond},
		{0, 8, 48 * time.Second},
		{1, 8, 60 * time.Second},
	} {
		r := llm.Retry{Window: time.Hour, Random: func() float64 { return c.random }}
		if wait, _ := r.Next(c.attempt, 0, failed(llm.Network, 0)); wait != c.want {
			t.Errorf("random %v, attempt %d: %v, not %v", c.random, c.attempt, wait, c.want)
		}
	}
	for range 1000 {
		wait, _ := (llm.Retry{}).Next(1, 0, failed(llm.Network, 0))
		if wait < 1600*time.Millisecond || wait > 2400*time.Millisecond {
			t.Fatalf("own randomness: %v", wait)
		}
	}
}

func TestRetryAfterIsObeyedUpToTheCap(t *testing.T) { // TX16
	t.Parallel()
	for asked, again := range map[time.Duration]bool{
		time.Millisecond: true, 7 * time.Second: true, 60 * time.Second: true, 61 * time.Second: false, time.Hour: false,
	} {
		err := failed(llm.RateLimited, 429)
		err.RetryAfter = asked
		wait, ok := (llm.Retry{}).Next(3, 0, err)
		if ok != again || again && wait != asked {
			t.Errorf("asked for %v: %v, %v", asked, wait, ok)
		}
	}
}

// TX16, as a caller does it: 429, then 529, then an answer; and without end.
// (requirements X01, X03)
func TestACallerGetsThroughOrGivesUp(t *testing.T) {
	t.Parallel()
	run := func(r llm.Retry, outcomes ...error) (calls int, waited time.Duration, last error) {
		for {
			var err error
			if calls < len(outcomes) {
				err = outcomes[calls]
			}
			calls++
			if err == nil {
				return calls, waited, nil
			}
			wait, again := r.Next(calls, waited, err)
			if !again {
				return calls, waited, err
			}
			waited += wait
		}
	}
	r := llm.Retry{Random: middle, Window: time.Hour}
	if calls, waited, err := run(r, failed(llm.RateLimited, 429), failed(llm.Overloaded, 529)); calls != 3 || waited != 6*time.Second || err != nil {
		t.Errorf("429, 529, 200: %d calls, %v, %v", calls, waited, err)
	}
	if calls, _, err := run(r, failed(llm.InvalidRequest, 400)); calls != 1 || err == nil {
		t.Errorf("400: %d calls, %v", calls, err)
	}
	var never []error
	for range 20 {
		never = append(never, failed(llm.Overloaded, 529))
	}
	if calls, _, err := run(r, never...); calls != 9 || err == nil {
		t.Errorf("529 for ever: %d calls, %v", calls, err)
	}
	if calls, waited, _ := run(llm.Retry{Random: middle}, never...); calls != 6 || waited != 62*time.Second {
		t.Errorf("529 for ever, in two minutes: %d calls, %v", calls, waited)
	}
}

// requirements A11: an operator says after which statuses a call is tried again.
func TestARuleWithItsOwnStatusesObeysThem(t *testing.T) {
	t.Parallel()
	own := llm.Retry{Statuses: []int{409, 520, 429}}
	for _, c := range []struct {
		name  string
		err   llm.Error
		rule  llm.Retry
		again bool
	}{
		{"a status of its own", llm.Error{Kind: llm.Server, Status: 520}, own, true},
		{"which by itself is none", llm.Error{Kind: llm.Server, Status: 520}, llm.Retry{}, false},
		{"one that is wrong elsewhere", llm.Error{Kind: llm.InvalidRequest, Status: 409}, own, true},
		{"one that it leaves out", llm.Error{Kind: llm.Overloaded, Status: 503}, own, false},
		{"a failed connection", llm.Error{Kind: llm.Network}, own, true},
		{"a stream that broke", llm.Error{Kind: llm.Overloaded, Status: 200}, own, true},
		{"an empty account", llm.Error{Kind: llm.Quota, Status: 429}, own, false},
		{"a wrong key", llm.Error{Kind: llm.Auth, Status: 520}, own, false},
		{"too long a request", llm.Error{Kind: llm.ContextLength, Status: 520}, own, false},
		{"part of an answer was seen", llm.Error{Kind: llm.Server, Status: 520, Visible: true}, own, false},
	} {
		if _, again := c.rule.Next(1, 0, &c.err); again != c.again {
			t.Errorf("%s: again %v", c.name, again)
		}
	}
	for _, status := range llm.RetryStatuses() {
		kind := map[int]llm.Kind{408: llm.Timeout, 429: llm.RateLimited, 503: llm.Overloaded, 529: llm.Overloaded}[status]
		if kind == "" {
			kind = llm.Server
		}
		if _, again := (llm.Retry{Statuses: llm.RetryStatuses()}).Next(1, 0, &llm.Error{Kind: kind, Status: status}); !again {
			t.Errorf("%d is not tried again", status)
		}
	}
}
