package subagents

import (
	"context"
	"errors"

	"parley/agent"
	"parley/costs"
	"parley/sessions"
	"parley/transcript"
)

// journal is a child's. Its turn always ends with words, so that they can be
// read again, and a later task can follow them.
type journal struct {
	sessions.Journal
	spent func(ctx context.Context) (costs.Amount, error) // what the person's turn has cost
}

var _ agent.Journal = (*journal)(nil)

// Spent implements [agent.Journal].
func (j *journal) Spent(ctx context.Context) (costs.Amount, error) { return j.spent(ctx) }

func (j *journal) Finish(ctx context.Context, s *costs.Settlement, o agent.Outcome, ms ...transcript.Message) error {
	e := sessions.FinishTurn{Settlement: s, Messages: ms, Outcome: o.Finish, Refused: o.BudgetError(), At: j.Now()}
	if errors.Is(o.Err, agent.ErrTurnTimeout) { // a later take can tell it from one that was stopped
		e.Outcome = transcript.TimedOut
	}
	if n := len(ms); n > 0 && ms[n-1].ID == closingID(j.Turn) { // it says less
		ms = ms[:n-1]
	}
	if n := len(ms); n == 0 || ms[n-1].Role != transcript.Assistant {
		text := o.Text
		if text == "" {
			text = "(stopped)"
		}
		e.Messages = append(ms[:n:n], transcript.Message{
			ID: closingID(j.Turn), Role: transcript.Assistant, CreatedAt: e.At,
			Parts: []transcript.Part{transcript.Text{Text: text}, transcript.Finish{Reason: o.Finish, Time: e.At}},
		})
	}
	_, err := j.End(ctx, e)
	return err
}

func closingID(turn string) string {
	return transcript.MessageID{Turn: turn, Kind: transcript.Closing}.String()
}

// answerOf returns the words at the end of the turn, and how many model calls and calls
// of tools led to them.
func answerOf(ms []transcript.Message, turn string) (words string, answers, calls int) {
	for _, m := range ms {
		id, ok := transcript.ParseMessageID(m.ID)
		if m.Role != transcript.Assistant || !ok || id.Turn != turn {
			continue
		}
		if id.Kind != transcript.Closing {
			answers++
		}
		calls += len(m.Calls())
		words = m.Text()
	}
	return words, answers, calls
}
