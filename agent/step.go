package agent

import (
	"context"
	"errors"
	"slices"
	"strings"

	"parley/costs"
	"parley/faultpoint"
	"parley/llm"
	"parley/transcript"
)

// step makes one model call. It gives the calls that the answer asks for, or
// how the turn ended.
func (r *run) step(ctx context.Context, history []transcript.Message) (batch, *Outcome, error) {
	req := r.buildRequest(history)
	got, err := r.ask(ctx, req, len(history))
	switch {
	case err != nil:
		return batch{}, nil, err
	case errors.Is(got.err, errInterrupted):
		return batch{}, nil, r.settleAbandoned(ctx, got.attempt)
	case errors.Is(got.err, errNextModel):
		return batch{}, nil, nil
	case isTooLong(got.err) && !ended(ctx):
		acted, end, err := r.overflow(ctx, history, got.attempt)
		if acted || end != nil || err != nil {
			return batch{}, end, err
		}
		end, err = r.endUnanswered(ctx, history, got)
		return batch{}, end, err
	case isPictureRefused(req, got.err) && !ended(ctx):
		return batch{}, nil, r.hidePictures(ctx, got.attempt)
	case got.err != nil:
		end, err := r.endUnanswered(ctx, history, got)
		return batch{}, end, err
	}
	resp := got.response
	m := r.storedAnswer(r.withSize(resp))
	if !goesOn(resp.Finish, m) {
		end, err := r.finishAnswered(ctx, got.attempt, m)
		return batch{}, end, err
	}
	faultpoint.Hit("agent.settle.before")
	if err := r.settle(ctx, got.attempt, m); err != nil {
		return batch{}, nil, err
	}
	faultpoint.Hit("agent.settle.after")
	r.advance()
	r.acted = true
	r.announce(got.attempt, false)
	b := callsOf(m, r.steps)
	b.failures = countFailures(history, r.turn.ID)
	return b, nil, nil
}

// goesOn reports whether a turn goes on after the answer m: its calls are to be run, or the
// model goes on with it itself. Calls beside any other reason are not run. (B06;
// docs/decisions/0063)
func goesOn(why transcript.FinishReason, m transcript.Message) bool {
	switch why {
	case llm.PauseTurn:
		return true
	case transcript.ToolUse,
		transcript.EndTurn,                            // what many servers say beside calls
		transcript.MaxTokens, transcript.ContextLimit: // the calls before the cut are whole
		return len(m.Calls()) > 0
	default:
		return false
	}
}

// isTooLong reports whether the provider refused a request because it does not fit into
// the model's window.
func isTooLong(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && e.Kind == llm.ContextLength && !e.Visible
}

// withSize is an answer with what its provider counted, by which the next request is
// estimated.
func (r *take) withSize(resp *llm.Response) transcript.Message {
	m, u := resp.Message, resp.Usage
	if u.Source != costs.Reported || r.gauge.Guess == 0 {
		return m
	}
	size := transcript.RequestSize{
		Model: r.turn.Model.Name(), Input: u.Input + u.CacheRead + u.CacheWrite5m + u.CacheWrite1h, Output: u.Output, Guess: r.gauge.Guess,
	}
	parts := slices.Clone(m.Parts)
	for i, p := range parts {
		if f, ok := p.(transcript.Finish); ok {
			f.Size = size
			parts[i] = f
		}
	}
	m.Parts = parts
	return m
}

// storedAnswer is an answer as it goes into the history.
func (r *take) storedAnswer(m transcript.Message) transcript.Message {
	m.ID = answerID(r.turn.ID, r.steps+1)
	m.Role = transcript.Assistant
	m.CreatedAt = r.Now()
	if m.Model == "" {
		m.Model = r.turn.Model.Name()
	}
	return r.shorten(dedupeCallIDs(m, m.ID))
}

// finishAnswered ends the turn with an answer.
func (r *run) finishAnswered(ctx context.Context, a *attempt, m transcript.Message) (*Outcome, error) {
	if errors.Is(context.Cause(ctx), ErrStopped) {
		return r.endCancelled(ctx, a, nil) // said while the last bytes came
	}
	r.advance()
	o := Outcome{Finish: transcript.EndTurn, Text: m.Text()}
	switch a.response.Finish {
	case transcript.MaxTokens:
		o.Finish, o.Text = transcript.MaxTokens, appendNote(o.Text, noteMaxTokens)
	case transcript.ContextLimit:
		o.Finish, o.Text = transcript.ContextLimit, appendNote(o.Text, noteContextLimit)
	case transcript.Refusal:
		o.Finish = transcript.Refusal
		if o.Text == "" {
			o.Text = textRefusal
		}
	}
	if o.Text == "" {
		o.Text = textEmpty
	}
	return r.finish(ctx, a, o, []transcript.Message{resendable(m, o.Text)})
}

// resendable returns m as it may be sent again: with words, without calls that will have no
// result. Most answers stay as they are.
func resendable(m transcript.Message, text string) transcript.Message {
	if m.Text() != "" && len(m.Calls()) == 0 {
		return m
	}
	words := m.Text()
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

func appendNote(text, note string) string { return strings.TrimSpace(text + "\n\n" + note) }

// endUnanswered ends a turn whose model call gave no answer.
func (r *run) endUnanswered(ctx context.Context, history []transcript.Message, got modelResult) (*Outcome, error) {
	if ended(ctx) {
		return r.endCancelled(ctx, got.attempt, nil)
	}
	if budget, ok := errors.AsType[*costs.BudgetError](got.err); ok {
		return r.endOverBudget(ctx, history, budget)
	}
	o := failedOutcome(got.err)
	o.Text = appendReason(got.shownWords(), o.Text)
	return r.finishUnanswered(ctx, got.attempt, o, transcript.Failed, nil)
}

// advance counts a call that was answered and committed.
func (r *take) advance() { r.steps, r.tries, r.uncounted = r.steps+1, 0, 0 }

// failedOutcome returns the outcome when err is why there is no answer.
func failedOutcome(err error) Outcome {
	o := Outcome{Finish: transcript.Failed, Text: textInternal, Err: err}
	if llm.IsCircuitOpen(err) {
		o.Text = textUnavailable
		return o
	}
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
