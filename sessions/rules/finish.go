package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/costs"
	"parley/sessions"
	"parley/transcript"
)

// isLoopCall reports whether the turn waits for such calls. A title may still be under way
// when it ends.
func isLoopCall(p costs.Purpose) bool { return p != costs.Title }

// stepOn notes that a call of the turn's loop was answered, and reports whether that
// is new.
func (t *Turn) stepOn(c costs.CallID) bool {
	if !isLoopCall(c.Purpose) || c.Step <= t.Steps {
		return false
	}
	t.Steps, t.Tries = c.Step, 0
	return true
}

// Resume implements [sessions.Turns].
func (s Turns) Resume(ctx context.Context, f sessions.Fence, now time.Time) (sessions.Turn, error) {
	t, err := update(ctx, s.db, f, func(tx *Tx) (sessions.Turn, error) {
		m, err := ownedMailbox(tx, f)
		if err != nil {
			return sessions.Turn{}, err
		}
		if m.OpenTurn == "" {
			return sessions.Turn{}, sessions.ErrNotFound
		}
		if err := interrupt(tx, now, OpenCalls{Token: f.Token}, func(costs.Purpose) bool { return true }); err != nil {
			return sessions.Turn{}, err
		}
		t, err := turnOf(tx, m.OpenTurn)
		return t.Turn, err
	})
	return t, While(err, "resume the turn of %s", f.Token)
}

// interrupt books what is still open at nothing, because nobody knows whether the
// request left; what it may have cost stays held.
func interrupt(tx *Tx, now time.Time, which OpenCalls, of func(costs.Purpose) bool) error {
	open, err := rowsOf[Call](tx, which, 0)
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(c Call) bool { return c.State != CallOpen || !of(c.Estimate.Call.Purpose) })
	slices.SortFunc(open, func(a, b Call) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Estimate.Call.Step, b.Estimate.Call.Step), cmp.Compare(a.ID, b.ID))
	})
	for _, c := range open {
		e := costs.Entry{
			ID: c.ID, Call: c.Estimate.Call, Labels: c.Estimate.Labels, Usage: costs.Usage{Source: costs.Estimated},
			Upper: c.Estimate.Upper, Priced: c.Estimate.Priced,
			State: costs.Interrupted, Outcome: "interrupted", At: now,
		}
		if _, err := book(tx, e); err != nil {
			return err
		}
	}
	return nil
}

// finishResult is the answer of Finish.
type finishResult struct {
	sessions.Finished
	fenced bool // the money was booked, and nothing else
}

// Finish implements [sessions.Turns].
func (s Turns) Finish(ctx context.Context, f sessions.Fence, e sessions.FinishTurn) (sessions.Finished, error) {
	if e.Sending != nil && len(e.Replies) != 1 {
		return sessions.Finished{}, fmt.Errorf("finish turn %s: the delivery of one of %d replies cannot begin with it", e.Turn, len(e.Replies))
	}
	r, err := update(ctx, s.db, f, func(tx *Tx) (finishResult, error) { return finish(tx, f, e) })
	if err == nil && r.fenced {
		r, err = finishResult{}, sessions.ErrFenced
	}
	return r.Finished, While(err, "finish turn %s", e.Turn)
}

func finish(tx *Tx, f sessions.Fence, e sessions.FinishTurn) (r finishResult, err error) {
	if e.Settlement != nil {
		if _, err := book(tx, e.Settlement.Entry); err != nil {
			return r, err
		}
	}
	m, found, err := get[Mailbox](tx, MailboxKey(f.Token))
	if err != nil {
		return r, err
	}
	held := found && m.isHeldBy(f)
	t, err := turnOf(tx, e.Turn)
	switch {
	case errors.Is(err, sessions.ErrNotFound) && !held:
		return finishResult{fenced: true}, nil
	case err != nil:
		return r, err
	case t.State == sessions.Done && t.EndedBy == f:
		// Its answer was lost. A mailbox that was taken since has another owner.
		r.Released, r.fenced = t.Released, !t.Released && !held
		if r.Sending, err = isBegun(tx, e); err != nil {
			return r, err
		}
		r.Mailbox, err = publicMailbox(tx, m)
		return r, err
	case !held || t.Token != f.Token || t.State == sessions.Done:
		return finishResult{fenced: true}, nil
	}

	if err := appendTo(tx, t.Session, e.At, e.Messages...); err != nil {
		return r, err
	}
	if e.Settlement != nil && len(e.Messages) > 0 {
		t.stepOn(e.Settlement.Entry.Call)
	}
	t.Refused = e.Refused
	if err := closeTurn(tx, &t, e.Outcome, e.At, f); err != nil {
		return r, err
	}
	if err := queueAnswers(tx, e.Replies); err != nil {
		return r, err
	}
	if r.Sending, err = beginDelivery(tx, e); err != nil {
		return r, err
	}
	if err := writeRecords(tx, e.Records); err != nil {
		return r, err
	}
	if !t.Nested {
		if e.Nested {
			if err := closeNested(tx, f, e.At); err != nil {
				return r, err
			}
		}
		m.OpenTurn, m.Attempts = "", 1
		if t.Released = !m.HasWork(); t.Released {
			m.release()
			m.Attempts = 0
		}
		tx.put(m)
	}
	tx.put(t)
	r.Released = t.Released
	r.Mailbox, err = publicMailbox(tx, m)
	return r, err
}

// closeTurn ends a turn, but does not put it. Calls of its loop that were not settled
// are interrupted.
func closeTurn(tx *Tx, t *Turn, o transcript.FinishReason, at time.Time, f sessions.Fence) error {
	if err := interrupt(tx, at, OpenCalls{Token: t.Token, Turn: t.ID}, isLoopCall); err != nil {
		return err
	}
	t.State, t.Outcome, t.EndedAt, t.EndedBy = sessions.Done, o, normaliseTime(at), f
	return nil
}

// closeNested ends the nested turns of a mailbox that are open.
func closeNested(tx *Tx, f sessions.Fence, at time.Time) error {
	nested, err := rowsOf[Turn](tx, NestedTurns{f.Token}, 0)
	if err != nil {
		return err
	}
	for _, t := range nested {
		if t.State == sessions.Done {
			continue
		}
		if err := closeTurn(tx, &t, transcript.Canceled, at, f); err != nil {
			return err
		}
		tx.put(t)
	}
	return nil
}
