package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/agent"
	"parley/agent/pressure"
	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// endless calls a tool again and again, and says its last words when it must.
func endless(t *testing.T) *fixture {
	t.Helper()
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)))
	r.model.Reply = func(_ int, q llm.Request) llmtest.Turn {
		if q.Choice == llm.None {
			return text("as far as I got")
		}
		return calls(llmtest.Call{ID: "c", Name: "echo"})
	}
	return r
}

// AA01, AA03: each is asked at its places, in its order, and of what is committed.
func TestMiddlewareIsAskedInOrderAroundEachModelCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)), calls(llmtest.Call{ID: "c1", Name: "echo"}), text("there"))
	var asked []string
	note := func(name string) agent.Middleware {
		ask := func(when string) func(context.Context, agent.TurnState) (agent.Verdict, error) {
			return func(_ context.Context, s agent.TurnState) (agent.Verdict, error) {
				asked = append(asked, name+" "+when)
				if last := s.History[len(s.History)-1]; when == "after" && last.Role != transcript.Tool || s.Tokens == 0 {
					t.Errorf("%s %s %s, of %d tokens", name, when, last.Role, s.Tokens)
				}
				return agent.Verdict{}, nil
			}
		}
		return agent.Middleware{Name: name, Before: ask("before"), After: ask("after")}
	}
	r.turn.Middleware = []agent.Middleware{note("a"), note("b")}
	r.run(t, t.Context())
	want := []string{"a before", "b before", "a after", "b after", "a before", "b before"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
}

// AA01, AA02: stop ends the turn, with the model's last words or at once. The list is what
// decides: a turn without turn_limit goes on.
func TestMiddlewareStopsATurn(t *testing.T) {
	t.Parallel()
	stopAt := func(steps int, v agent.Verdict) agent.Middleware {
		v.Action = agent.Stop
		return agent.Middleware{Name: "mine", After: func(_ context.Context, s agent.TurnState) (agent.Verdict, error) {
			if s.Steps < steps {
				return agent.Verdict{}, nil
			}
			return v, nil
		}}
	}
	for _, c := range []struct {
		name   string
		v      agent.Verdict
		finish transcript.FinishReason
		want   string
		steps  int
	}{
		{"with last words", agent.Verdict{Instruction: "enough", Text: "t", Note: "(n)"}, transcript.Stopped, "as far as I got\n\n(n)", 4},
		{"at once", agent.Verdict{Text: "It is enough."}, transcript.Stopped, "It is enough.", 3},
		{"with a reason of its own", agent.Verdict{Text: "no", Finish: transcript.Refusal}, transcript.Refusal, "no", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := endless(t)
			r.turn.MaxSteps = 2 // not reached: no middleware looks at it
			r.turn.Middleware = []agent.Middleware{stopAt(3, c.v)}
			if o := r.run(t, t.Context()); o.Finish != c.finish || o.Text != c.want || o.Steps != c.steps {
				t.Errorf("%+v", o)
			}
		})
	}
}

// Addition 8 of 2.7: PriceLimit and TokenLimit end a turn between two calls, with its last
// words, and say why; a turn below them is not touched. One that ends at its first call is
// whole, whatever it cost.
func TestLimitsOfATurnEndItWithLastWords(t *testing.T) {
	t.Parallel()
	one := endless(t)
	one.turn.MaxSteps = 1
	one.run(t, t.Context())
	call := one.journal.ledger()[0] // what each costs, at least
	for _, c := range []struct {
		name   string
		cost   costs.Amount
		tokens int64
		want   string
	}{
		{"price", call.Amount + 1, 0, "this message has cost $"},
		{"tokens", 0, call.Usage.Total() + 1, "my work on this message has taken "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := endless(t)
			r.turn.MaxCost, r.turn.MaxTurnTokens = c.cost, c.tokens
			o := r.run(t, t.Context())
			if o.Finish != transcript.Stopped || !strings.HasPrefix(o.Text, "as far as I got\n\n(I stopped here: "+c.want) || o.Steps != 3 || o.BudgetError() != nil {
				t.Errorf("%+v", o)
			}
			if q := r.lastRequest(); q.Choice != llm.None || len(q.Tools) != 1 {
				t.Errorf("last request %+v", q)
			}
			whole := newRig(t, nil, text("all of it"))
			whole.turn.MaxCost, whole.turn.MaxTurnTokens = min(c.cost, 1), min(c.tokens, 1)
			if o := whole.run(t, t.Context()); o.Finish != transcript.EndTurn || o.Text != "all of it" {
				t.Errorf("a turn of one call: %+v", o)
			}
		})
	}
}

// A worker that takes the turn over decides as the one before would have: what earlier takes
// have used counts, wherever they died.
func TestLimitsCountWhatEarlierTakesUsed(t *testing.T) {
	t.Parallel()
	whole := endless(t)
	whole.turn.MaxTurnTokens = 2000
	want := whole.run(t, t.Context())
	if want.Finish != transcript.Stopped || want.Steps < 4 {
		t.Fatalf("undisturbed: %+v", want)
	}
	for at := 1; at < whole.journal.ops; at++ {
		for _, applied := range []bool{false, true} {
			r := endless(t)
			r.turn.MaxTurnTokens = 2000
			r.journal.killAt, r.journal.applied = at, applied
			if _, err := r.loop.Run(t.Context(), r.turn, nil); !errors.Is(err, errKilled) {
				t.Fatalf("killed at %d: %v", at, err)
			}
			if len(r.journal.finished) > 0 {
				continue
			}
			r.journal.killAt = 0
			r.turn = r.journal.resume(r.turn)
			o, err := r.loop.Run(t.Context(), r.turn, nil)
			if err != nil || o.Finish != want.Finish || o.Steps > want.Steps || o.Steps < want.Steps-1 {
				t.Errorf("killed at %d (%v): %+v, %v", at, applied, o, err)
			}
		}
	}
}

// N07: from 200,000 tokens on a conversation is compacted, in a window that holds a million.
func TestAutoCompactSaysFromWhereOn(t *testing.T) {
	t.Parallel()
	l := pressure.Policy{}.Ladder(1_000_000, 8000)
	history := conversationOf(0)
	for i := range 40 {
		history = append(history[:len(history)-1:len(history)-1], conversationOf(2)[0], conversationOf(2)[1], history[len(history)-1])
		history[2*i].Parts = []transcript.Part{transcript.Text{Text: strings.Repeat("what is it ", 2000)}}
	}
	for tokens, want := range map[int64]agent.Action{199_999: agent.Continue, 200_000: agent.Compact, 300_000: agent.Compact} {
		v, err := agent.AutoCompact().Before(t.Context(), agent.TurnState{Turn: agent.Turn{ID: "t1"}, History: history, Ladder: l, Tokens: tokens})
		if err != nil || v.Action != want {
			t.Errorf("at %d tokens: %+v, %v", tokens, v, err)
		}
		if want == agent.Compact && (v.Value != tokens || v.Threshold != 200_000 || v.Plan.Action != pressure.Summarise || v.Plan.Overlay.Before != tokens) {
			t.Errorf("at %d tokens the verdict is %+v", tokens, v)
		}
	}
}

// AA02: the loop carries out a verdict compact; one that comes after a summary has failed
// pays no second one.
func TestMiddlewareCompacts(t *testing.T) {
	t.Parallel()
	eager := agent.Middleware{Name: "eager", Before: func(_ context.Context, s agent.TurnState) (agent.Verdict, error) {
		o, ok := s.Ladder.PlanSummary(s.History, s.Turn.ID, s.Tokens, s.System, true)
		if !ok {
			return agent.Verdict{}, nil
		}
		return agent.Verdict{Action: agent.Compact, Plan: pressure.Plan{Action: pressure.Summarise, Overlay: o}}, nil
	}}
	for name, c := range map[string]struct {
		turns []llmtest.Turn
		kind  transcript.OverlayKind
	}{
		"done":   {[]llmtest.Turn{text("it was said"), text("so it is")}, transcript.Summarised},
		"failed": {[]llmtest.Turn{{llmtest.Finish(transcript.Refusal)}, text("so it is")}, transcript.NoSummary},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil, c.turns...)
			r.journal.messages = conversationOf(8)
			for i := range r.journal.messages[:8] {
				if m := &r.journal.messages[i]; m.Role == transcript.User {
					m.Parts = []transcript.Part{transcript.Text{Text: strings.Repeat("what is it ", 500)}}
				}
			}
			r.turn.Middleware = []agent.Middleware{eager, agent.TurnLimit()}
			if o := r.run(t, t.Context()); o.Text != "so it is" || o.Steps != 2 {
				t.Errorf("%+v", o)
			}
			if o, ok := r.journal.messages[9].Overlay(); !ok || o.Kind != c.kind {
				t.Errorf("%+v", r.journal.messages[9])
			}
		})
	}
}

// What goes wrong in a middleware goes wrong as anything inside: the turn stays open.
func TestABrokenMiddlewareLeavesTheTurnOpen(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		before func(context.Context, agent.TurnState) (agent.Verdict, error)
		is     func(error) bool
	}{
		"error": {
			func(context.Context, agent.TurnState) (agent.Verdict, error) { return agent.Verdict{}, broken },
			func(err error) bool {
				return errors.Is(err, broken) && strings.Contains(err.Error(), "middleware mine")
			},
		},
		"panic": {
			func(context.Context, agent.TurnState) (agent.Verdict, error) { panic("broken") },
			func(err error) bool { p, ok := errors.AsType[*agent.PanicError](err); return ok && p.Value == "broken" },
		},
	} {
		r := newRig(t, nil, text("hi"))
		r.turn.Middleware = []agent.Middleware{{Name: "mine", Before: c.before}}
		if _, err := r.loop.Run(t.Context(), r.turn, r.emit); !c.is(err) || len(r.journal.finished) != 0 || len(r.journal.entries) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMiddlewareIsFoundByName(t *testing.T) {
	t.Parallel()
	ms, err := agent.MiddlewareNamed([]string{"compact", "turn_limit"})
	if err != nil || len(ms) != 2 || ms[0].Name != "compact" || ms[1].Name != "turn_limit" {
		t.Errorf("%v, %v", ms, err)
	}
	if _, err := agent.MiddlewareNamed([]string{"coffee"}); err == nil || !strings.Contains(err.Error(), "turn_limit, price_limit, token_limit, compact") {
		t.Errorf("%v", err)
	}
}
