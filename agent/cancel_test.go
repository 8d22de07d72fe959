package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/agent"
	"parley/costs"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// requirements TS05, L01, L02, L04, L05, L09, L11, AH02
func TestS5_5_AStopInTheMiddleOfTheStreamEndsTheTurnCleanly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cause  error
		silent bool
		text   string
	}{
		{agent.ErrStopped, true, ""},
		{fmt.Errorf("by /stop: %w", agent.ErrStopped), true, ""},
		{agent.ErrTurnTimeout, false, "half an ans\n\n(This took too long, so I stopped.)"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		reached := make(chan struct{})
		r := newRig(t, nil, llmtest.Turn{llmtest.Text("half an ans"), llmtest.Notify(reached), llmtest.Wait(nil)}, text("and again"))
		go func() {
			<-reached
			cancel(c.cause)
		}()
		o := r.run(t, ctx)
		if o.Finish != transcript.Canceled || o.Silent != c.silent || o.Text != c.text || !errors.Is(c.cause, o.Err) {
			t.Errorf("%v: %+v", c.cause, o)
		}
		if ms := r.journal.messages; len(ms) != 2 || ms[1].Text() != "half an ans" {
			t.Errorf("%v: the history is %+v", c.cause, ms)
		}
		e := r.journal.ledger()[0]
		if e.State != costs.Interrupted || e.Usage.Source != costs.Estimated || e.Usage.Output != 3 || e.Amount == 0 || e.Upper < e.Amount || e.Outcome != "canceled" {
			t.Errorf("%v: %+v", c.cause, e)
		}
		// TX03: the session is usable.
		r.journal.finished = nil
		r.turn.ID, r.turn.Steps, r.turn.Tries = "t2", 0, 0
		if o, err := r.loop.Run(t.Context(), r.turn, nil); err != nil || o.Text != "and again" {
			t.Errorf("%v: %+v, %v", c.cause, o, err)
		}
		r.requestsAreSound(t)
	}
}

func TestACallGivenUpBeforeItsAnswerBeganMayHaveCostSomething(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	reached := make(chan struct{})
	r := newRig(t, nil, llmtest.Turn{llmtest.Notify(reached), llmtest.Wait(nil)})
	go func() {
		<-reached
		cancel(agent.ErrStopped)
	}()
	r.run(t, ctx)
	e := r.journal.ledger()[0]
	if e.State != costs.Interrupted || e.Lower != 0 || e.Upper == 0 || e.Upper < e.Amount || e.Outcome != "canceled" {
		t.Errorf("%+v", e)
	}
}

// requirements TS08, L02, L04, L08
func TestS5_8_AStopReachesTheRunningTool(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	waits := func(ctx context.Context, _ input, _ tools.Call) (tools.Result, error) {
		cancel(agent.ErrStopped)
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), agent.ErrStopped) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
		return tools.Result{}, ctx.Err()
	}
	r := newRig(t, setOf(t, tool(t, "waits", tools.Write, waits)), calls(llmtest.Call{ID: "c1", Name: "waits"}, llmtest.Call{ID: "c2", Name: "waits"}))
	if o := r.run(t, ctx); o.Finish != transcript.Canceled || !o.Silent {
		t.Errorf("%+v", o)
	}
	for i, res := range r.journal.results() {
		wantResult(t, res, fmt.Sprint("c", i+1), "Tool execution canceled by user", true)
	}
	if len(r.journal.results()) != 2 {
		t.Errorf("%+v", r.journal.results())
	}
	want := strings.Fields(strings.Repeat("step_start tool_call tool_result step_complete ", 2))
	var got []string
	for _, e := range r.types() {
		got = append(got, strings.Fields(e)[0])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
}

// L03
func TestACallThatWasAllowedTooLateDoesNotRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	var ran atomic.Int64
	r := newRig(t, setOf(t, tool(t, "write", tools.Write, counted(&ran, echo))), calls(llmtest.Call{ID: "c1", Name: "write"}))
	r.loop.Gate = func(context.Context, tools.Tool, tools.Call) (tools.Verdict, error) {
		cancel(agent.ErrStopped)
		return tools.Verdict{}, nil
	}
	r.run(t, ctx)
	wantResult(t, r.journal.results()[0], "c1", "canceled by user", true)
	if ran.Load() != 0 || len(r.journal.begun) != 0 {
		t.Errorf("ran %d times, begun %v", ran.Load(), r.journal.begun)
	}
}

// TX02, L06
func TestAStopAfterCallKOfNLeavesNResults(t *testing.T) {
	t.Parallel()
	const n = 4
	for k := 1; k <= n; k++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		ran := 0
		work := func(context.Context, input, tools.Call) (tools.Result, error) {
			if ran++; ran == k {
				cancel(agent.ErrStopped)
			}
			return tools.Result{Content: "real"}, nil
		}
		var batch []llmtest.Call
		for i := range n {
			batch = append(batch, llmtest.Call{ID: fmt.Sprint("c", i+1), Name: "work"})
		}
		r := newRig(t, setOf(t, tool(t, "work", tools.Read, work)), calls(batch...))
		r.run(t, ctx)
		res := r.journal.results()
		if len(res) != n || ran != k {
			t.Fatalf("k=%d: %d results, ran %d", k, len(res), ran)
		}
		for i, got := range res {
			if i < k {
				wantResult(t, got, fmt.Sprint("c", i+1), "real", false)
			} else {
				wantResult(t, got, fmt.Sprint("c", i+1), "Tool execution canceled by user", true)
			}
		}
	}
}

// TX03, L03
func TestATurnThatWasStoppedBeforeItBeganCostsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(agent.ErrStopped)
	r := newRig(t, nil, text("never"))
	if o := r.run(t, ctx); o.Finish != transcript.Canceled || len(r.journal.entries) != 0 || r.model.Remaining() != 1 {
		t.Errorf("%+v, %v", o, r.journal.ledger())
	}
}

func TestAStoppedTakeOverAnswersTheOpenCalls(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, counted(&ran, echo))), calls(llmtest.Call{ID: "c1", Name: "echo"}, llmtest.Call{ID: "c2", Name: "echo"}))
	r.journal.killAt = 5 // messages, reserve, settle, append, append
	if _, err := r.loop.Run(t.Context(), r.turn, nil); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	r.turn = r.journal.resume(r.turn)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(agent.ErrStopped)
	o, err := r.loop.Run(ctx, r.turn, nil)
	r.journal.sound(t)
	if err != nil || o.Finish != transcript.Canceled || ran.Load() != 2 || len(r.journal.results()) != 2 {
		t.Errorf("%+v, %v", o, err)
	}
	wantResult(t, r.journal.results()[1], "c2", "canceled by user", true)
}

func TestAHandoverLeavesTheTurnOpenAndTheMoneyBooked(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{agent.ErrHandover, errors.New("lease lost"), nil} {
		ctx, cancel := context.WithCancelCause(t.Context())
		reached := make(chan struct{})
		r := newRig(t, nil, llmtest.Turn{llmtest.Text("half"), llmtest.Notify(reached), llmtest.Wait(nil)}, text("whole"))
		go func() {
			<-reached
			cancel(cause)
		}()
		_, err := r.loop.Run(ctx, r.turn, r.emit)
		if !errors.Is(err, agent.ErrHandover) || !errors.Is(err, context.Cause(ctx)) {
			t.Errorf("%v: %v", cause, err)
		}
		if len(r.journal.finished) != 0 || len(r.journal.held) != 0 || len(r.journal.entries) != 1 {
			t.Errorf("%v: %+v", cause, r.journal.ledger())
		}
		r.turn = r.journal.resume(r.turn)
		if r.turn.Tries != 1 {
			t.Errorf("tries %d", r.turn.Tries)
		}
		o, err := r.loop.Run(t.Context(), r.turn, nil)
		if err != nil || o.Text != "whole" {
			t.Errorf("%v: %+v, %v", cause, o, err)
		}
		if es := r.journal.ledger(); len(es) != 2 || es[1].Call.Attempt != 2 || es[1].Call.Step != 1 {
			t.Errorf("%v: %+v", cause, es)
		}
	}
}

func TestAToolThatAHandoverInterruptsHasNoResult(t *testing.T) {
	t.Parallel()
	for cat, want := range map[tools.Category]string{tools.Read: "echo", tools.Write: "Error: interrupted, outcome unknown"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		runs := 0
		work := func(ctx context.Context, in input, c tools.Call) (tools.Result, error) {
			if runs++; runs > 1 {
				return echo(ctx, in, c)
			}
			cancel(agent.ErrHandover)
			return tools.Result{}, context.Cause(ctx)
		}
		r := newRig(t, setOf(t, tool(t, "work", cat, work)), calls(llmtest.Call{ID: "c1", Name: "work"}), text("ok"))
		if _, err := r.loop.Run(ctx, r.turn, nil); !errors.Is(err, agent.ErrHandover) || len(r.journal.results()) != 0 {
			t.Fatalf("%s: %v, %+v", cat, err, r.journal.results())
		}
		r.turn = r.journal.resume(r.turn)
		r.run(t, t.Context())
		wantResult(t, r.journal.results()[0], "c1", want, cat == tools.Write)
	}
}

func TestAStopDuringTheWaitForARetryEndsTheTurn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	r := newRig(t, nil, busy(), text("never"))
	r.loop.Retry = always
	r.loop.Wait = func(ctx context.Context, _ time.Duration) error {
		cancel(agent.ErrStopped)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if o := r.run(t, ctx); o.Finish != transcript.Canceled || len(r.journal.entries) != 1 {
		t.Errorf("%+v, %+v", o, r.journal.ledger())
	}
}

func TestAnAnswerThatCameWholeIsDeliveredAlthoughTimeRanOut(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]transcript.FinishReason{
		agent.ErrTurnTimeout: transcript.EndTurn, agent.ErrHandover: transcript.EndTurn, agent.ErrStopped: transcript.Canceled,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		r := newRig(t, nil, text("whole"))
		r.loop.Prices = pricesThen{func() { cancel(cause) }}
		o, err := r.loop.Run(ctx, r.turn, nil)
		if errors.Is(err, agent.ErrHandover) {
			t.Errorf("%v: the answer was thrown away", cause)
		}
		if o.Finish != want {
			t.Errorf("%v: %+v, %v", cause, o, err)
		}
	}
}

// requirements L12
func TestTheLastCommitOfAStoppedTurnHasLittleTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		r := newRig(t, nil)
		r.loop.Journal = stuck{r.journal}
		cancel(agent.ErrStopped)
		began := time.Now()
		_, err := r.loop.Run(ctx, r.turn, nil)
		if err == nil || time.Since(began) != agent.DefaultGrace {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// stuck never finishes anything.
type stuck struct{ *journal }

func (stuck) Finish(ctx context.Context, _ *costs.Settlement, _ agent.Outcome, _ ...transcript.Message) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// pricesThen are asked for the cost when an answer is there, and do something.
type pricesThen struct{ then func() }

func (p pricesThen) Price(provider, model string) (*costs.Price, bool) {
	return prices{}.Price(provider, model)
}

func (p pricesThen) Cost(provider, model string, u costs.Usage) (costs.Amount, *costs.Price, error) {
	p.then()
	return prices{}.Cost(provider, model, u)
}
