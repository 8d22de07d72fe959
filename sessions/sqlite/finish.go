package sqlite

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

// Resume implements [sessions.Turns].
func (s *Store) Resume(ctx context.Context, f sessions.Fence, now time.Time) (sessions.Turn, error) {
	t, err := write(ctx, s, func(x *tx) (sessions.Turn, error) {
		b, err := owned(x, f)
		if err != nil {
			return sessions.Turn{}, err
		}
		if b.turn == "" {
			return sessions.Turn{}, sessions.ErrNotFound
		}
		if err := interrupt(x, now, anyCall, "token = ?", f.Token); err != nil {
			return sessions.Turn{}, err
		}
		t, err := x.turn(b.turn)
		return t.Turn, err
	})
	if err != nil {
		return sessions.Turn{}, fmt.Errorf("resume the turn of %s: %w", f.Token, err)
	}
	return t, nil
}

func anyCall(costs.Purpose) bool { return true }

// interrupt books what is still open at nothing, because nobody knows whether
// the request left; what it may have cost stays held.
func interrupt(x *tx, now time.Time, which func(costs.Purpose) bool, where string, a ...any) error {
	var open []costs.Reservation
	err := x.each("SELECT body FROM reservations WHERE state = 'open' AND "+where, a, func(r scanner) error {
		var body string
		if err := r.Scan(&body); err != nil {
			return err
		}
		var call costs.Reservation
		if err := parse(body, &call); err != nil {
			return err
		}
		if which(call.Estimate.Call.Purpose) {
			open = append(open, call)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("find calls that nobody settled: %w", err)
	}
	slices.SortFunc(open, func(a, b costs.Reservation) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Estimate.Call.Step, b.Estimate.Call.Step), cmp.Compare(a.ID, b.ID))
	})
	for _, r := range open {
		e := costs.Entry{
			ID: r.ID, Call: r.Estimate.Call, Labels: r.Estimate.Labels, Usage: costs.Usage{Source: costs.Estimated},
			Upper: r.Estimate.Upper, Priced: r.Estimate.Priced,
			State: costs.Interrupted, Outcome: "interrupted", At: now,
		}
		if _, err := book(x, e); err != nil {
			return err
		}
	}
	return nil
}

// finished is the answer of Finish.
type finished struct {
	m        sessions.Mailbox
	released bool
	fenced   bool // the money was booked, and nothing else
}

// Finish implements [sessions.Turns].
func (s *Store) Finish(ctx context.Context, f sessions.Fence, e sessions.Ending) (sessions.Mailbox, bool, error) {
	r, err := write(ctx, s, func(x *tx) (finished, error) { return finish(x, f, e) })
	if err == nil && r.fenced {
		err = sessions.ErrFenced
	}
	if err != nil {
		return sessions.Mailbox{}, false, fmt.Errorf("finish turn %s: %w", e.Turn, err)
	}
	return r.m, r.released, nil
}

func finish(x *tx, f sessions.Fence, e sessions.Ending) (finished, error) {
	if e.Settlement != nil {
		if _, err := book(x, e.Settlement.Entry); err != nil {
			return finished{}, err
		}
	}
	b, found, err := x.box(f.Token)
	if err != nil {
		return finished{}, err
	}
	t, err := x.turn(e.Turn)
	switch {
	case errors.Is(err, sessions.ErrNotFound) && (!found || !b.heldBy(f)):
		return finished{fenced: true}, nil
	case err != nil:
		return finished{}, err
	case t.State == sessions.Done && t.ended == f:
		// Its answer was lost. Whose mailbox somebody took since must not go on with it.
		return finished{m: b.Mailbox, released: t.released, fenced: !t.released && !b.heldBy(f)}, nil
	case !found || !b.heldBy(f) || t.Token != f.Token || t.State == sessions.Done:
		return finished{fenced: true}, nil
	}

	if err := appendMessages(x, t.Session, e.Messages, e.At); err != nil {
		return finished{}, err
	}
	if t.calls != 0 {
		if err := interrupt(x, e.At, ofLoop, "token = ? AND turn = ?", t.Token, t.ID); err != nil {
			return finished{}, err
		}
	}
	if err := queue(x, e.Replies); err != nil {
		return finished{}, err
	}
	if e.Settlement != nil && len(e.Messages) > 0 {
		t.stepOn(e.Settlement.Entry.Call)
	}
	t.State, t.Outcome, t.EndedAt, t.ended = sessions.Done, e.Outcome, instant(micros(e.At)), f
	t.Refused = e.Refused
	if !t.nested {
		if e.Nested {
			if err := closeNested(x, f, e.At); err != nil {
				return finished{}, err
			}
		}
		b.turn, b.Turn, b.Attempts = "", nil, 1
		if t.released = !b.owed(); t.released {
			b.giveUp()
			b.Attempts = 0
		}
		b.save(x)
	}
	t.save(x)
	return finished{m: b.Mailbox, released: t.released}, nil
}

// closeNested ends the nested turns of a mailbox that are open.
func closeNested(x *tx, f sessions.Fence, at time.Time) error {
	if err := x.flush(); err != nil {
		return err
	}
	var ids []string
	err := x.each("SELECT id FROM turns WHERE token = ? AND nested = 1 AND state = 'open'", args(f.Token), func(r scanner) error {
		var id string
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("find nested turns: %w", err)
	}
	for _, id := range ids {
		if err := interrupt(x, at, ofLoop, "token = ? AND turn = ?", f.Token, id); err != nil {
			return err
		}
		t, err := x.turn(id)
		if err != nil {
			return err
		}
		t.State, t.Outcome, t.EndedAt, t.ended = sessions.Done, transcript.Canceled, instant(micros(at)), f
		t.save(x)
	}
	return nil
}

// stepOn notes that a call of the turn's loop was answered, unless it is known.
func (t *turnRow) stepOn(c costs.CallID) bool {
	if !ofLoop(c.Purpose) || c.Step <= t.Steps {
		return false
	}
	t.Steps, t.Tries = c.Step, 0
	return true
}

// ofLoop says whether the turn waits for such calls. A title or a summary may
// still be under way when it ends.
func ofLoop(p costs.Purpose) bool { return p != costs.Title && p != costs.Summary }
