package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/agent"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// beside is a tool whose calls may stand beside each other and find themselves
// again.
type beside struct{ tools.Tool }

func (beside) Parallel() bool  { return true }
func (beside) Resumable() bool { return true }

// only is a tool with side effects that must not begin twice, whatever it says.
type only struct{ tools.Tool }

func (only) Parallel() bool { return true }

func three() llmtest.Turn {
	var cs []llmtest.Call
	for i := range 3 {
		cs = append(cs, llmtest.Call{ID: fmt.Sprint("c", i+1), Name: "side", Input: fmt.Sprintf(`{"text":"%d"}`, i+1)})
	}
	return calls(cs...)
}

func kinds(r *fixture, of ...agent.EventType) (got []string) {
	for _, e := range r.events {
		if slices.Contains(of, e.Type) {
			got = append(got, string(e.Type)+" "+e.CallID)
		}
	}
	return got
}

// conflict 4
func TestCallsThatMayRunSideBySideAndAreCommittedInTheirOrder(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup // each waits until all three run
	all.Add(3)
	last := make(chan struct{})
	work := func(_ context.Context, in input, c tools.Call) (tools.Result, error) {
		c.Progress("at work")
		all.Done()
		all.Wait()
		if in.Text == "3" {
			close(last) // the last ends first
		} else {
			<-last
		}
		return tools.Result{Content: "did " + in.Text}, nil
	}
	r := newRig(t, setOf(t, beside{tool(t, "side", tools.Write, work)}), three(), text("all done"))
	if o := r.run(t, t.Context()); o.Text != "all done" {
		t.Errorf("%+v", o)
	}
	for i, res := range r.journal.results() {
		wantResult(t, res, fmt.Sprint("c", i+1), fmt.Sprint("did ", i+1), false)
	}
	if len(r.journal.begun) != 0 {
		t.Errorf("noted as begun: %v", r.journal.begun)
	}
	want := []string{
		"step_start c1", "tool_call c1", "step_start c2", "tool_call c2", "step_start c3", "tool_call c3",
		"tool_result c1", "step_complete c1", "tool_result c2", "step_complete c2", "tool_result c3", "step_complete c3",
	}
	if diff := cmp.Diff(want, kinds(r, agent.StepStart, agent.ToolCalled, agent.ToolResulted, agent.StepComplete)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestOnlyWhatMayRunAgainRunsSideBySide(t *testing.T) {
	t.Parallel()
	running := 0 // the race detector sees two at once
	work := func(context.Context, input, tools.Call) (tools.Result, error) {
		running++
		defer func() { running-- }()
		if running != 1 {
			t.Errorf("%d at once", running)
		}
		return tools.Result{}, nil
	}
	for name, tl := range map[string]tools.Tool{"a plain tool": tool(t, "side", tools.Read, work), "side effects": only{tool(t, "side", tools.Write, work)}} {
		r := newRig(t, setOf(t, tl), three(), text("ok"))
		r.run(t, t.Context())
		want := []string{"step_start c1", "tool_result c1", "step_start c2", "tool_result c2", "step_start c3", "tool_result c3"}
		if diff := cmp.Diff(want, kinds(r, agent.StepStart, agent.ToolResulted)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestWhatHappensToOneCallDoesNotHurtThoseBesideIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work runFunc
		gate tools.Gate
		want string
	}{
		"an error": {work: broken, want: "Error: it broke"},
		"a panic":  {work: func(context.Context, input, tools.Call) (tools.Result, error) { panic("oh") }, want: "Error: the tool crashed"},
		"a timeout": {work: func(ctx context.Context, _ input, _ tools.Call) (tools.Result, error) {
			<-ctx.Done()
			return tools.Result{}, ctx.Err()
		}, want: "took longer than"},
		"a denial": {work: echo, gate: func(_ context.Context, _ tools.Tool, c tools.Call) (tools.Verdict, error) {
			if c.ID == "c2" {
				return tools.Verdict{Decision: tools.Deny, Reason: "no"}, nil
			}
			return tools.Verdict{}, nil
		}, want: "Error: Permission denied: no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				work := func(ctx context.Context, in input, tc tools.Call) (tools.Result, error) {
					if in.Text == "2" {
						return c.work(ctx, in, tc)
					}
					return echo(ctx, in, tc)
				}
				r := newRig(t, setOf(t, limited{beside{tool(t, "side", tools.Write, work)}, 50 * time.Millisecond}), three(), text("ok"))
				r.loop.Gate = c.gate
				if o := r.run(t, t.Context()); o.Text != "ok" || len(r.journal.results()) != 3 {
					t.Fatalf("%+v, %+v", o, r.journal.results())
				}
				res := r.journal.results()
				wantResult(t, res[0], "c1", "echo 1", false)
				wantResult(t, res[1], "c2", c.want, true)
				wantResult(t, res[2], "c3", "echo 3", false)
			})
		})
	}
}

func TestAStopLeavesWhatRanSideBySideWithItsResults(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan struct{})
	work := func(ctx context.Context, in input, c tools.Call) (tools.Result, error) {
		switch in.Text {
		case "3":
			defer close(done)
			return echo(ctx, in, c)
		case "1":
			<-done
			cancel(agent.ErrStopped)
		}
		<-ctx.Done()
		return tools.Result{}, context.Cause(ctx)
	}
	batch := append(three(), llmtest.Call{ID: "c4", Name: "later"})
	r := newRig(t, setOf(t, beside{tool(t, "side", tools.Write, work)}, tool(t, "later", tools.Read, echo)), batch)
	if o := r.run(t, ctx); o.Finish != transcript.Canceled {
		t.Errorf("%+v", o)
	}
	res := r.journal.results()
	wantResult(t, res[0], "c1", "canceled by user", true)
	wantResult(t, res[1], "c2", "canceled by user", true)
	wantResult(t, res[2], "c3", "echo 3", false)
	wantResult(t, res[3], "c4", "canceled by user", true)
	if n := len(kinds(r, agent.StepStart)); n != 4 {
		t.Errorf("%d starts were told", n)
	}
}

func TestAPersonsNoComesAfterTheCallsBeforeIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verdict tools.Verdict
		finish  transcript.FinishReason
	}{
		"no":      {tools.Verdict{Decision: tools.Deny, Halt: true}, transcript.PermissionDenied},
		"pending": {tools.Verdict{Decision: tools.Pending}, transcript.Waiting},
	} {
		r := newRig(t, setOf(t, beside{tool(t, "side", tools.Write, echo)}), three())
		r.loop.Gate = func(_ context.Context, _ tools.Tool, tc tools.Call) (tools.Verdict, error) {
			if tc.ID == "c2" {
				return c.verdict, nil
			}
			return tools.Verdict{}, nil
		}
		o, err := r.loop.Run(t.Context(), r.turn, r.emit)
		if err != nil || len(r.journal.results()) != 3 || o.Finish != c.finish {
			t.Errorf("%s: %+v, %v, %+v", name, o, err, r.journal.results())
		}
		wantResult(t, r.journal.results()[0], "c1", "echo 1", false)
	}
}

func TestADoneToolWaitsForThoseBesideIt(t *testing.T) {
	t.Parallel()
	work := func(_ context.Context, in input, _ tools.Call) (tools.Result, error) {
		return tools.Result{Content: "did " + in.Text, Done: in.Text == "2"}, nil
	}
	r := newRig(t, setOf(t, beside{tool(t, "side", tools.Write, work)}), append(three(), llmtest.Call{ID: "c4", Name: "other"}))
	if o := r.run(t, t.Context()); o.Finish != transcript.Done || o.Text != "did 2" {
		t.Errorf("%+v", o)
	}
	res := r.journal.results()
	wantResult(t, res[2], "c3", "did 3", false)
	wantResult(t, res[3], "c4", "skipped", false)
}

// A call that was under way finds itself again; nobody says that its outcome is
// unknown.
func TestAResumableCallRunsAgainAfterADeath(t *testing.T) {
	t.Parallel()
	runs := 0
	work := func(ctx context.Context, in input, c tools.Call) (tools.Result, error) {
		if runs++; runs == 1 {
			return tools.Result{}, fmt.Errorf("store: %w", tools.ErrUnfinished)
		}
		return echo(ctx, in, c)
	}
	r := newRig(t, setOf(t, beside{tool(t, "side", tools.Write, work)}), calls(llmtest.Call{ID: "c1", Name: "side", Input: `{"text":"a"}`}), text("ok"))
	if _, err := r.loop.Run(t.Context(), r.turn, nil); !errors.Is(err, tools.ErrUnfinished) || len(r.journal.finished) != 0 || len(r.journal.results()) != 0 {
		t.Fatalf("%v, %+v", err, r.journal.results())
	}
	r.turn = r.journal.resume(r.turn)
	r.run(t, t.Context())
	wantResult(t, r.journal.results()[0], "c1", "echo a", false)
	if runs != 2 || len(r.journal.begun) != 0 {
		t.Errorf("ran %d times, begun %v", runs, r.journal.begun)
	}
}

func TestWhenTheTurnCannotGoOnWhatRunsBesideItIsEndedAndAwaited(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	ended := false
	work := func(ctx context.Context, in input, c tools.Call) (tools.Result, error) {
		if in.Text == "1" {
			<-began
			return echo(ctx, in, c)
		}
		if in.Text == "2" {
			close(began)
			<-ctx.Done()
			ended = errors.Is(context.Cause(ctx), agent.ErrHandover)
		}
		return tools.Result{}, context.Cause(ctx)
	}
	r := newRig(t, setOf(t, beside{tool(t, "side", tools.Write, work)}), three())
	r.journal.onOp = func(op string) {
		if op == "append" {
			r.journal.killAt = r.journal.ops + 1
		}
	}
	if _, err := r.loop.Run(t.Context(), r.turn, nil); !errors.Is(err, errKilled) || !ended {
		t.Errorf("%v, ended %v", err, ended)
	}
}

func TestAPanicBesideTheTurnIsThePanicOfTheTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, panicky{beside{tool(t, "side", tools.Write, echo)}}), three())
	_, err := r.loop.Run(t.Context(), r.turn, nil)
	if p, ok := errors.AsType[*agent.PanicError](err); !ok || p.Value != "no time" {
		t.Errorf("%v", err)
	}
}

// panicky panics outside of Run.
type panicky struct{ beside }

func (panicky) Timeout(tools.Call) time.Duration { panic("no time") }

type limited struct {
	beside
	limit time.Duration
}

func (l limited) Timeout(tools.Call) time.Duration { return l.limit }

// door is a tool that admits as told.
type door struct {
	beside
	admit func(c tools.Call) (func(context.Context) (tools.Result, error), error)
}

func (d door) Admit(_ context.Context, c tools.Call) (func(context.Context) (tools.Result, error), error) {
	return d.admit(c)
}

func TestCallsAreAdmittedInTheirOrderBeforeAnyRuns(t *testing.T) {
	t.Parallel()
	var admitted []string // without a lock: one after the other, before all runs
	d := door{beside: beside{tool(t, "side", tools.Write, func(context.Context, input, tools.Call) (tools.Result, error) {
		return tools.Result{Content: "not admitted"}, nil
	})}}
	d.admit = func(c tools.Call) (func(context.Context) (tools.Result, error), error) {
		admitted = append(admitted, c.ID)
		switch c.ID {
		case "c2":
			return nil, errors.New("full")
		case "c3":
			panic("at the door")
		}
		return func(context.Context) (tools.Result, error) {
			return tools.Result{Content: fmt.Sprint(c.ID, " saw ", len(admitted))}, nil
		}, nil
	}
	answer := append(three(), llmtest.Call{ID: "c4", Name: "side", Input: `{"text":"4"}`})
	r := newRig(t, setOf(t, d), answer, text("all done"))
	if o := r.run(t, t.Context()); o.Text != "all done" {
		t.Errorf("%+v", o)
	}
	if want := []string{"c1", "c2", "c3", "c4"}; !slices.Equal(admitted, want) {
		t.Errorf("admitted %q", admitted)
	}
	var got []string
	for _, res := range r.journal.results() {
		got = append(got, res.Content)
	}
	if len(got) != 4 || got[0] != "c1 saw 4" || got[1] != "Error: full" || got[2] != "Error: the tool crashed" || got[3] != "c4 saw 4" {
		t.Errorf("results %q", got)
	}
}
