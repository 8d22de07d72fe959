package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/agent"
	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// requirements TS01
func TestS5_1_ATextAnswerEndsTheTurnAfterOneCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, text("hi"))
	o := r.run(t, t.Context())
	if o.Finish != transcript.EndTurn || o.Text != "hi" || o.Steps != 1 || !o.Priced || o.Cost == 0 {
		t.Errorf("%+v", o)
	}
	if q := r.lastRequest(); len(q.Tools) != 0 { // TX01, B03
		t.Errorf("tools in the request: %v", q.Tools)
	}
	if n := len(r.journal.messages); n != 2 || r.journal.messages[1].Text() != "hi" {
		t.Errorf("history: %+v", r.journal.messages)
	}
	if es := r.journal.ledger(); len(es) != 1 || es[0].Outcome != "ok" || es[0].State != costs.Settled || es[0].Price == nil {
		t.Errorf("ledger: %+v", es)
	}
}

// requirements TS02, B01, S01
func TestS5_2_AToolsResultGoesBackToTheModel(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)),
		calls(llmtest.Call{ID: "c1", Name: "echo", Input: `{"text":"a"}`}), text("it said a"))
	o := r.run(t, t.Context())
	if o.Text != "it said a" || o.Steps != 2 {
		t.Errorf("%+v", o)
	}
	wantResult(t, r.journal.results()[0], "c1", "echo a", false)
	if q := r.lastRequest(); len(q.Messages) != 3 || q.Messages[2].Role != transcript.Tool || len(q.Tools) != 1 {
		t.Errorf("second request: %+v", q)
	}
}

// requirements TS03, B04, D06, F14, F15, F17
func TestS5_3_AllResultsOfABatchGoBackTogetherAndInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)),
		calls(llmtest.Call{ID: "c1", Name: "echo", Input: `{"text":"a"}`}, llmtest.Call{ID: "c2", Name: "echo", Input: `{"text":"b"}`}, llmtest.Call{ID: "c3", Name: "echo"}),
		text("done"))
	r.run(t, t.Context())
	var ids []string
	for _, res := range r.journal.results() {
		ids = append(ids, res.ToolCallID)
	}
	if !slices.Equal(ids, []string{"c1", "c2", "c3"}) {
		t.Errorf("results: %v", ids)
	}
	if last := r.lastRequest().Messages; len(last) != 3 || len(last[2].Parts) != 3 {
		t.Errorf("request: %+v", last)
	}
	if len(r.journal.messages) != 6 { // user, answer, three results, answer
		t.Errorf("%d messages stored", len(r.journal.messages))
	}
}

// requirements TS04, F11, F12
func TestS5_4_AToolsErrorIsAnAnswerForTheModel(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, tool(t, "fail", tools.Read, broken)),
		calls(llmtest.Call{ID: "c1", Name: "fail"}), text("it did not work"))
	if o := r.run(t, t.Context()); o.Finish != transcript.EndTurn || o.Text != "it did not work" {
		t.Errorf("%+v", o)
	}
	if got := r.journal.results()[0]; got.Content != "Error: it broke" || !got.IsError {
		t.Errorf("%+v", got)
	}
}

// requirements TS06
func TestS5_6_TheLoopGoesOnUntilThereIsOnlyText(t *testing.T) {
	t.Parallel()
	var turns []llmtest.Turn
	for _, s := range []string{"a", "b", "c", "d"} {
		turns = append(turns, calls(llmtest.Call{ID: "same", Name: "echo", Input: `{"text":"` + s + `"}`}))
	}
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)), append(turns, text("end"))...)
	if o := r.run(t, t.Context()); o.Steps != 5 || o.Text != "end" || len(r.journal.results()) != 4 {
		t.Errorf("%+v", o)
	}
}

// TX35, C05, TS07, C03, C04
func TestS5_7_ATurnThatUsedItsStepsIsWrappedUpWithoutTools(t *testing.T) {
	t.Parallel()
	again := calls(llmtest.Call{ID: "c", Name: "echo"})
	for _, c := range []struct {
		name string
		last llmtest.Turn
		want string
		kept string // "": want
	}{
		{"answered", text("as far as I got"), "as far as I got", ""},
		{"asks for tools all the same", append(again, llmtest.Text("well")), "well", ""},
		{"only asks for tools", again, "Stopped: maximum iteration limit reached.", ""},
		{"fails", llmtest.Turn{llmtest.Fail{Kind: llm.Auth}}, "Stopped: maximum iteration limit reached.", ""},
		{"is cut", llmtest.Turn{llmtest.Text("half"), llmtest.Cut{}}, "half\n\n(Stopped: maximum iteration limit reached.)", "half"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)), again, again, c.last)
			r.turn.MaxSteps = 2
			o := r.run(t, t.Context())
			if o.Finish != transcript.MaxIterations || o.Text != c.want || o.Steps != 3 {
				t.Errorf("%+v", o)
			}
			q := r.lastRequest()
			if q.Choice != llm.None || len(q.Tools) != 1 || q.Messages[len(q.Messages)-1].Role != transcript.User {
				t.Errorf("last request: %+v", q)
			}
			kept := c.want
			if c.kept != "" {
				kept = c.kept
			}
			last := r.journal.messages[len(r.journal.messages)-1]
			if last.Role != transcript.Assistant || last.Text() != kept || len(last.Calls()) != 0 || len(r.journal.messages) != 6 {
				t.Errorf("history: %+v", r.journal.messages)
			}
			if !slices.Contains(r.types(), "error") || r.types()[len(r.types())-1] != "final" {
				t.Errorf("events: %v", r.types())
			}
			if len(r.journal.entries) != 3 {
				t.Errorf("ledger: %+v", r.journal.ledger())
			}
		})
	}
}

func TestAnAnswerOnTheLastStepIsAnOrdinaryAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, text("just in time"))
	r.turn.MaxSteps = 1
	if o := r.run(t, t.Context()); o.Finish != transcript.EndTurn || o.Text != "just in time" {
		t.Errorf("%+v", o)
	}
}

// requirements C01, C02
func TestTwentyStepsAreTheDefault(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)))
	r.model.Reply = func(_ int, q llm.Request) llmtest.Turn {
		if q.Choice == llm.None {
			return text("stop")
		}
		return calls(llmtest.Call{ID: "c", Name: "echo"})
	}
	if o := r.run(t, t.Context()); o.Steps != agent.DefaultSteps+1 || o.Finish != transcript.MaxIterations {
		t.Errorf("%+v", o)
	}
}

// TX32, W01, B09, E05, F13, W02
func TestEventsComeInTheirOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo), tool(t, "fail", tools.Read, broken)),
		llmtest.Turn{llmtest.Thinking("hm"), llmtest.Text("let me see"), llmtest.Call{ID: "c1", Name: "echo"}, llmtest.Call{ID: "c2", Name: "fail"}},
		llmtest.Turn{llmtest.Thinking("aha"), llmtest.Text("here")})
	r.run(t, t.Context())
	want := []string{
		"reasoning", "text",
		"step_start echo", "tool_call echo", "tool_result echo ok", "step_complete echo ok",
		"step_start fail", "tool_call fail", "tool_result fail error", "step_complete fail error",
		"reasoning", "final",
	}
	if diff := cmp.Diff(want, r.types()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var streamed strings.Builder
	calls := 0
	for i, e := range r.events {
		if e.Root != "t1" || e.Parent != "" || e.Depth != 0 {
			t.Errorf("event %d belongs to %q, %q, %d", i, e.Root, e.Parent, e.Depth)
		}
		if e.Seq != uint64(i+1) || e.Turn != "t1" || e.Session != "s1" || e.At.IsZero() || e.Step < 1 || e.Step > 2 {
			t.Errorf("event %d: %+v", i, e)
		}
		switch e.Type {
		case agent.TextDelta, agent.ReasoningDelta:
			streamed.WriteString(e.Text + "|")
		case agent.ModelCalled:
			calls++
			if e.Call == nil || e.Call.Entry.Amount == 0 || e.Call.Err != nil || e.Err != nil {
				t.Errorf("model call: %+v", e)
			}
		}
	}
	if streamed.String() != "hm|let me see|aha|here|" || calls != 2 {
		t.Errorf("streamed %q, %d calls", streamed.String(), calls)
	}
}

// requirements B13
func TestALoopNeedsNobodyToListen(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, text("hi"))
	if o, err := r.loop.Run(t.Context(), r.turn, nil); err != nil || o.Text != "hi" {
		t.Errorf("%+v, %v", o, err)
	}
}

// requirements B07
func TestHowAnAnswerEndedIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		turn   llmtest.Turn
		finish transcript.FinishReason
		want   string
		stored string
	}{
		{"cut at the length limit", llmtest.Turn{llmtest.Text("long"), llmtest.Finish(transcript.MaxTokens)}, transcript.MaxTokens, "long\n\n(The answer was cut at the length limit.)", "long"},
		{"refused without words", llmtest.Turn{llmtest.Finish(transcript.Refusal)}, transcript.Refusal, "I cannot help with that.", "I cannot help with that."},
		{"refused with words", llmtest.Turn{llmtest.Text("no"), llmtest.Finish(transcript.Refusal)}, transcript.Refusal, "no", "no"},
		{"refused beside a call", llmtest.Turn{llmtest.Call{ID: "c", Name: "echo"}, llmtest.Finish(transcript.Refusal)}, transcript.Refusal, "I cannot help with that.", "I cannot help with that."},
		{"window is full", llmtest.Turn{llmtest.Text("x"), llmtest.Finish(transcript.ContextLimit)}, transcript.ContextLimit, "x\n\n(The answer was cut: this conversation has become too long.)", "x"},
		{"empty", llmtest.Turn{}, transcript.EndTurn, "I have nothing to add.", "I have nothing to add."},
		{"thinking only", llmtest.Turn{llmtest.Thinking("hm")}, transcript.EndTurn, "I have nothing to add.", "I have nothing to add."},
	} {
		r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)), c.turn)
		o := r.run(t, t.Context())
		if o.Finish != c.finish || o.Text != c.want {
			t.Errorf("%s: %+v", c.name, o)
		}
		if last := r.journal.messages[len(r.journal.messages)-1]; last.Text() != c.stored || len(last.Calls()) != 0 {
			t.Errorf("%s: stored %+v", c.name, last)
		}
	}
}

func TestAPausedAnswerGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, llmtest.Turn{llmtest.Text("part one"), llmtest.Finish("pause_turn")}, text("part two"))
	if o := r.run(t, t.Context()); o.Text != "part two" || o.Steps != 2 {
		t.Errorf("%+v", o)
	}
	if q := r.lastRequest().Messages; len(q) != 2 || q[1].Text() != "part one" {
		t.Errorf("second request: %+v", q)
	}
}

func TestMessagesThatJoinTheTurnReachTheNextCall(t *testing.T) {
	t.Parallel()
	var r *fixture
	say := func(context.Context, input, tools.Call) (tools.Result, error) {
		return tools.Result{Content: "ok"}, nil
	}
	r = newRig(t, setOf(t, tool(t, "say", tools.Read, say)), calls(llmtest.Call{ID: "c", Name: "say"}), text("both"))
	r.journal.onOp = func(op string) {
		if op == "messages" && len(r.journal.results()) == 1 {
			r.journal.add([]transcript.Message{{ID: "u2", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "and this"}}}})
		}
	}
	r.run(t, t.Context())
	if q := r.lastRequest().Messages; q[len(q)-1].Text() != "and this" {
		t.Errorf("%+v", q)
	}
}

// F18, 2.4: what is about to run is said before it runs, in the tool's words, without secrets.
func TestACallIsAnnouncedInTheWordsOfItsTool(t *testing.T) {
	t.Parallel()
	said := false
	var r *fixture
	look, err := tools.New("look", "looks", nil, func(_ context.Context, in input, _ tools.Call) (tools.Result, error) {
		said = slices.ContainsFunc(r.events, func(e agent.Event) bool { return e.Type == agent.ToolCalled })
		return tools.Result{Content: in.Text}, nil
	}, tools.Announcement{Doing: "Looking at", Of: "text"})
	if err != nil {
		t.Fatal(err)
	}
	r = newRig(t, setOf(t, look, tool(t, "echo", tools.Read, echo)),
		calls(llmtest.Call{ID: "c1", Name: "look", Input: `{"text":"hunter2 here"}`}, llmtest.Call{ID: "c2", Name: "echo", Input: `{"text":"x"}`}, llmtest.Call{ID: "c3", Name: "gone"}), text("ok"))
	r.loop.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }
	r.run(t, t.Context())
	var got []string
	for _, e := range r.events {
		if e.Type == agent.ToolCalled {
			got = append(got, strings.Join([]string{e.Tool, e.Doing, e.Of, e.Args}, "|"))
		}
	}
	if diff := cmp.Diff([]string{`look|Looking at|*** here|{"text":"*** here"}`, `echo|||{"text":"x"}`, "gone|||{}"}, got); diff != "" || !said {
		t.Errorf("said before it ran: %v (-want +got)\n%s", said, diff)
	}
}

// W04
func TestEachTypeOfEventsIsOfAFamily(t *testing.T) {
	t.Parallel()
	for f, types := range map[agent.Family][]agent.EventType{
		agent.TaskFamily:    {agent.FinalResponse, agent.Compacting, agent.Compacted, agent.Interrupted, agent.SubagentSpawned, agent.SubagentEnded, agent.GoalCompleted},
		agent.ModelFamily:   {agent.TextDelta, agent.ReasoningDelta, agent.Reasoning, agent.TextDone},
		agent.ToolFamily:    {agent.StepStart, agent.ToolCalled, agent.ToolProgress, agent.ToolResulted, agent.StepComplete},
		agent.MetricsFamily: {agent.ModelCalled},
		agent.WarningFamily: {agent.Retrying, agent.FellBack, agent.Problem, agent.BudgetExceeded, agent.QueueDropped},
	} {
		for _, typ := range types {
			if typ.Family() != f {
				t.Errorf("%s is of %s, want %s", typ, typ.Family(), f)
			}
		}
	}
}
