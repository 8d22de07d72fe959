package agent

import (
	"context"
	"errors"
	"fmt"

	"parley/transcript"
)

// commitContext gives a context for a durable commit: one that outlives ctx by the
// grace period, because what happened must be written down also when the turn
// was ended meanwhile. done must be called. (L12)
func (r *take) commitContext(ctx context.Context) (_ context.Context, done func()) {
	return WithGrace(ctx, r.Grace, errLateCommit)
}

var errLateCommit = errors.New("the turn was ended and its last commit took too long")

// fillOutcome fills in what every outcome of this take says.
func (r *take) fillOutcome(o Outcome) Outcome {
	o.Steps, o.Cost, o.Priced = r.steps, r.cost, r.priced
	return o
}

// finish ends the turn in one commit and then emits its end. events are told between
// the model's and the end's; a failed outcome becomes a Problem by itself.
func (r *take) finish(ctx context.Context, a *attempt, o Outcome, ms []transcript.Message, events ...Event) (*Outcome, error) {
	o = r.fillOutcome(o)
	if !o.Silent {
		o.Text = appendNote(o.Text, r.unheardNotice())
	}
	commit, done := r.commitContext(ctx)
	defer done()
	if err := r.Journal.Finish(commit, settlementOf(a), o, ms...); err != nil {
		return nil, fmt.Errorf("finish turn: %w", err)
	}
	if a != nil {
		r.announce(a, true)
	}
	for _, e := range events {
		r.emit(e)
	}
	switch o.Finish {
	case transcript.Failed, transcript.ContextLimit, transcript.Budget:
		if o.Err != nil {
			r.emit(Event{Type: Problem, Text: o.Text, Err: o.Err})
		}
	}
	if !o.Silent {
		r.emit(Event{Type: FinalResponse, Text: o.Text})
	}
	return &o, nil
}

// endCancelledIdle ends a turn whose context ended while nothing ran: calls of
// the last answer may still wait for results.
func (r *run) endCancelledIdle(ctx context.Context) (Outcome, error) {
	if !endsTurn(ctx) {
		return r.outcomeOr(r.endCancelled(ctx, nil, nil))
	}
	commit, done := r.commitContext(ctx)
	defer done()
	history, err := r.Journal.Messages(commit)
	if err != nil {
		return r.fillOutcome(Outcome{}), fmt.Errorf("read history: %w", err)
	}
	r.acted = hasAnswer(history, r.turn.ID)
	b := pendingCalls(history, r.turn)
	return r.outcomeOr(r.endCancelled(ctx, nil, r.skippedResults(b.step, b.calls, resultCanceled, true)))
}

// endCancelled ends a turn whose context ended. A person's stop and the time limit
// finish it, with results for the calls that have none; anything else leaves it
// open for the next worker, with the money booked.
func (r *take) endCancelled(ctx context.Context, a *attempt, rest []finishedCall) (*Outcome, error) {
	cause := context.Cause(ctx)
	if !endsTurn(ctx) {
		if a != nil {
			if err := r.settle(ctx, a); err != nil {
				return nil, err
			}
			r.report(a)
		}
		if errors.Is(cause, ErrHandover) {
			return nil, fmt.Errorf("turn left open: %w", cause)
		}
		return nil, fmt.Errorf("turn left open: %w: %w", ErrHandover, cause)
	}
	o, why := Outcome{Finish: transcript.Canceled, Silent: true, Err: ErrStopped}, transcript.Canceled
	if errors.Is(cause, ErrTurnTimeout) {
		o = Outcome{Finish: transcript.Canceled, Text: appendReason(a.shownWords(), textTimeout), Err: ErrTurnTimeout}
		why = transcript.TimedOut
	}
	if a != nil {
		a.response = nil // an answer that nobody gets is not announced
	}
	return r.finishUnanswered(ctx, a, o, why, rest)
}

// endsTurn reports whether ctx ended for a reason that finishes the turn.
func endsTurn(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, ErrStopped) || errors.Is(cause, ErrTurnTimeout)
}

// ended reports whether ctx has ended, whatever the cause.
func ended(ctx context.Context) bool { return ctx.Err() != nil }
