package agent_test

import (
	"context"
	"errors"
	"testing"

	"parley/costs"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// When a budget is spent and Loop.Pause returns a question, the turn commits what it has done and ends
// with the question, without a last call of the model. When Pause returns none, the turn ends with the
// refusal. An error of Pause leaves the turn open.
func TestATurnPausesAtTheEndOfABudget(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		ask    string
		err    error
		finish transcript.FinishReason
		text   string
	}{
		"somebody is asked":        {"May I?", nil, transcript.Waiting, "May I?"},
		"nobody is asked":          {"", nil, transcript.Budget, "I had to stop: of the session budget."},
		"nobody knows whom to ask": {"", broken, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)), calls(llmtest.Call{ID: "c", Name: "echo", Input: `{"text":"a"}`}), text("never"))
			r.loop.Why = why
			r.turn.MaxTokens, r.journal.limit = 4000, 10*costs.USD
			r.journal.onOp = func(op string) {
				if op == "append" {
					r.journal.limit = r.journal.spent() + costs.USD/1000
				}
			}
			var refused *costs.BudgetError
			r.loop.Pause = func(_ context.Context, e *costs.BudgetError) (string, error) {
				refused = e
				return c.ask, c.err
			}
			o, err := r.loop.Run(t.Context(), r.turn, nil)
			if !errors.Is(err, c.err) || o.Finish != c.finish || o.Text != c.text || refused == nil {
				t.Fatalf("%+v, %v, asked about %v", o, err, refused)
			}
			if open := len(r.journal.finished) == 0; open != (c.err != nil) {
				t.Errorf("the turn is left open: %v", open)
			}
			if c.finish == transcript.Waiting && (o.BudgetError() != refused || o.Steps != 1 || len(r.model.Requests()) != 1 || r.journal.messages[len(r.journal.messages)-1].Role != transcript.Tool) {
				t.Errorf("%+v after %d requests", o, len(r.model.Requests()))
			}
		})
	}
}
