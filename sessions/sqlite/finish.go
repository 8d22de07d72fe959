package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/costs"
	"parley/sessions"
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
		if err := interrupt(x, now, "token = ?", f.Token); err != nil {
			return sessions.Turn{}, err
		}
		t, err := loadTurn(x, b.turn)
		return t.Turn, err
	})
	if err != nil {
		return sessions.Turn{}, fmt.Errorf("resume the turn of %s: %w", f.Token, err)
	}
	return t, nil
}

// interrupt books what is still open at nothing, because nobody knows whether
// the request left; what it may have cost stays held.
func interrupt(x *tx, now time.Time, where string, a ...any) error {
	var open []costs.Reservation
	err := x.each("SELECT body FROM reservations WHERE state = 'open' AND "+where+" ORDER BY rowid", a, func(r scanner) error {
		var body string
		if err := r.Scan(&body); err != nil {
			return err
		}
		open = append(open, costs.Reservation{})
		return parse(body, &open[len(open)-1])
	})
	if err != nil {
		return fmt.Errorf("find calls that nobody settled: %w", err)
	}
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
	b, found, err := loadBox(x, f.Token)
	if err != nil {
		return finished{}, err
	}
	t, err := loadTurn(x, e.Turn)
	switch {
	case errors.Is(err, sessions.ErrNotFound) && (!found || !b.heldBy(f)):
		return finished{fenced: true}, nil
	case err != nil:
		return finished{}, err
	case t.State == sessions.Done && t.ended == f:
		return finished{m: b.Mailbox, released: t.released}, nil // its answer was lost
	case !found || !b.heldBy(f) || t.Token != f.Token || t.State == sessions.Done:
		return finished{fenced: true}, nil
	}

	if err := appendMessages(x, t.Session, e.Messages, e.At); err != nil {
		return finished{}, err
	}
	if e.Settlement != nil && len(e.Messages) > 0 {
		if err := stepOn(x, t, e.Settlement.Entry.Call); err != nil {
			return finished{}, err
		}
	}
	if err := interruptLoop(x, t, e.At); err != nil {
		return finished{}, err
	}
	if err := queue(x, e.Replies); err != nil {
		return finished{}, err
	}
	released := false
	if !t.nested {
		b.turn, b.Turn, b.Attempts = "", nil, 1
		if released = !b.owed(); released {
			b.giveUp()
			b.Attempts = 0
		}
		if err := b.save(x); err != nil {
			return finished{}, err
		}
	}
	err = x.do("UPDATE turns SET state = ?, outcome = ?, ended_at = ?, end_epoch = ?, end_nonce = ?, released = ? WHERE id = ?",
		sessions.Done, e.Outcome, micros(e.At), f.Epoch, f.Nonce, released, t.ID)
	if err != nil {
		return finished{}, fmt.Errorf("close turn: %w", err)
	}
	return finished{m: b.Mailbox, released: released}, nil
}

// interruptLoop ends the calls of a turn's own loop, which is over. A title or
// a summary may still be under way.
func interruptLoop(x *tx, t turnRow, now time.Time) error {
	return interrupt(x, now, `token = ? AND turn = ? AND json_extract(body, '$.estimate.call.purpose') NOT IN ('title', 'summary')`, t.Token, t.ID)
}

// stepOn notes that a call of the turn's loop was answered.
func stepOn(x *tx, t turnRow, c costs.CallID) error {
	if !ofLoop(c.Purpose) || c.Step <= t.Steps {
		return nil
	}
	if err := x.do("UPDATE turns SET steps = ?, tries = 0 WHERE id = ?", c.Step, t.ID); err != nil {
		return fmt.Errorf("note step %d: %w", c.Step, err)
	}
	return nil
}

func ofLoop(p costs.Purpose) bool { return p != costs.Title && p != costs.Summary }
