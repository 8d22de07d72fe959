package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
)

// A summary that is given up is the turn's impatience and nothing else: it may be billed, it
// says nothing of the model, and no other model is asked in its place. (requirements B21;
// docs/decisions/0072)
func TestASummaryThatIsGivenUp(t *testing.T) {
	t.Parallel()
	silent := func(_ int, q llm.Request) llmtest.Turn {
		if asksForSummary(q) {
			return llmtest.Turn{llmtest.Wait(make(chan struct{}))}
		}
		return text("fine")
	}
	for name, tc := range map[string]struct {
		change func(r *fixture, other *llmtest.Script)
		asked  string // the model that did not answer
	}{
		"of the agent's own model": {func(*fixture, *llmtest.Script) {}, "scripted-1"},
		"with a model to fall back to": {func(r *fixture, other *llmtest.Script) {
			r.turn.Fallbacks = []agent.Fallback{{Model: other, Window: 10_000}}
		}, "scripted-1"},
		"of a summariser": {func(r *fixture, other *llmtest.Script) {
			r.turn.Summariser = &agent.Fallback{Model: other, Window: 100_000}
		}, "other-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newLong(t, nil)
				r.journal.messages = talk(9, 1000)
				circuits := &llm.Circuits{Failures: 1}
				r.loop.Now, r.loop.Wait, r.loop.Preparation, r.loop.Circuit = nil, nil, 30*time.Second, circuits
				r.model.Reply = silent
				tc.change(r, &llmtest.Script{ModelName: "other-1", Reply: silent})
				began := time.Now()
				o := r.run(t, t.Context())
				if took := time.Since(began); o.Text != "fine" || took != 30*time.Second {
					t.Errorf("the turn took %s and ended with %+v", took, o)
				}
				if open := circuits.Open(); len(open) != 0 {
					t.Errorf("circuits are open: %+v", open)
				}
				booked := r.journal.ledger()
				if len(booked) != 2 || booked[1].Labels.Model != "scripted-1" {
					t.Fatalf("booked: %+v", booked)
				}
				if e := booked[0]; e.Call.Purpose != costs.Summary || e.Labels.Model != tc.asked || e.State != costs.Interrupted || e.Upper == 0 && e.Priced {
					t.Errorf("the summary is booked as %+v", e)
				}
			})
		})
	}
}
