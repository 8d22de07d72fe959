package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"parley/costs"
	"parley/transcript"
)

// closingCall is how a turn ends that may not go on.
type closingCall struct {
	instruction string // what the model is asked for; never stored
	finish      transcript.FinishReason
	text        string // what the person is told if the model says nothing
	note        string // what the person is told behind the model's words
	err         error
	events      func(err error) []Event // to be told besides; nil: none
}

// endOverBudget ends a turn whose next call the budgets do not allow. If Loop.Pause has a question for
// people, the turn ends with it. Otherwise a turn that has made calls sums up what it found, if a
// short answer still fits. (Y01)
func (r *run) endOverBudget(ctx context.Context, history []transcript.Message, budget *costs.BudgetError) (*Outcome, error) {
	if r.Pause != nil {
		ask, err := r.Pause(ctx, budget)
		if err != nil {
			return nil, fmt.Errorf("ask for a higher budget: %w", err)
		}
		if ask != "" {
			return r.finish(ctx, nil, Outcome{Finish: transcript.Waiting, Text: ask, Err: budget}, nil)
		}
	}
	format := textRefused
	if r.steps > 0 || r.tries > 0 {
		format = textBudget
	}
	text := fmt.Sprintf(format, r.Why(r.turn.Key, budget))
	if r.steps == 0 || budget.Unpriced {
		return r.finish(ctx, nil, Outcome{Finish: transcript.Budget, Text: text, Err: budget}, nil)
	}
	r.minOutput = minFinal
	o, err := r.wrapUp(ctx, history, closingCall{
		instruction: instructionBudget, finish: transcript.Budget, text: text, note: "(" + text + ")", err: budget,
	})
	if err != nil {
		return nil, err
	}
	return &o, nil
}

// wrapUp makes the last call of a turn: without tools, on a copy of the history
// with an instruction. (C05)
func (r *run) wrapUp(ctx context.Context, history []transcript.Message, w closingCall) (Outcome, error) {
	instruction := transcript.Message{
		Role:      transcript.User,
		Parts:     []transcript.Part{transcript.Text{Text: w.instruction}},
		CreatedAt: r.Now(),
	}
	ask := func() (modelResult, error) {
		req := r.withoutCalls(r.buildRequest(history, instruction), history)
		return r.ask(ctx, req, len(history), instruction)
	}
	got, err := ask()
	for err == nil && errors.Is(got.err, errNextModel) {
		if !r.Pressure.Off {
			r.measure(history)
		}
		got, err = ask()
	}
	if err != nil {
		return r.outcomeOr(nil, err)
	}
	if ended(ctx) && (got.err != nil || errors.Is(context.Cause(ctx), ErrStopped)) {
		return r.outcomeOr(r.endCancelled(ctx, got.attempt, nil))
	}
	o := Outcome{Finish: w.finish, Text: w.text, Err: cmp.Or(w.err, got.err)}
	var ms []transcript.Message
	switch words := got.shownWords(); {
	case got.err == nil && got.response.Message.Text() != "" && got.response.Finish != transcript.Refusal:
		m := resendable(r.storedAnswer(got.response.Message), "")
		ms, o.Text = append(ms, m), appendNote(m.Text(), w.note)
	case got.err != nil && words != "":
		ms, o.Text = r.unfinished(got.attempt, transcript.Failed), appendReason(words, w.text)
	case w.finish != transcript.Budget:
		ms = append(ms, r.storedAnswer(transcript.Message{
			Parts: []transcript.Part{transcript.Text{Text: w.text}, transcript.Finish{Reason: w.finish, Time: r.Now()}},
		}))
	}
	if got.attempt != nil || w.finish != transcript.Budget {
		r.advance()
	}
	var events []Event
	if w.events != nil {
		events = w.events(got.err)
	}
	return r.outcomeOr(r.finish(ctx, got.attempt, o, ms, events...))
}
