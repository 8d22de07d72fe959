package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/agent"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// TX12, F08, F09
func TestAnUnknownToolIsNamedWithItsNeighboursAndTheTurnGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)),
		calls(llmtest.Call{ID: "c1", Name: "ehco"}, llmtest.Call{ID: "c2", Name: "zzz'\xff" + strings.Repeat("z", 90)}, llmtest.Call{ID: "c3", Name: "echo"}), text("ok"))
	r.run(t, t.Context())
	res := r.journal.results()
	if res[0].Content != "Error: Unknown tool 'ehco'. Did you mean: echo?" || !res[0].IsError {
		t.Errorf("%+v", res[0])
	}
	if !strings.HasPrefix(res[1].Content, "Error: Unknown tool 'zzz") || len(res[1].Content) > 100 {
		t.Errorf("%+v", res[1])
	}
	wantResult(t, res[2], "c3", "echo", false)
}

func TestToolsOfAnAgentWithoutToolsAreUnknown(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, calls(llmtest.Call{ID: "c1", Name: "echo"}), text("ok"))
	r.run(t, t.Context())
	wantResult(t, r.journal.results()[0], "c1", "Unknown tool 'echo'", true)
}

// TX33, S6.2
// (requirements F07, F10)
func TestArgumentsThatDoNotFitAreExplainedAndTheToolDoesNotRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ input, args, want string }{
		{`{"text":`, `{"_raw":"{\"text\":"}`, "not valid JSON"},
		{`ls "x"`, `{"_raw":"ls \"x\""}`, "not valid JSON"},
		{`{"text":"a","Text":"b"}`, `{"_raw":"{\"text\":\"a\",\"Text\":\"b\"}"}`, "differ in case only"},
		{`{"text":1}`, `{"text":1}`, `"text" must be a string, not a whole number`},
		{`{"txt":"a"}`, `{"txt":"a"}`, `did you mean "text"?`},
	} {
		var ran atomic.Int64
		r := newRig(t, setOf(t, tool(t, "echo", tools.Write, counted(&ran, echo))), calls(llmtest.Call{ID: "c1", Name: "echo", Input: c.input}), text("ok"))
		r.run(t, t.Context())
		wantResult(t, r.journal.results()[0], "c1", c.want, true)
		i := slices.IndexFunc(r.events, func(e agent.Event) bool { return e.Type == agent.ToolCalled })
		if got := r.events[i].Args; got != c.args {
			t.Errorf("%s: shown as %s, want %s", c.input, got, c.args)
		}
		if ran.Load() != 0 || len(r.journal.begun) != 0 {
			t.Errorf("%s: it ran", c.input)
		}
	}
}

// TX34, F25
func TestADoneToolEndsTheTurnAndTheRestOfItsBatchIsAnswered(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	done := func(_ context.Context, in input, _ tools.Call) (tools.Result, error) {
		return tools.Result{Content: in.Text, Done: true}, nil
	}
	for content, want := range map[string]string{"finished": "finished", "": "one moment"} {
		r := newRig(t, setOf(t, tool(t, "echo", tools.Read, counted(&ran, echo)), tool(t, "done", tools.Read, done)),
			llmtest.Turn{
				llmtest.Text("one moment"),
				llmtest.Call{ID: "c1", Name: "echo"},
				llmtest.Call{ID: "c2", Name: "done", Input: fmt.Sprintf(`{"text":%q}`, content)},
				llmtest.Call{ID: "c3", Name: "echo"},
				llmtest.Call{ID: "c4", Name: "echo"},
			})
		ran.Store(0)
		o := r.run(t, t.Context())
		if o.Finish != transcript.Done || o.Text != want || ran.Load() != 1 {
			t.Errorf("%+v, ran %d", o, ran.Load())
		}
		res := r.journal.results()
		if len(res) != 4 {
			t.Fatalf("%+v", res)
		}
		wantResult(t, res[2], "c3", "skipped: task already complete", false)
		wantResult(t, res[3], "c4", "skipped: task already complete", false)
		if ts := r.types(); ts[len(ts)-1] != "final" {
			t.Errorf("events %v", ts)
		}
	}
}

// What a person stops has no answer, also when its last tool says that it is done.
func TestAStopInADoneToolEndsTheTurnAsStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	done := func(context.Context, input, tools.Call) (tools.Result, error) {
		cancel(agent.ErrStopped)
		return tools.Result{Content: "finished", Done: true}, nil
	}
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo), tool(t, "done", tools.Read, done)),
		calls(llmtest.Call{ID: "c1", Name: "done"}, llmtest.Call{ID: "c2", Name: "echo"}), text("next"))
	if o := r.run(t, ctx); o.Finish != transcript.Canceled || !o.Silent {
		t.Errorf("%+v", o)
	}
	wantResult(t, r.journal.results()[0], "c1", "finished", false)
	wantResult(t, r.journal.results()[1], "c2", "Tool execution canceled by user", true)
	r.goOn(t)
}

func gate(verdicts map[string]tools.Verdict) tools.Gate {
	return func(_ context.Context, _ tools.Tool, c tools.Call) (tools.Verdict, error) { return verdicts[c.ID], nil }
}

// TX36, F28, F29
func TestADeniedCallIsToldToTheModelAndTheTurnGoesOn(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	r := newRig(t, setOf(t, tool(t, "echo", tools.Write, counted(&ran, echo))), calls(llmtest.Call{ID: "c1", Name: "echo"}, llmtest.Call{ID: "c2", Name: "echo"}), text("ok"))
	r.loop.Gate = gate(map[string]tools.Verdict{"c1": {Decision: tools.Deny, Reason: "not here"}})
	if o := r.run(t, t.Context()); o.Finish != transcript.EndTurn || ran.Load() != 1 || len(r.journal.begun) != 1 {
		t.Errorf("%+v, ran %d, begun %v", o, ran.Load(), r.journal.begun)
	}
	wantResult(t, r.journal.results()[0], "c1", "Error: Permission denied: not here", true)
	if !slices.Contains(r.types(), "tool_result echo denied") {
		t.Errorf("%v", r.types())
	}
}

// TX12, K01, conflict 8
func TestAPersonsNoEndsTheTurnAndCancelsTheRest(t *testing.T) {
	t.Parallel()
	for ask, want := range map[string]string{"": "I stopped, because permission was denied.", "It came too late.": "It came too late."} {
		var ran atomic.Int64
		r := newRig(t, setOf(t, tool(t, "echo", tools.Write, counted(&ran, echo))),
			calls(llmtest.Call{ID: "c1", Name: "echo"}, llmtest.Call{ID: "c2", Name: "echo"}, llmtest.Call{ID: "c3", Name: "echo"}))
		r.loop.Gate = gate(map[string]tools.Verdict{"c2": {Decision: tools.Deny, Halt: true, Ask: ask}})
		if o := r.run(t, t.Context()); o.Finish != transcript.PermissionDenied || o.Text != want || ran.Load() != 1 {
			t.Errorf("%+v, ran %d, want %q", o, ran.Load(), want)
		}
		res := r.journal.results()
		wantResult(t, res[1], "c2", "Error: Permission denied", true)
		wantResult(t, res[2], "c3", "Tool execution canceled by user", true)
	}
}

func TestWithoutAGateAdminToolsDoNotRun(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	r := newRig(t, setOf(t, tool(t, "boom", tools.Admin, counted(&ran, echo))), calls(llmtest.Call{ID: "c1", Name: "boom"}), text("ok"))
	r.run(t, t.Context())
	wantResult(t, r.journal.results()[0], "c1", "Permission denied", true)
	if ran.Load() != 0 {
		t.Error("it ran")
	}
}

func TestATurnEndsBeforeACallThatWaitsForAPerson(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	r := newRig(t, setOf(t, tool(t, "echo", tools.Admin, counted(&ran, echo))),
		append(llmtest.Turn{llmtest.Text("I look")}, calls(llmtest.Call{ID: "c1", Name: "echo"}, llmtest.Call{ID: "c2", Name: "echo"}, llmtest.Call{ID: "c3", Name: "echo"})...), text("never"))
	r.loop.Gate = gate(map[string]tools.Verdict{"c2": {Decision: tools.Pending, Reason: "It waits.", Ask: "May I?"}})
	if o := r.run(t, t.Context()); o.Finish != transcript.Waiting || o.Text != "May I?" || o.Beside != "I look" || o.Steps != 1 || ran.Load() != 1 {
		t.Errorf("%+v, ran %d", o, ran.Load())
	}
	res := r.journal.results()
	wantResult(t, res[1], "c2", "It waits.", false)
	wantResult(t, res[2], "c3", "Not run: a call before it waits for a person's permission.", false)
}

// The call that waited is the first of its own turn, before any model call, and survives a
// process that dies on the way.
func TestATurnBeginsWithTheCallThatWasPermitted(t *testing.T) {
	t.Parallel()
	permitted := &transcript.ToolCall{ID: "again", Name: "echo", Input: `{"text":"hi"}`, Finished: true}
	for name, c := range map[string]struct {
		verdict tools.Verdict
		finish  transcript.FinishReason
		ran     int64
		result  string
	}{
		"yes": {tools.Verdict{}, transcript.EndTurn, 1, "hi"},
		"no":  {tools.Verdict{Decision: tools.Deny, Halt: true, Reason: "Ann refused it"}, transcript.PermissionDenied, 0, "Error: Permission denied: Ann refused it"},
	} {
		var ran atomic.Int64
		r := newRig(t, setOf(t, tool(t, "echo", tools.Admin, counted(&ran, echo))), text("done"))
		r.turn.Permitted = permitted
		boom := errors.New("no store")
		r.loop.Gate = func(context.Context, tools.Tool, tools.Call) (tools.Verdict, error) { return tools.Verdict{}, boom }
		if _, err := r.loop.Run(t.Context(), r.turn, r.emit); !errors.Is(err, boom) {
			t.Fatal(err)
		}
		r.turn = r.journal.resume(r.turn)
		r.loop.Gate = gate(map[string]tools.Verdict{"again": c.verdict})
		o := r.run(t, t.Context())
		if o.Finish != c.finish || ran.Load() != c.ran {
			t.Errorf("%s: %+v, ran %d", name, o, ran.Load())
		}
		wantResult(t, r.journal.results()[0], "again", c.result, name == "no")
		if n := len(r.journal.results()); n != 1 {
			t.Errorf("%s: %d results", name, n)
		}
	}
}

func TestAGateThatFailsLeavesTheTurnOpen(t *testing.T) {
	t.Parallel()
	boom := errors.New("no store")
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)), calls(llmtest.Call{ID: "c1", Name: "echo"}))
	r.loop.Gate = func(context.Context, tools.Tool, tools.Call) (tools.Verdict, error) { return tools.Verdict{}, boom }
	if _, err := r.loop.Run(t.Context(), r.turn, r.emit); !errors.Is(err, boom) || len(r.journal.finished) != 0 {
		t.Errorf("%v", err)
	}
}

// TX18
func TestAPanicInAToolIsAnErrorForTheModel(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, tool(t, "bad", tools.Read, func(context.Context, input, tools.Call) (tools.Result, error) { panic("secret") })),
		calls(llmtest.Call{ID: "c1", Name: "bad"}), text("sorry"))
	r.run(t, t.Context())
	if got := r.journal.results()[0]; got.Content != "Error: the tool crashed" || !got.IsError {
		t.Errorf("%+v", got)
	}
	i := slices.IndexFunc(r.events, func(e agent.Event) bool { return e.Type == agent.Problem })
	if _, ok := errors.AsType[*agent.PanicError](r.events[max(i, 0)].Err); !ok {
		t.Errorf("no problem told: %v", r.types())
	}
}

// TX18, B24
func TestAPanicInTheTurnLeavesItOpenAndIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.model.Reply = func(int, llm.Request) llmtest.Turn { panic("boom") }
	_, err := r.loop.Run(t.Context(), r.turn, r.emit)
	if _, ok := errors.AsType[*agent.PanicError](err); !ok || len(r.journal.finished) != 0 || !slices.Contains(r.types(), "error") {
		t.Errorf("%v, %v", err, r.types())
	}
}

// requirements AF01, AF02, TX31
func TestCallsGetTheFolderOfTheTurnsBegin(t *testing.T) {
	t.Parallel()
	var got []string
	var r *fixture
	cd := func(_ context.Context, _ input, c tools.Call) (tools.Result, error) {
		got = append(got, c.Workspace+" "+c.Dir+" "+strings.Join(c.Env, " "))
		// Neither a tool nor who set up the turn changes what the next call gets.
		c.Env[0] = "mood=bad"
		r.turn.Dir, r.turn.Env = "elsewhere", []string{"mood=none"}
		return tools.Result{Content: "ok"}, nil
	}
	set := setOf(t, tool(t, "cd", tools.Write, cd))
	r = newRig(t, set, calls(llmtest.Call{ID: "c1", Name: "cd"}, llmtest.Call{ID: "c2", Name: "cd"}), calls(llmtest.Call{ID: "c3", Name: "cd"}), text("done"))
	r.turn.Workspace, r.turn.Dir, r.turn.Env = "/ws", "sub", []string{"mood=calm"}
	r.run(t, t.Context())
	if want := slices.Repeat([]string{"/ws sub mood=calm"}, 3); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestS6_4_AToolThatTakesTooLongIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, _ input, _ tools.Call) (tools.Result, error) {
			<-ctx.Done()
			return tools.Result{Content: "half"}, context.Cause(ctx)
		}
		r := newRig(t, setOf(t, tool(t, "slow", tools.Read, slow)), calls(llmtest.Call{ID: "c1", Name: "slow"}), text("too slow"))
		began := time.Now()
		r.run(t, t.Context())
		if got := time.Since(began); got != 120*time.Second {
			t.Errorf("stopped after %s", got)
		}
		if got := r.journal.results()[0]; got.Content != "Error: the tool took longer than 2m0s and was stopped\n\nhalf" {
			t.Errorf("%+v", got)
		}
		if !slices.Contains(r.types(), "tool_result slow timeout") {
			t.Errorf("%v", r.types())
		}
	})
}

type timed struct {
	tools.Tool
	limit time.Duration
}

func (t timed) Timeout(tools.Call) time.Duration { return t.limit }

func TestAToolMayHaveItsOwnTimeLimit(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]time.Duration{0: time.Minute, time.Hour: time.Hour, -1: 0} {
		var got time.Duration
		look := func(ctx context.Context, _ input, _ tools.Call) (tools.Result, error) {
			if at, ok := ctx.Deadline(); ok {
				got = time.Until(at).Round(time.Minute)
			}
			return tools.Result{}, nil
		}
		r := newRig(t, setOf(t, timed{tool(t, "look", tools.Read, look), limit}), calls(llmtest.Call{ID: "c1", Name: "look"}), text("ok"))
		r.loop.ToolTimeout = time.Minute
		r.run(t, t.Context())
		if got != want {
			t.Errorf("limit %s: %s, want %s", limit, got, want)
		}
	}
}

// S6.3, I11
func TestWhatAToolReturnsIsRedactedAndThenCut(t *testing.T) {
	t.Parallel()
	leak := func(_ context.Context, _ input, c tools.Call) (tools.Result, error) {
		c.Progress("hunter2 is near")
		return tools.Result{Content: strings.Repeat("hunter2 ", 100), Metadata: `{"k":"hunter2"}`}, nil
	}
	fail := func(context.Context, input, tools.Call) (tools.Result, error) {
		return tools.Result{}, errors.New("hunter2 was wrong")
	}
	r := newRig(t, setOf(t, tool(t, "leak", tools.Read, leak), tool(t, "fail", tools.Read, fail)),
		calls(llmtest.Call{ID: "c1", Name: "leak", Input: `{"text":"hunter2"}`}, llmtest.Call{ID: "c2", Name: "fail"}), text("ok"))
	r.loop.ToolOutput = 120
	r.loop.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }
	r.run(t, t.Context())
	for _, res := range r.journal.results() {
		if s := res.Content + res.Metadata; strings.Contains(s, "hunter") || len(res.Content) > 120 {
			t.Errorf("%+v", res)
		}
	}
	for _, e := range r.events {
		if strings.Contains(e.Text+e.Args, "hunter") {
			t.Errorf("%+v", e)
		}
	}
}

// 2.7.1
func TestTheSameFailingCallIsNotRunAThirdTime(t *testing.T) {
	t.Parallel()
	var ran, worked atomic.Int64
	same := calls(llmtest.Call{ID: "c", Name: "fail", Input: `{"text":"x"}`})
	r := newRig(t, setOf(t, tool(t, "fail", tools.Read, counted(&ran, broken)), tool(t, "echo", tools.Read, counted(&worked, echo))),
		same, same, same, // twice run, once not
		calls(llmtest.Call{ID: "d", Name: "fail", Input: `{"text":"y"}`}),                                      // another call: runs
		calls(llmtest.Call{ID: "e", Name: "echo"}, llmtest.Call{ID: "c", Name: "fail", Input: `{"text":"x"}`}), // after a success: runs again
		text("I give up"))
	r.run(t, t.Context())
	if ran.Load() != 4 || worked.Load() != 1 {
		t.Errorf("ran %d times", ran.Load())
	}
	wantResult(t, r.journal.results()[2], "c", "failed 2 times in a row and was not run again", true)
}

// F19: a tool reports how far it is, and not more often than people can see.
func TestProgressIsBoundedInItsRate(t *testing.T) {
	t.Parallel()
	now := at()
	work := func(_ context.Context, _ input, c tools.Call) (tools.Result, error) {
		for i := range 10 {
			c.Progress(fmt.Sprint(i))
			now = now.Add(50 * time.Millisecond)
		}
		return tools.Result{Content: "ok"}, nil
	}
	r := newRig(t, setOf(t, tool(t, "work", tools.Read, work)), calls(llmtest.Call{ID: "c1", Name: "work"}), text("ok"))
	r.loop.Now = func() time.Time { return now }
	r.run(t, t.Context())
	var got []string
	for _, e := range r.events {
		if e.Type == agent.ToolProgress {
			got = append(got, e.Text)
		}
	}
	if !slices.Equal(got, []string{"0", "4", "8"}) {
		t.Errorf("reported: %v", got)
	}
}

// F24: what a tool knows of its error decides how often the same call is made, also after
// another worker has taken the turn over, and what the model reads.
func TestTheKindOfAnErrorDecidesHowOftenItIsTriedAgain(t *testing.T) {
	t.Parallel()
	for kind, c := range map[tools.Kind]struct {
		ran  int64
		want string // of the first result
		last string
	}{
		tools.Permanent: {1, "Error: no such thing", "failed, would fail in the same way, and was not run again"},
		tools.Transient: {4, "Error: no such thing\n\nThe same call may succeed if it is made again.", "failed 4 times in a row"},
		"":              {2, "Error: no such thing", "failed 2 times in a row"},
	} {
		var ran atomic.Int64
		fail := func(context.Context, input, tools.Call) (tools.Result, error) {
			if kind == "" {
				return tools.Result{}, errors.New("no such thing")
			}
			return tools.Result{}, tools.Errorf(kind, "no such thing")
		}
		same := calls(llmtest.Call{ID: "c", Name: "fail", Input: `{"text":"x"}`})
		r := newRig(t, setOf(t, tool(t, "fail", tools.Read, counted(&ran, fail))), same, same, same, same, same, text("I give up"))
		r.run(t, t.Context())
		rs := r.journal.results()
		wantResult(t, rs[4], "c", c.last, true)
		if ran.Load() != c.ran || rs[0].Content != c.want || rs[0].Kind != string(kind) {
			t.Errorf("%q: ran %d times; %+v", kind, ran.Load(), rs[0])
		}
	}
}

// F24: a message that joins the turn may have changed what made a call fail for good.
func TestACallThatFailedForGoodIsTriedAgainWhenAPersonSaidMore(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	fail := func(context.Context, input, tools.Call) (tools.Result, error) {
		return tools.Result{}, tools.Errorf(tools.Permanent, "no such file")
	}
	same := calls(llmtest.Call{ID: "c", Name: "fail", Input: `{"text":"x"}`})
	r := newRig(t, setOf(t, tool(t, "fail", tools.Read, counted(&ran, fail))), same, same, text("I give up"))
	r.journal.onOp = func(op string) {
		if op == "messages" && len(r.journal.results()) == 1 {
			r.journal.add([]transcript.Message{{ID: "u2", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "here it is"}}}})
		}
	}
	r.run(t, t.Context())
	if ran.Load() != 2 {
		t.Errorf("ran %d times", ran.Load())
	}
}

func TestCallsWithoutIdsOfTheirOwnGetThem(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)),
		calls(llmtest.Call{ID: "x", Name: "echo", Input: `{"text":"1"}`}, llmtest.Call{ID: "x", Name: "echo", Input: `{"text":"2"}`}, llmtest.Call{Name: "echo", Input: `{"text":"3"}`}), text("ok"))
	r.run(t, t.Context())
	seen := map[string]bool{}
	for i, res := range r.journal.results() {
		if res.ToolCallID == "" || seen[res.ToolCallID] || res.Content != fmt.Sprint("echo ", i+1) {
			t.Errorf("%+v", res)
		}
		seen[res.ToolCallID] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d results", len(seen))
	}
}

// B06, docs/decisions/0063: the reason why an answer ended decides whether its calls are run.
func TestWhyAnAnswerEndedDecidesWhetherItsCallsAreRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why    transcript.FinishReason
		ran    int64
		finish transcript.FinishReason // of the turn
	}{
		{transcript.ToolUse, 2, transcript.EndTurn},
		{transcript.EndTurn, 2, transcript.EndTurn},
		{llm.PauseTurn, 2, transcript.EndTurn},
		{transcript.MaxTokens, 2, transcript.EndTurn},
		{transcript.ContextLimit, 2, transcript.EndTurn},
		{transcript.Refusal, 0, transcript.Refusal},
		{"something new", 0, transcript.EndTurn},
	} {
		var ran atomic.Int64
		r := newRig(t, setOf(t, tool(t, "echo", tools.Write, counted(&ran, echo))), llmtest.Turn{
			llmtest.Text("I look."),
			llmtest.Call{ID: "c1", Name: "echo", Input: `{"text":"a"}`},
			llmtest.Call{ID: "c2", Name: "echo", Input: `{"text":"b"}`},
			llmtest.Finish(c.why),
		}, text("next"))
		o := r.run(t, t.Context())
		if o.Finish != c.finish || ran.Load() != c.ran || (o.Text == "next") != (c.ran > 0) {
			t.Errorf("%s: ran %d, %+v", c.why, ran.Load(), o)
		}
		if c.ran == 0 { // the session is usable, and no call waits for a result
			if got := said(r.goOn(t)); !slices.Equal(got, []string{"user: hello", "assistant: I look.", "user: go on"}) {
				t.Errorf("%s: the next request %q", c.why, got)
			}
		}
	}
	// A tool that the model says it uses, and does not: the turn ends.
	r := newRig(t, nil, llmtest.Turn{llmtest.Text("I look."), llmtest.Finish(transcript.ToolUse)})
	if o := r.run(t, t.Context()); o.Finish != transcript.EndTurn || o.Text != "I look." {
		t.Errorf("%+v", o)
	}
}

// B06: no half call is run.
func TestACallThatALimitCutDoesNotRun(t *testing.T) {
	t.Parallel()
	whole := transcript.ToolCall{ID: "c1", Name: "echo", Input: "{}", Finished: true}
	for name, last := range map[string][]transcript.Part{
		"":                                   {transcript.ToolCall{ID: "c2", Name: "echo", Input: `{"text":`}},
		"said to be whole":                   {transcript.ToolCall{ID: "c2", Name: "echo", Input: `{"text":`, Finished: true}},
		"whose arguments were about to come": {transcript.ToolCall{ID: "c2", Name: "echo", Input: `{}`, Finished: true}},
	} {
		for _, why := range []transcript.FinishReason{transcript.MaxTokens, transcript.ContextLimit} {
			var ran atomic.Int64
			r := newRig(t, setOf(t, tool(t, "echo", tools.Read, counted(&ran, echo))), text("ok"))
			r.journal.add([]transcript.Message{{
				ID: "t1#1", Role: transcript.Assistant, Parts: append(append([]transcript.Part{whole}, last...), transcript.Finish{Reason: why}),
			}})
			r.turn.Steps = 1
			r.run(t, t.Context())
			wantResult(t, r.journal.results()[0], "c1", "echo", false)
			wantResult(t, r.journal.results()[1], "c2", "reached the output limit inside this call; it was not run", true)
			if ran.Load() != 1 {
				t.Errorf("a call %s, %s: ran %d times", name, why, ran.Load())
			}
		}
	}
}

func TestAnEarlierTurnsOpenCallsAreLeftAlone(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	r := newRig(t, setOf(t, tool(t, "echo", tools.Write, counted(&ran, echo))), text("fresh"))
	r.journal.messages = []transcript.Message{
		{ID: "u0", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "old"}}},
		{ID: "t0#1", Role: transcript.Assistant, Parts: []transcript.Part{transcript.ToolCall{ID: "c1", Name: "echo", Input: "{}", Finished: true}}},
		{ID: "u1", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "new"}}},
	}
	o, err := r.loop.Run(t.Context(), r.turn, r.emit)
	if err != nil || o.Text != "fresh" || ran.Load() != 0 {
		t.Errorf("%+v, %v, ran %d", o, err, ran.Load())
	}
	r.requestsAreSound(t)
}

// abuse M2: of one answer 32 calls are run, and the tools of a turn give 2 MiB.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	many := func(n, from int) llmtest.Turn {
		var turn llmtest.Turn
		for i := range n {
			turn = append(turn, llmtest.Call{ID: fmt.Sprint("c", from+i), Name: "echo", Input: `{"text":"x"}`})
		}
		return turn
	}
	t.Run("in an answer", func(t *testing.T) {
		t.Parallel()
		for _, category := range []tools.Category{tools.Read, tools.Write} {
			var ran atomic.Int64
			r := newRig(t, setOf(t, tool(t, "echo", category, counted(&ran, echo))), many(100, 0), many(1, 100), text("ok"))
			r.run(t, t.Context())
			res := r.journal.results()
			if ran.Load() != 33 || len(res) != 101 || res[100].IsError { // one that was not run has not failed
				t.Fatalf("%d ran, %d results, the last %+v", ran.Load(), len(res), res[len(res)-1])
			}
			res = res[:100]
			for i, re := range res {
				if re.IsError != (i >= 32) || re.IsError && !strings.Contains(re.Content, "first 32") {
					t.Errorf("result %d: %+v", i, re)
				}
			}
		}
	})
	t.Run("in what they return", func(t *testing.T) {
		t.Parallel()
		const each = 100 << 10
		long := func(context.Context, input, tools.Call) (tools.Result, error) {
			return tools.Result{Content: strings.Repeat("x", each)}, nil
		}
		r := newRig(t, setOf(t, tool(t, "echo", tools.Read, long)), many(15, 0), many(15, 15), text("ok"))
		// As in a store: without its opening the turn's overlays would all have one id, and cutting
		// results, which the next request needs when a turn returns too much, would never end.
		r.journal.messages[0].ID = transcript.MessageID{Turn: r.turn.ID, Kind: transcript.Opening}.String()
		r.loop.ToolOutput = each
		r.run(t, t.Context())
		total, whole := 0, 0
		for _, re := range r.journal.results() {
			total += len(re.Content)
			if len(re.Content) == each {
				whole++
			} else if !strings.HasSuffix(re.Content, "ask for less at a time]") {
				t.Errorf("cut without a word: …%q", re.Content[max(0, len(re.Content)-100):])
			}
		}
		if whole != (2<<20)/each || total > 2<<20+30*512 {
			t.Errorf("%d whole, %d bytes in all", whole, total)
		}
	})
}
