package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/agent"
	"parley/agent/pressure"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
)

func thinkingHard() llm.Parameters {
	half := 0.5
	return llm.Parameters{Temperature: &half, TopP: &half, Effort: "high", Thinking: llm.Budgeted, Budget: 2000, Summary: "auto"}
}

// requirements B02: every request of a turn asks in the same way, the last one and that for a
// summary too: what the provider has cached of the conversation was read with it.
func TestEveryRequestOfATurnAsksInTheSameWay(t *testing.T) {
	t.Parallel()
	long := newLong(t, nil, llmtest.Text("<summary>short</summary>"))
	short := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)), calls(llmtest.Call{ID: "c", Name: "echo", Input: `{"text":"a"}`}), text("as far as I got"))
	short.turn.MaxSteps = 1
	for name, r := range map[string]*fixture{"summary": long, "last words": short} {
		r.turn.Parameters = thinkingHard()
		r.run(t, t.Context())
		sent := r.model.Requests()
		if len(sent) != 2 || len(r.journal.asked) != 2 || name == "summary" != asksForSummary(sent[0]) {
			t.Fatalf("%s: %d requests", name, len(sent))
		}
		for i, q := range sent {
			if d := cmp.Diff(thinkingHard(), q.Parameters); d != "" {
				t.Errorf("%s, request %d (-want +got):\n%s", name, i+1, d)
			}
			if f := llm.TemplateOf(r.model, q); f.Name() != r.journal.asked[i].Template {
				t.Errorf("%s, request %d: kept under another template", name, i+1)
			}
		}
	}
}

// A number of thinking tokens is part of the output tokens: those of a summary's words come
// on top of it.
func TestARequestForASummaryHasRoomForTheThinking(t *testing.T) {
	t.Parallel()
	r := newLong(t, nil, llmtest.Text("<summary>short</summary>"))
	r.turn.Window, r.turn.MaxTokens = 1_000_000, 60_000
	r.turn.Parameters = thinkingHard()
	r.loop.Pressure = pressure.Policy{MaxTokens: 8000}
	r.run(t, t.Context())
	sent := r.model.Requests()
	words := int(pressure.AnswerTokens(r.loop.Pressure.Filled().Ladder(r.turn.Window, r.turn.MaxTokens)))
	if q := sent[0]; !asksForSummary(q) || q.MaxTokens != words+q.Budget {
		t.Errorf("%d tokens, of which %d for words and %d to think", q.MaxTokens, words, q.Budget)
	}
}

// requirements F22: a turn has limits for its tools that are not those of the loop.
func TestATurnHasItsOwnLimitsForTools(t *testing.T) {
	t.Parallel()
	var left time.Duration
	look := func(ctx context.Context, _ input, _ tools.Call) (tools.Result, error) {
		at, _ := ctx.Deadline()
		left = time.Until(at).Round(time.Minute)
		return tools.Result{Content: strings.Repeat("long ", 1000)}, nil
	}
	for name, c := range map[string]struct {
		set    func(*agent.Turn)
		limit  time.Duration
		output int
	}{
		"its own":    {func(t *agent.Turn) { t.ToolTimeout, t.ToolOutput = time.Hour, 200 }, time.Hour, 200},
		"the loop's": {func(*agent.Turn) {}, time.Minute, 300},
	} {
		r := newRig(t, setOf(t, tool(t, "look", tools.Read, look)), calls(llmtest.Call{ID: "c1", Name: "look"}), text("ok"))
		r.loop.ToolTimeout, r.loop.ToolOutput = time.Minute, 300
		c.set(&r.turn)
		r.run(t, t.Context())
		if got := len(r.journal.results()[0].Content); left != c.limit || got > c.output || got < c.output-100 {
			t.Errorf("%s: %s, %d bytes", name, left, got)
		}
	}
}
