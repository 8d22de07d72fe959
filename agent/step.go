package agent

import (
	"context"
	"errors"
	"strings"

	"parley/costs"
	"parley/faultpoint"
	"parley/llm"
	"parley/transcript"
)

// step makes one model call. It gives the calls that the answer asks for, or
// how the turn ended.
func (r *run) step(ctx context.Context, history []transcript.Message) (batch, *Outcome, error) {
	got, err := r.ask(ctx, r.request(history), len(history))
	switch {
	case err != nil:
		return batch{}, nil, err
	case errors.Is(got.err, errInterrupted):
		return batch{}, nil, r.givenUp(ctx, got.attempt)
	case got.err != nil:
		end, err := r.unansweredStep(ctx, history, got)
		return batch{}, end, err
	}
	resp := got.response
	m := r.stored(resp.Message)
	goesOn := len(m.Calls()) > 0 && resp.Finish != transcript.Refusal || resp.Finish == llm.PauseTurn
	if !goesOn {
		end, err := r.final(ctx, got.attempt, m)
		return batch{}, end, err
	}
	faultpoint.Hit("agent.settle.before")
	if err := r.settle(ctx, got.attempt, m); err != nil {
		return batch{}, nil, err
	}
	faultpoint.Hit("agent.settle.after")
	r.steps, r.tries = r.steps+1, 0
	r.announce(got.attempt, false)
	b := asked(m, r.steps)
	b.failed = failuresOf(history, r.t.ID)
	return b, nil, nil
}

// stored is an answer as it goes into the history.
func (r *take) stored(m transcript.Message) transcript.Message {
	m.ID = answerID(r.t.ID, r.steps+1)
	m.Role = transcript.Assistant
	m.CreatedAt = r.Now()
	if m.Model == "" {
		m.Model = r.t.Model.Name()
	}
	return r.shorten(distinct(m, m.ID))
}

// final ends the turn with an answer.
func (r *run) final(ctx context.Context, a *attempt, m transcript.Message) (*Outcome, error) {
	if errors.Is(context.Cause(ctx), ErrStopped) {
		return r.cancelled(ctx, a, nil) // said while the last bytes came
	}
	r.steps, r.tries = r.steps+1, 0
	o := Outcome{Finish: transcript.EndTurn, Text: m.Words()}
	switch a.response.Finish {
	case transcript.MaxTokens:
		o.Finish, o.Text = transcript.MaxTokens, noted(o.Text, noteMaxTokens)
	case transcript.ContextLimit:
		o.Finish, o.Text = transcript.ContextLimit, noted(o.Text, noteContextLimit)
	case transcript.Refusal:
		o.Finish = transcript.Refusal
		if o.Text == "" {
			o.Text = textRefusal
		}
	}
	if o.Text == "" {
		o.Text = textEmpty
	}
	return r.finish(ctx, a, o, []transcript.Message{said(m, o.Text)})
}

// said is m as it may be sent again: with words, without calls that nobody will
// answer. Most answers stay as they are.
func said(m transcript.Message, text string) transcript.Message {
	if m.Words() != "" && len(m.Calls()) == 0 {
		return m
	}
	words := m.Words()
	if words == "" {
		words = text
	}
	parts := []transcript.Part{transcript.Text{Text: words}}
	for _, p := range m.Parts {
		if f, ok := p.(transcript.Finish); ok {
			parts = append(parts, f)
		}
	}
	m.Parts, m.Native = parts, nil
	return m
}

func noted(text, note string) string { return strings.TrimSpace(text + "\n\n" + note) }

// unansweredStep ends a turn whose model call gave no answer.
func (r *run) unansweredStep(ctx context.Context, history []transcript.Message, got answered) (*Outcome, error) {
	if over(ctx) {
		return r.cancelled(ctx, got.attempt, nil)
	}
	if budget, ok := errors.AsType[*costs.BudgetError](got.err); ok {
		return r.overBudget(ctx, history, budget)
	}
	return r.finish(ctx, got.attempt, failed(got.err), nil)
}

// failed is the outcome when err is why there is no answer.
func failed(err error) Outcome {
	o := Outcome{Finish: transcript.Failed, Text: textInternal, Err: err}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return o
	}
	o.Text = failureText(e.Kind)
	if e.Kind == llm.ContextLength {
		o.Finish = transcript.ContextLimit
	}
	if e.Visible {
		o.Text = "The answer broke off. " + o.Text
	}
	return o
}
