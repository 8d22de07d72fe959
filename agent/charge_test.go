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
	"parley/costs"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// pricedSet is a set whose tool look costs a cent.
func pricedSet(t *testing.T, ts ...tools.Tool) *tools.Set {
	t.Helper()
	return setOf(t, ts...).WithPrices(map[string]costs.Amount{"look": price, "write": price})
}

// toolRows are the ledger's rows of calls of tools.
func (j *journal) toolRows() (rows []costs.Entry) {
	for _, e := range j.ledger() {
		if e.Call.Purpose == costs.Tool {
			rows = append(rows, e)
		}
	}
	return rows
}

func failing(err error) runFunc {
	return func(context.Context, input, tools.Call) (tools.Result, error) { return tools.Result{}, err }
}

// waiting is a tool whose service was not asked.
func waiting(context.Context, input, tools.Call) (tools.Result, error) {
	return tools.Result{Content: "not yet", Unpaid: true}, nil
}

// requirements M07: each call of a tool that has a price is a row of the ledger, whatever came
// of it.
func TestACallOfAToolWithAPriceIsARowOfTheLedger(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  runFunc
		want costs.Entry
	}{
		"it gave a result":            {echo, costs.Entry{State: costs.Settled, Outcome: "ok", Amount: price}},
		"it failed":                   {broken, costs.Entry{State: costs.Interrupted, Outcome: "error", Upper: price}},
		"it panicked":                 {func(context.Context, input, tools.Call) (tools.Result, error) { panic("oops") }, costs.Entry{State: costs.Interrupted, Outcome: "error", Upper: price}},
		"nobody charges for it":       {failing(tools.Unpaid(errors.New("not sent"))), costs.Entry{State: costs.Settled, Outcome: "error"}},
		"nor for this one":            {failing(tools.Unpaid(tools.Errorf(tools.Permanent, "no"))), costs.Entry{State: costs.Settled, Outcome: "error"}},
		"it asked nobody":             {waiting, costs.Entry{State: costs.Settled, Outcome: "ok"}},
		"nobody knows who charges it": {failing(tools.Errorf(tools.Permanent, "no")), costs.Entry{State: costs.Interrupted, Outcome: "error", Upper: price}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, pricedSet(t, tool(t, "look", tools.Read, c.run)), calls(llmtest.Call{ID: "c1", Name: "look"}), text("ok"))
			o := r.run(t, t.Context())
			rows := r.journal.toolRows()
			if len(rows) != 1 {
				t.Fatalf("%d rows: %+v", len(rows), rows)
			}
			e := rows[0]
			if e.State != c.want.State || e.Outcome != c.want.Outcome || e.Amount != c.want.Amount || e.Upper != c.want.Upper || !e.Priced {
				t.Errorf("%+v", e)
			}
			if want := (costs.Labels{Provider: "tools", Model: "look", Channel: "test", Purpose: costs.Tool}); e.Labels != want {
				t.Errorf("labels %+v", e.Labels)
			}
			if want := (costs.CallID{Turn: "t1", Step: 1, Attempt: 1, Purpose: costs.Tool}); e.Call != want {
				t.Errorf("call %+v", e.Call)
			}
			if reckoned, err := e.Price.Cost(e.Usage); err != nil || reckoned != e.Amount {
				t.Errorf("by its own price it costs %s, %v", reckoned, err)
			}
			if o.Steps != 2 || o.Cost != r.journal.spent() {
				t.Errorf("%+v, spent %s", o, r.journal.spent())
			}
		})
	}
}

// A call that does not begin costs nothing.
func TestACallThatIsRefusedBeforeItBeginsCostsNothing(t *testing.T) {
	t.Parallel()
	set := pricedSet(t, tool(t, "look", tools.Admin, echo), tool(t, "write", tools.Write, echo))
	r := newRig(t, set, calls(
		llmtest.Call{ID: "c1", Name: "look"},                            // the gate denies it
		llmtest.Call{ID: "c2", Name: "write", Input: `{"text":1}`},      // the schema
		llmtest.Call{ID: "c3", Name: "writ"},                            // there is none
		llmtest.Call{ID: "c4", Name: "write", Input: `{"text":"yes"}`}), // it runs
		text("ok"))
	r.run(t, t.Context())
	if rows := r.journal.toolRows(); len(rows) != 1 || rows[0].Call.ToolIndex() != 3 {
		t.Errorf("%+v", rows)
	}
}

// What a tool costs is named by its own name, also when it was called by another one.
func TestAToolThatIsCalledByAnotherNameHasItsPrice(t *testing.T) {
	t.Parallel()
	r := newRig(t, pricedSet(t, aliased{tool(t, "look", tools.Read, echo)}), calls(llmtest.Call{ID: "c1", Name: "peek"}), text("ok"))
	r.run(t, t.Context())
	if rows := r.journal.toolRows(); len(rows) != 1 || rows[0].Labels.Model != "look" || rows[0].Amount != price {
		t.Errorf("%+v", rows)
	}
}

type aliased struct{ tools.Tool }

func (aliased) Aliases() []string { return []string{"peek"} }

// A call that the budgets do not allow does not run. The model reads why, and the turn goes on.
func TestABudgetRefusesACallOfATool(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	set := pricedSet(t, tool(t, "look", tools.Read, counted(&ran, echo)), tool(t, "write", tools.Write, counted(&ran, echo)), tool(t, "free", tools.Read, counted(&ran, echo)))
	r := newRig(t, set, calls(
		llmtest.Call{ID: "c1", Name: "look"}, llmtest.Call{ID: "c2", Name: "write"}, llmtest.Call{ID: "c3", Name: "free"}), text("without it"))
	r.loop.Why = why
	r.journal.limit = 10 * costs.USD
	r.journal.onOp = func(op string) { // no room for a cent between the model calls
		switch op {
		case "reserve tool":
			r.journal.limit = r.journal.spent() + price - 1
		case "append":
			r.journal.limit = 10 * costs.USD
		}
	}
	o := r.run(t, t.Context())
	if o.Text != "without it" || o.Err != nil || ran.Load() != 1 || len(r.journal.toolRows()) != 0 {
		t.Fatalf("%+v, ran %d, rows %+v", o, ran.Load(), r.journal.toolRows())
	}
	var told []string // requirements 2.4
	for _, e := range r.events {
		if e.Type == agent.BudgetExceeded {
			told = append(told, fmt.Sprint(e.CallID, " ", e.Tool, " ", e.Step, " ", e.Err != nil))
		}
	}
	if want := []string{"c1 look 1 true", "c2 write 1 true"}; !slices.Equal(told, want) {
		t.Errorf("events tell of %q, want %q", told, want)
	}
	for i, id := range []string{"c1", "c2"} {
		wantResult(t, r.journal.results()[i], id, "Error: not run: the budget does not allow it: of the session budget. Go on without it", true)
	}
	wantResult(t, r.journal.results()[2], "c3", "echo", false)
}

// Where somebody may raise the budget the turn ends with the question, as at a model call.
func TestATurnPausesAtACallThatABudgetRefuses(t *testing.T) {
	t.Parallel()
	set := pricedSet(t, tool(t, "free", tools.Read, echo), tool(t, "look", tools.Read, echo))
	r := newRig(t, set, calls(
		llmtest.Call{ID: "c1", Name: "free"}, llmtest.Call{ID: "c2", Name: "look"}, llmtest.Call{ID: "c3", Name: "free"}), text("never"))
	r.journal.limit = 10 * costs.USD
	r.journal.onOp = func(op string) {
		if op == "reserve tool" {
			r.journal.limit = r.journal.spent()
		}
	}
	r.loop.Pause = func(_ context.Context, e *costs.BudgetError) (string, error) {
		if e.Need != price {
			t.Errorf("%+v", e)
		}
		return "May I?", nil
	}
	o := r.run(t, t.Context())
	if o.Finish != transcript.Waiting || o.Text != "May I?" || o.BudgetError() == nil || r.model.Remaining() != 1 || len(r.journal.toolRows()) != 0 {
		t.Fatalf("%+v", o)
	}
	res := r.journal.results()
	wantResult(t, res[0], "c1", "echo", false)
	wantResult(t, res[1], "c2", "Somebody was asked for a higher budget", true)
	wantResult(t, res[2], "c3", "Not run", false)
	for _, broken := range []error{errors.New("nobody knows whom to ask")} {
		r := newRig(t, set, calls(llmtest.Call{ID: "c2", Name: "look"}))
		r.journal.onOp = func(op string) {
			if op == "reserve tool" {
				r.journal.limit = r.journal.spent()
			}
		}
		r.loop.Pause = func(context.Context, *costs.BudgetError) (string, error) { return "", broken }
		if _, err := r.loop.Run(t.Context(), r.turn, nil); !errors.Is(err, broken) || len(r.journal.finished) != 0 {
			t.Errorf("%v", err)
		}
	}
}

// A call that broke off books nothing and holds its price, however the turn goes on.
// (docs/decisions/0044)
func TestACallThatBreaksOffHoldsItsPrice(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"stopped": agent.ErrStopped, "too slow": agent.ErrTurnTimeout, "handed over": agent.ErrHandover} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			hang := func(ctx context.Context, in input, c tools.Call) (tools.Result, error) {
				if c.ID == "c1" { // the others have their results
					return echo(ctx, in, c)
				}
				cancel(cause)
				<-ctx.Done()
				return tools.Result{}, context.Cause(ctx)
			}
			r := newRig(t, pricedSet(t, tool(t, "look", tools.Read, hang)), calls(llmtest.Call{ID: "c1", Name: "look"}, llmtest.Call{ID: "c2", Name: "look"}), text("never"))
			o, err := r.loop.Run(ctx, r.turn, nil)
			if errors.Is(cause, agent.ErrHandover) != (err != nil) {
				t.Fatalf("%+v, %v", o, err)
			}
			rows := r.journal.toolRows()
			if len(rows) != 2 || rows[0].Outcome != "ok" || rows[1].Outcome != "interrupted" || rows[1].Amount != 0 || rows[1].Upper != price || rows[1].State != costs.Interrupted {
				t.Errorf("%+v", rows)
			}
			if len(r.journal.held) != 0 {
				t.Errorf("held %+v", r.journal.held)
			}
		})
	}
}

// A call of which its tool knows that it was never made costs nothing, also when its time or the turn
// ended first.
func TestACallThatWasNotMadeInTimeCostsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause   error // of the end of the turn; nil: that of the call ends first
		outcome string
	}{
		"its time is over":     {nil, agent.StatusTimeout},
		"the turn is stopped":  {agent.ErrStopped, agent.StatusCancelled},
		"the turn is too slow": {agent.ErrTurnTimeout, agent.StatusCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				r := newRig(t, pricedSet(t, tool(t, "look", tools.Read, func(ctx context.Context, _ input, _ tools.Call) (tools.Result, error) {
					if c.cause != nil {
						cancel(c.cause)
					}
					<-ctx.Done()
					return tools.Result{}, tools.Unpaid(context.Cause(ctx))
				})), calls(llmtest.Call{ID: "c1", Name: "look"}), text("ok"))
				r.loop.ToolTimeout = time.Second
				if _, err := r.loop.Run(ctx, r.turn, nil); err != nil {
					t.Fatal(err)
				}
				rows := r.journal.toolRows()
				if len(rows) != 1 || rows[0].State != costs.Settled || rows[0].Amount != 0 || rows[0].Upper != 0 || rows[0].Outcome != c.outcome || len(r.journal.results()) != 1 {
					t.Errorf("%+v, %+v", rows, r.journal.results())
				}
			})
		})
	}
}

// What a new message cut off is booked too, and the turn goes on.
func TestACallThatIsGivenUpForANewMessageIsBooked(t *testing.T) {
	t.Parallel()
	var s *steering
	r := newRig(t, pricedSet(t, tool(t, "look", tools.Read, func(ctx context.Context, _ input, _ tools.Call) (tools.Result, error) {
		s.cuts <- struct{}{}
		<-ctx.Done()
		return tools.Result{}, context.Cause(ctx)
	})), calls(llmtest.Call{ID: "c1", Name: "look"}), text("ok"))
	s = r.steer("wait")
	o := r.run(t, t.Context())
	rows := r.journal.toolRows()
	if o.Text != "ok" || len(rows) != 1 || rows[0].Outcome != "interrupted" || rows[0].Upper != price {
		t.Errorf("%+v, %+v", o, rows)
	}
}

// A take-over reserves nothing for a call with side effects that was begun; one that only
// reads is made again, and has a row of its own.
func TestATakeOverOfACallWithAPrice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool string
		rows int
	}{"made again": {"look", 2}, "not made again": {"write", 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			set := pricedSet(t, tool(t, "look", tools.Read, counted(&ran, echo)), tool(t, "write", tools.Write, counted(&ran, echo)))
			r := newRig(t, set, calls(llmtest.Call{ID: "c1", Name: c.tool}), text("ok"))
			r.journal.onOp = func(op string) {
				if op == "settle" && ran.Load() == 1 {
					r.journal.killAt = r.journal.ops + 1
				}
			}
			if _, err := r.loop.Run(t.Context(), r.turn, nil); !errors.Is(err, errKilled) {
				t.Fatalf("%v", err)
			}
			r.journal.onOp = nil
			r.turn = r.journal.resume(r.turn)
			o := r.run(t, t.Context())
			rows := r.journal.toolRows()
			if o.Text != "ok" || len(rows) != c.rows || int(ran.Load()) != c.rows {
				t.Fatalf("%+v, ran %d, rows %+v", o, ran.Load(), rows)
			}
			if rows[0].Outcome != "interrupted" || rows[0].Amount != 0 || rows[0].Upper != price {
				t.Errorf("%+v", rows[0])
			}
			if c.rows == 2 && (rows[1].Amount != price || rows[1].Call.Attempt != costs.MaxToolCalls+1) {
				t.Errorf("%+v", rows[1])
			}
			if c.rows == 1 && !strings.Contains(r.journal.results()[0].Content, "outcome unknown") {
				t.Errorf("%+v", r.journal.results())
			}
		})
	}
}

// The call that a person permitted comes before any model call, and costs what others do.
func TestACallThatWasPermittedCostsItsPrice(t *testing.T) {
	t.Parallel()
	var seen costs.Amount
	r := newRig(t, pricedSet(t, tool(t, "look", tools.Admin, func(ctx context.Context, in input, c tools.Call) (tools.Result, error) {
		seen = c.Price
		return echo(ctx, in, c)
	})), text("ok"))
	r.loop.Gate = tools.ChainGates()
	r.turn.Permitted = &transcript.ToolCall{ID: "c1", Name: "look", Input: `{}`, Finished: true}
	r.run(t, t.Context())
	rows := r.journal.toolRows()
	if len(rows) != 1 || rows[0].Call.Step != 0 || rows[0].Amount != price || seen != price {
		t.Fatalf("%+v, the tool saw %s", rows, seen)
	}
	if back, err := costs.ParseCallID(rows[0].Call.String()); err != nil || back != rows[0].Call {
		t.Errorf("%v, %v", back, err)
	}
}

// The price is booked in the commit that stores the result: whoever takes the turn over behind it
// finds both, and behind nothing else one of them.
func TestATakeOverOfAPaidCall(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	r := newRig(t, pricedSet(t, tool(t, "look", tools.Read, counted(&ran, echo))), calls(llmtest.Call{ID: "c1", Name: "look"}), text("ok"))
	r.journal.onOp = func(op string) {
		if op == "settle" && ran.Load() == 1 && r.journal.killAt == 0 {
			r.journal.killAt = r.journal.ops + 2 // the operation behind it
		}
	}
	if _, err := r.loop.Run(t.Context(), r.turn, nil); !errors.Is(err, errKilled) {
		t.Fatalf("%v", err)
	}
	r.journal.onOp = nil
	r.turn = r.journal.resume(r.turn)
	o := r.run(t, t.Context())
	if rows := r.journal.toolRows(); o.Text != "ok" || ran.Load() != 1 || len(rows) != 1 || rows[0].Outcome != "ok" {
		t.Errorf("%+v, ran %d, rows %+v", o, ran.Load(), rows)
	}
}
