package agent_test

import (
	"testing"

	"parley/agent"
	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/transcript"
)

// requirements A06, A07: summaries have a model of their own, which is asked without the choice of
// tools and priced as a summary; where it gives none, the turn's own model does.
func TestSummariser(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		turn   llmtest.Turn
		window int
		calls  int    // of the summariser
		own    int    // summaries that the own model was asked for
		want   string // summary
	}{
		"gives the summary":            {turn: text("what another found"), calls: 1, want: "what another found"},
		"fails":                        {turn: llmtest.Turn{llmtest.Fail{Kind: llm.Auth, Status: 401}}, calls: 1, own: 1, want: "what was said"},
		"gives an empty one":           {turn: text("  "), calls: 1, own: 1, want: "what was said"},
		"refuses":                      {turn: llmtest.Turn{llmtest.Text("no"), llmtest.Finish(transcript.Refusal)}, calls: 1, own: 1, want: "what was said"},
		"has a window that is smaller": {turn: text("never"), window: 4096, own: 1, want: "what was said"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newLong(t, nil, llmtest.Text("what was said"))
			other := &llmtest.Script{ModelName: "other-1", Reply: func(int, llm.Request) llmtest.Turn { return c.turn }}
			window := c.window
			if window == 0 {
				window = 100_000
			}
			r.turn.Summariser = &agent.Fallback{Model: other, Window: window}
			out, err := r.loop.Run(t.Context(), r.turn, nil)
			if err != nil || out.Text != "fine" {
				t.Fatalf("the turn ended %+v, %v", out, err)
			}
			own := 0
			for _, q := range r.model.Requests() {
				if asksForSummary(q) {
					own++
				}
			}
			if len(other.Requests()) != c.calls || own != c.own {
				t.Errorf("the summariser was asked %d times, the own model %d times", len(other.Requests()), own)
			}
			for _, q := range other.Requests() {
				if !asksForSummary(q) || len(q.Tools) != 0 && q.Choice != llm.None {
					t.Errorf("asked %+v", q)
				}
			}
			if os := overlays(r.journal.messages); len(os) != 1 || os[0].Summary != c.want {
				t.Errorf("the history has %+v", os)
			}
			priced := 0
			for _, e := range r.journal.ledger() {
				if e.Labels.Purpose == costs.Summary {
					priced++
				}
			}
			if priced != c.calls+c.own {
				t.Errorf("%d summaries are booked, %d were asked for", priced, c.calls+c.own)
			}
		})
	}
}
