package agent_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

type retry func(attempt int, elapsed time.Duration, err error) (time.Duration, bool)

func (f retry) Next(attempt int, elapsed time.Duration, err error) (time.Duration, bool) {
	return f(attempt, elapsed, err)
}

var always = retry(func(int, time.Duration, error) (time.Duration, bool) { return time.Second, true })

func busy() llmtest.Turn { return llmtest.Turn{llmtest.Fail{Kind: llm.Overloaded, Status: 529}} }

// TX16, M02, X03
func TestAFailedCallIsTriedAgainAndEachAttemptIsOneRow(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, llmtest.Turn{llmtest.Fail{Kind: llm.RateLimited, Status: 429, RetryAfter: 3 * time.Second}}, busy(), text("at last"))
	r.loop.Retry = llm.Retry{}
	var waits []time.Duration
	r.loop.Wait = func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}
	if o := r.run(t, t.Context()); o.Text != "at last" || o.Steps != 1 {
		t.Errorf("%+v", o)
	}
	es := r.journal.ledger()
	if len(es) != 3 || es[0].Outcome != "rate_limited" || es[1].Outcome != "overloaded" || es[2].Outcome != "ok" {
		t.Fatalf("%+v", es)
	}
	for i, e := range es {
		if e.Call.Attempt != i+1 || e.Call.Step != 1 || !e.Priced || (e.Amount == 0) != (i < 2) || e.State != costs.Settled {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if len(waits) != 2 || waits[0] != 3*time.Second {
		t.Errorf("waits %v", waits)
	}
	retries := 0
	for _, e := range r.events {
		if e.Type == agent.Retrying {
			retries++
			if e.Wait == 0 || e.Err == nil || e.Step != 1 {
				t.Errorf("%+v", e)
			}
		}
	}
	if retries != 2 {
		t.Errorf("%d retries told", retries)
	}
}

func TestAnAnswerThatWasSeenIsNeverAskedForAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, llmtest.Turn{llmtest.Text("12345678"), llmtest.Cut{}}, text("twice"))
	r.loop.Retry = always
	o := r.run(t, t.Context())
	if o.Finish != transcript.Failed || !strings.HasPrefix(o.Text, "12345678\n\n(The answer broke off.") || r.model.Remaining() != 1 {
		t.Errorf("%+v", o)
	}
	if e := r.journal.ledger()[0]; e.State != costs.Interrupted || e.Usage.Output != 2 || e.Usage.Input == 0 || e.Amount == 0 || e.Upper <= e.Amount {
		t.Errorf("%+v", e)
	}
	if ms := r.journal.messages; len(ms) != 2 || ms[1].Text() != "12345678" || ms[1].Finish().Reason != transcript.Failed {
		t.Errorf("%+v", ms)
	}
}

// docs/decisions/0118
func TestALostConnectionCostsNothingOnlyBeforeTheRequestHasLeft(t *testing.T) {
	t.Parallel()
	for sent, want := range map[bool]costs.State{false: costs.Settled, true: costs.Interrupted} {
		r := newRig(t, nil, llmtest.Turn{llmtest.Fail{Kind: llm.Network, Sent: sent}}, text("at last"))
		r.loop.Retry = llm.Retry{}
		if o := r.run(t, t.Context()); o.Text != "at last" {
			t.Errorf("sent %v: %+v", sent, o)
		}
		if e := r.journal.ledger()[0]; e.Outcome != "network" || e.State != want || (e.Upper > 0) != sent || e.Lower != 0 {
			t.Errorf("sent %v: %+v", sent, e)
		}
	}
}

// requirements AH01, AH04, B08
func TestAFailureForGoodIsToldInAPlainSentence(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range []struct {
		kind   llm.Kind
		finish transcript.FinishReason
	}{
		{llm.RateLimited, transcript.Failed},
		{llm.Auth, transcript.Failed},
		{llm.Quota, transcript.Failed},
		{llm.ContextLength, transcript.ContextLimit},
		{llm.InvalidRequest, transcript.Failed},
		{llm.ContentFilter, transcript.Failed},
		{llm.Network, transcript.Failed},
		{llm.Empty, transcript.Failed},
		{llm.Other, transcript.Failed},
	} {
		r := newRig(t, nil, llmtest.Turn{llmtest.Fail{Kind: c.kind, Status: 400, Message: "key sk-canary at https://host"}})
		o := r.run(t, t.Context())
		if o.Finish != c.finish || o.Err == nil || strings.Contains(o.Text, "canary") || strings.Contains(o.Text, "http") || !strings.HasSuffix(o.Text, ".") {
			t.Errorf("%s: %+v", c.kind, o)
		}
		if e := r.journal.ledger()[0]; e.Outcome != string(c.kind) || e.Amount != 0 || !e.Priced {
			t.Errorf("%s: %+v", c.kind, e)
		}
		seen[o.Text] = true
		if ts := strings.Join(r.types(), " "); ts != "error final" {
			t.Errorf("%s: %s", c.kind, ts)
		}
	}
	if len(seen) < 7 {
		t.Errorf("few texts: %v", seen)
	}
}

func TestABudgetThatIsUsedUpEndsTheTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)), calls(llmtest.Call{ID: "c1", Name: "echo"}), text("never"))
	r.journal.limit = 3 * costs.USD / 100
	o := r.run(t, t.Context())
	if o.Finish != transcript.Budget || !strings.HasPrefix(o.Text, "never\n\n(I had to stop: the session budget is used up: ") || o.Steps != 2 {
		t.Errorf("%+v, spent %d", o, r.journal.spent())
	}
	if _, ok := errors.AsType[*costs.BudgetError](o.Err); !ok {
		t.Errorf("%v", o.Err)
	}
}

func TestAModelWithoutAPriceIsCountedAsUnknown(t *testing.T) {
	t.Parallel()
	for _, p := range []agent.Prices{nil, prices{}} {
		r := newRig(t, nil, text("hi"))
		r.loop.Prices, r.model.ModelName = p, "unheard-of"
		o := r.run(t, t.Context())
		if e := r.journal.ledger()[0]; o.Priced || e.Priced || e.Amount != 0 || e.Price != nil || e.Usage.Input == 0 {
			t.Errorf("%+v, %+v", o, e)
		}
	}
}

// TX04
func TestAnAnswerWithoutUsageIsEstimated(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, llmtest.Turn{llmtest.Text("123456789"), llmtest.Usage{}})
	r.run(t, t.Context())
	e := r.journal.ledger()[0]
	if want := llm.Estimate(r.lastRequest()); e.Usage.Input != want || e.Usage.Output != 3 || e.Usage.Source != costs.Estimated || e.State != costs.Interrupted || e.Upper < e.Amount {
		t.Errorf("%+v, want input %d", e, want)
	}
}

func TestReportedUsageOfACutStreamIsKeptAndItsOutputRaised(t *testing.T) {
	t.Parallel()
	u := llmtest.Usage{Input: 7, CacheRead: 11, Output: 1, Source: costs.Reported}
	r := newRig(t, nil, llmtest.Turn{u, llmtest.Text("12345678"), llmtest.Cut{}})
	r.run(t, t.Context())
	e := r.journal.ledger()[0]
	if e.Usage.Input != 7 || e.Usage.CacheRead != 11 || e.Usage.Output != 2 || e.State != costs.Interrupted {
		t.Errorf("%+v", e)
	}
}

// careless is a model that breaks the rules of llm.Model.
type careless struct {
	*llmtest.Script
	events []llm.Event
	err    error
}

func (c careless) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, e := range c.events {
			if !yield(e, nil) {
				return
			}
		}
		if c.err != nil {
			yield(llm.Event{}, c.err)
		}
	}
}

func TestAModelThatBreaksItsPromiseIsBilledAndNotTriedAgain(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]careless{
		"no end":      {events: []llm.Event{{Type: llm.ContentDelta, Text: "abcd"}}},
		"plain error": {events: []llm.Event{{Type: llm.ContentDelta, Text: "abcd"}}, err: errors.New("x")},
	} {
		r := newRig(t, nil)
		m.Script = r.model
		r.turn.Model, r.loop.Retry = m, always
		if o := r.run(t, t.Context()); o.Finish != transcript.Failed {
			t.Errorf("%s: %+v", name, o)
		}
		if e := r.journal.ledger(); len(e) != 1 || e[0].Usage.Output != 1 || e[0].State != costs.Interrupted {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestAJournalThatFailsEndsTheRunAtOnce(t *testing.T) {
	t.Parallel()
	for op := 1; op <= 7; op++ {
		r := newRig(t, setOf(t, tool(t, "write", tools.Write, echo)), calls(llmtest.Call{ID: "c", Name: "write"}), text("ok"))
		r.journal.killAt = op
		_, err := r.loop.Run(t.Context(), r.turn, nil)
		if !errors.Is(err, errKilled) || r.journal.ops != op {
			t.Errorf("operation %d: %v after %d", op, err, r.journal.ops)
		}
	}
}

// abuse M3: what a provider bills beyond what was reserved is booked, and marked.
func TestAnOverrun(t *testing.T) {
	t.Parallel()
	for output, over := range map[int64]bool{100: false, 100_000: true} {
		u := llmtest.Usage{Input: 7, Output: output, Source: costs.Reported}
		r := newRig(t, nil, llmtest.Turn{u, llmtest.Text("hi")})
		r.turn.MaxTokens = 1000
		r.run(t, t.Context())
		e := r.journal.ledger()[0]
		upper := r.journal.reserved[0]
		if e.State != costs.Settled || (e.Amount > upper) != over || e.Overrun != max(0, e.Amount-upper) {
			t.Errorf("%d tokens: %+v, reserved %s", output, e, upper)
		}
	}
}

// What processes did that were killed is no refusal: a take tries as often as if it were the first.
func TestATakeTriesAgainHoweverManyTriesWereCutOffBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, fail(llm.Overloaded, 529), text("at last"))
	r.loop.Retry = llm.Retry{Max: 1, Base: time.Nanosecond, Cap: time.Nanosecond, Window: time.Hour}
	r.turn.Tries = 5
	if o := r.run(t, t.Context()); o.Text != "at last" {
		t.Errorf("%+v", o)
	}
}
