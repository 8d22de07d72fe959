package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/agent"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a loop with all that it needs.
type fixture struct {
	loop    agent.Loop
	journal *journal
	model   *llmtest.Script
	turn    agent.Turn

	mu     sync.Mutex // guards events
	events []agent.Event
}

func newRig(t *testing.T, set *tools.Set, turns ...llmtest.Turn) *fixture {
	t.Helper()
	r := &fixture{journal: newJournal("hello"), model: llmtest.NewScript(turns...)}
	r.loop = agent.Loop{
		Journal: r.journal, Prices: prices{}, Now: at,
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	r.turn = agent.Turn{ID: "t1", Session: "s1", Channel: "test", Model: r.model, Tools: set, MaxTokens: 1000, Window: 1_000_000}
	return r
}

func (r *fixture) emit(e agent.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// run runs the turn to its end and checks what must always hold.
func (r *fixture) run(t *testing.T, ctx context.Context) agent.Outcome {
	t.Helper()
	o, err := r.loop.Run(ctx, r.turn, r.emit)
	if err != nil {
		t.Fatal(err)
	}
	r.journal.sound(t)
	if got := r.journal.finished[0]; got.Text != o.Text || got.Finish != o.Finish || got.Cost != o.Cost {
		t.Errorf("the journal was told %+v, the caller %+v", got, o)
	}
	if (o.Text == "") != o.Silent {
		t.Errorf("text %q, silent %v", o.Text, o.Silent)
	}
	first := r.turn.Steps == 0 && r.turn.Tries == 0 // an outcome knows its own take only
	if got := r.journal.spent(); first && got != o.Cost {
		t.Errorf("the ledger says %d, the outcome %d", got, o.Cost)
	}
	r.requestsAreSound(t)
	return o
}

func (r *fixture) requestsAreSound(t *testing.T) {
	t.Helper()
	for i, q := range r.model.Requests() {
		if err := transcript.Check(q.Messages); err != nil {
			t.Errorf("request %d: %v", i+1, err)
		}
	}
}

// types are the events but the pieces of streams and the model's reports.
func (r *fixture) types() []string {
	var ts []string
	for _, e := range r.events {
		switch e.Type {
		case agent.TextDelta, agent.ReasoningDelta, agent.ModelCalled:
			continue
		case agent.StepStart, agent.ToolCalled:
			ts = append(ts, string(e.Type)+" "+e.Tool)
		case agent.ToolResulted, agent.StepComplete:
			ts = append(ts, string(e.Type)+" "+e.Tool+" "+e.Status)
		default:
			ts = append(ts, string(e.Type))
		}
	}
	return ts
}

type input struct {
	Text string `json:"text,omitempty"`
}

type runFunc = func(ctx context.Context, in input, c tools.Call) (tools.Result, error)

func tool(t testing.TB, name string, cat tools.Category, run runFunc) tools.Tool {
	t.Helper()
	tl, err := tools.New(name, "does "+name, func(input) tools.Category { return cat }, run)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

func setOf(t testing.TB, ts ...tools.Tool) *tools.Set {
	t.Helper()
	s, err := tools.NewSet(ts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func echo(_ context.Context, in input, _ tools.Call) (tools.Result, error) {
	return tools.Result{Content: "echo " + in.Text}, nil
}

func broken(context.Context, input, tools.Call) (tools.Result, error) {
	return tools.Result{}, errors.New("it broke")
}

// counted counts the runs of a tool.
func counted(n *atomic.Int64, run runFunc) runFunc {
	return func(ctx context.Context, in input, c tools.Call) (tools.Result, error) {
		n.Add(1)
		return run(ctx, in, c)
	}
}

func text(s string) llmtest.Turn { return llmtest.Turn{llmtest.Text(s)} }

func calls(cs ...llmtest.Call) llmtest.Turn {
	var turn llmtest.Turn
	for _, c := range cs {
		turn = append(turn, c)
	}
	return turn
}

// lastRequest is what the model was asked last.
func (r *fixture) lastRequest() llm.Request {
	qs := r.model.Requests()
	return qs[len(qs)-1]
}

func wantResult(t *testing.T, got transcript.ToolResult, id, text string, isError bool) {
	t.Helper()
	if got.ToolCallID != id || got.IsError != isError || !strings.Contains(got.Content, text) {
		t.Errorf("result %+v, want %q for %s, error %v", got, text, id, isError)
	}
}
