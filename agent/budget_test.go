package agent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"parley/agent"
	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessionkeys"
	"parley/tools"
	"parley/transcript"
)

// why is what the person is told of every budget here.
func why(_ sessionkeys.Key, e *costs.BudgetError) string { return "of the " + e.Scope + " budget" }

// worst is what the scripted model's call may cost.
func worst(t *testing.T, req llm.Request) costs.Amount {
	t.Helper()
	a, err := tariff.WorstCase(llm.UpperBound(req), int64(req.MaxTokens))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestACallThatDoesNotFitIsMadeWithFewerOutputTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		limit       costs.Amount
		most, least int // output tokens of the request that is sent
	}{
		{"all of it fits", 10 * costs.USD, 100_000, 100_000},
		{"half of what is left is plenty", costs.USD, 33_400, 33_200},
		{"half of it would be little", 2 * costs.USD / 10, 8192, 8192},
		{"all that is left is little", costs.USD / 10, 6_700, 6_500},
		{"as little as is worth it", 167 * costs.USD / 10_000, 1050, 1024},
	} {
		r := newRig(t, nil, text("hi"))
		r.turn.MaxTokens, r.journal.limit = 100_000, c.limit
		if o := r.run(t, t.Context()); o.Text != "hi" || o.Finish != transcript.EndTurn {
			t.Fatalf("%s: %+v", c.name, o)
		}
		req := r.lastRequest()
		if req.MaxTokens > c.most || req.MaxTokens < c.least {
			t.Errorf("%s: %d output tokens were asked for, not %d to %d", c.name, req.MaxTokens, c.least, c.most)
		}
		held := r.journal.reserved[len(r.journal.reserved)-1]
		if held != worst(t, req) || held > c.limit {
			t.Errorf("%s: %s was held for what may cost %s, of %s", c.name, held, worst(t, req), c.limit)
		}
	}
}

func TestSeveralCallsOfOneBudgetRunSideBySide(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	var ready, done sync.WaitGroup
	shared := newJournal("hello")
	shared.limit = costs.USD
	for i := range 4 {
		ready.Add(1)
		arrived := sync.OnceFunc(ready.Done)
		done.Go(func() {
			defer arrived() // also where it was refused
			r := newRig(t, nil)
			r.model = &llmtest.Script{Reply: func(int, llm.Request) llmtest.Turn {
				arrived()
				return llmtest.Turn{llmtest.Wait(gate), llmtest.Text("hi")}
			}}
			r.turn.Model, r.turn.MaxTokens, r.turn.ID = r.model, 100_000, string(rune('a'+i))
			r.loop.Journal = sharing{newJournal("hello"), shared}
			if o, err := r.loop.Run(t.Context(), r.turn, nil); err != nil || o.Text != "hi" {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	ready.Wait()
	if held := shared.spent(); held > shared.limit {
		t.Errorf("%s is held of %s", held, shared.limit)
	}
	close(gate)
	done.Wait()
}

// sharing has a history of its own and shares its money.
type sharing struct {
	*journal
	money *journal
}

func (b sharing) Reserve(ctx context.Context, e costs.Estimate, a transcript.RequestRecord) (costs.Reservation, error) {
	return b.money.Reserve(ctx, e, a)
}

func (b sharing) Finish(ctx context.Context, s *costs.Settlement, o agent.Outcome, ms ...transcript.Message) error {
	if s != nil {
		if err := b.money.Settle(ctx, *s); err != nil {
			return err
		}
	}
	return b.journal.Finish(ctx, nil, o, ms...)
}

func TestWhatTheBudgetsDoNotAllowAtAllIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, text("never"))
	r.loop.Why, r.journal.limit = why, 15*costs.USD/1000 // a thousand output tokens and no input
	r.turn.MaxTokens = 4000
	o := r.run(t, t.Context())
	if o.Finish != transcript.Budget || o.Text != "I cannot answer: of the session budget." || o.Steps != 0 || r.model.Remaining() != 1 {
		t.Errorf("%+v", o)
	}
	e, ok := errors.AsType[*costs.BudgetError](o.Err)
	if !ok || e.Need <= e.Limit || e.Need > 17*costs.USD/1000 {
		t.Errorf("%+v: it does not say what the least call needs", e)
	}
	if len(r.journal.messages) != 1 || len(r.journal.order) != 0 {
		t.Errorf("a refusal left %+v", r.journal)
	}
}

// stopAfter is a turn of one step, with so much left for the next.
func stopAfter(t *testing.T, left costs.Amount, turns ...llmtest.Turn) (*fixture, agent.Outcome) {
	t.Helper()
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)), append([]llmtest.Turn{calls(llmtest.Call{ID: "c1", Name: "echo"})}, turns...)...)
	r.loop.Why, r.turn.MaxTokens = why, 4000
	r.journal.limit = 10 * costs.USD
	r.journal.onOp = func(op string) {
		if op == "append" {
			r.journal.limit = r.journal.spent() + left
		}
	}
	return r, r.run(t, t.Context())
}

func TestATurnThatMayNotGoOnSumsUpIfThatStillFits(t *testing.T) {
	t.Parallel()
	// Enough for the input and some hundred output tokens.
	r, o := stopAfter(t, 25*costs.USD/1000, text("so far"))
	if o.Finish != transcript.Budget || o.Text != "so far\n\n(I had to stop: of the session budget.)" || o.Steps != 2 || o.Err == nil {
		t.Errorf("%+v", o)
	}
	req := r.lastRequest()
	if req.Choice != llm.None || req.MaxTokens >= 1024 || req.MaxTokens < 256 {
		t.Errorf("it was asked to sum up with the choice %q and %d tokens", req.Choice, req.MaxTokens)
	}
	if last := r.journal.messages[len(r.journal.messages)-1]; last.Text() != "so far" {
		t.Errorf("the history ends with %q", last.Text())
	}
}

func TestATurnThatMayNotEvenSumUpSaysWhy(t *testing.T) {
	t.Parallel()
	r, o := stopAfter(t, costs.USD/1000, text("never"))
	if o.Finish != transcript.Budget || o.Text != "I had to stop: of the session budget." || o.Steps != 1 || r.model.Remaining() != 1 {
		t.Errorf("%+v", o)
	}
}

func TestAModelWithoutAPriceIsRefusedWhereABudgetApplies(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := newRig(t, nil, text("never"))
	r.loop.Why, r.loop.Log = why, slog.New(slog.NewTextHandler(&log, nil))
	r.model.ModelName, r.journal.limit = "unheard-of", costs.USD
	o := r.run(t, t.Context())
	if e, ok := errors.AsType[*costs.BudgetError](o.Err); !ok || !e.Unpriced || o.Finish != transcript.Budget || r.model.Remaining() != 1 {
		t.Errorf("%+v", o)
	}
	if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "model=unheard-of") {
		t.Errorf("the operator reads %s", log.String())
	}
}

func TestACallWhoseCostNobodyCanTellKeepsWhatItMayHaveCost(t *testing.T) {
	t.Parallel()
	u := llmtest.Usage{Input: 7, Output: 3, Tier: "unheard-of", Source: costs.Reported}
	r := newRig(t, nil, llmtest.Turn{llmtest.Text("hi"), u})
	r.run(t, t.Context())
	if e := r.journal.ledger()[0]; e.Priced || e.Amount != 0 || e.State != costs.Interrupted || e.Upper != worst(t, r.lastRequest()) {
		t.Errorf("%+v", e)
	}
}

// moving are prices that change while a turn runs.
type moving struct {
	prices
	factor *atomic.Int64
}

func (m moving) Snapshot() agent.Prices { return fixed{m.factor.Load()} }

func (m moving) Price(string, string) (*costs.Price, bool) { panic("asked behind the snapshot") }

// fixed are the tariff, times a factor.
type fixed struct{ factor int64 }

func (f fixed) Price(string, string) (*costs.Price, bool) {
	p := tariff
	p.Input, p.Output = p.Input*costs.Amount(f.factor), p.Output*costs.Amount(f.factor)
	return &p, true
}

func (f fixed) Cost(provider, model string, u costs.Usage) (costs.Amount, *costs.Price, error) {
	p, _ := f.Price(provider, model)
	a, err := p.Cost(u)
	return a, p, err
}

// requirements B18: nothing that an operator changes holds in the middle of a turn, prices
// included.
func TestATurnKeepsThePricesOfItsBeginning(t *testing.T) {
	t.Parallel()
	factor := new(atomic.Int64)
	factor.Store(1)
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)))
	r.model = &llmtest.Script{Reply: func(n int, _ llm.Request) llmtest.Turn {
		factor.Add(1) // while it answers
		if n == 1 {
			return calls(llmtest.Call{ID: "c1", Name: "echo"})
		}
		return text("hi")
	}}
	r.turn.Model, r.loop.Prices = r.model, moving{factor: factor}
	if o, err := r.loop.Run(t.Context(), r.turn, nil); err != nil || o.Text != "hi" {
		t.Fatalf("%+v, %v", o, err)
	}
	for i, e := range r.journal.ledger() {
		if e.Price.Output != tariff.Output {
			t.Errorf("call %d has the price %d, not %d", i+1, e.Price.Output, tariff.Output)
		}
	}
	if n := len(r.journal.ledger()); n != 2 {
		t.Errorf("%d calls", n)
	}
}
