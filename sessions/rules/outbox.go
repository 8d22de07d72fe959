package rules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"parley/sessions"
)

// queueAnswers adds answers that are not there yet.
func queueAnswers(tx *Tx, replies []sessions.Outgoing) error {
	for _, o := range replies {
		if o.ID == "" {
			return errors.New("queue an answer: it has no id")
		}
		_, there, err := get[Answer](tx, AnswerKey(o.ID))
		if err != nil {
			return err
		}
		if there {
			continue
		}
		o.At = normaliseTime(o.At)
		if o.File != nil { // the caller's may change
			file := *o.File
			o.File = &file
		}
		tx.put(Answer{Outgoing: o})
	}
	return nil
}

// beginDelivery begins to deliver the one reply of a turn that ends, unless another answer
// waits for its chat: that one goes first.
func beginDelivery(tx *Tx, e sessions.FinishTurn) (begun bool, err error) {
	if e.Sending == nil {
		return false, nil
	}
	to := e.Replies[0].To
	waiting, err := list[AnswerKey](tx, QueuedAnswers{[]sessions.ChatID{{Channel: to.Channel, Account: to.Account, Peer: to.Peer}}}, 1)
	if err != nil || len(waiting) > 0 {
		return false, err
	}
	return true, advance(tx, e.Replies[0].ID, *e.Sending)
}

// isBegun reports whether the delivery of a reply stands as who ended its turn began it, and
// not one step further.
func isBegun(tx *Tx, e sessions.FinishTurn) (bool, error) {
	if e.Sending == nil || len(e.Sending.Marks) == 0 {
		return false, nil
	}
	a, found, err := get[Answer](tx, AnswerKey(e.Replies[0].ID))
	if err != nil || !found || len(a.Parts) == 0 {
		return false, err
	}
	p, m := a.Parts[0], e.Sending.Marks[0]
	return p.State == sessions.Sending && p.By == m.By && p.Repeats == m.Repeats && p.At.Equal(normaliseTime(m.At)), nil
}

// Preview implements [sessions.Outbox].
func (s Outbox) Preview(ctx context.Context, turn string, p sessions.Preview) error {
	if (p.State == sessions.PreviewShown) != (p.ID != "") {
		return fmt.Errorf("note the preview of turn %s: state %q does not go with message %q", turn, p.State, p.ID)
	}
	err := s.db.Update(ctx, sessions.Fence{}, func(tx *Tx) error {
		t, err := turnOf(tx, turn)
		if err != nil {
			return err
		}
		t.Preview = p
		tx.put(t)
		return nil
	})
	return While(err, "note the preview of turn %s", turn)
}

// Previewed implements [sessions.Outbox].
func (s Outbox) Previewed(ctx context.Context, turn string) (sessions.Preview, error) {
	t, err := view(ctx, s.db, func(tx *Tx) (Turn, error) { return turnOf(tx, turn) })
	return t.Preview, While(err, "read the preview of turn %s", turn)
}

// Advance implements [sessions.Outbox].
func (s Outbox) Advance(ctx context.Context, id string, p sessions.Progress) error {
	err := s.db.Update(ctx, sessions.Fence{}, func(tx *Tx) error { return advance(tx, id, p) })
	return While(err, "advance answer %s", id)
}

func advance(tx *Tx, id string, p sessions.Progress) error {
	a, err := existing[Answer](tx, AnswerKey(id))
	if err != nil {
		return err
	}
	a.Parts = slices.Clone(a.Parts)
	changed := false
	if len(a.Parts) == 0 && !a.Done {
		for _, b := range p.Bodies {
			body := bytes.Clone(b)
			if body == nil {
				body = []byte{}
			}
			a.Parts = append(a.Parts, sessions.Part{Body: body, State: sessions.Queued})
			changed = true
		}
	}
	if p.Close && len(a.Parts) > 0 {
		return errors.New("close it: it has parts")
	}
	for _, m := range p.Marks {
		moved, err := mark(a.Parts, m)
		if err != nil {
			return err
		}
		changed = changed || moved
	}
	if !a.Done && (p.Close || isFinished(a.Parts)) {
		a.Done, changed = true, true
	}
	if changed {
		tx.put(a)
	}
	return nil
}

// mayFollow reports which states may follow which. What was sent or has failed stays
// so.
func mayFollow(from, to sessions.SendState) bool {
	switch from {
	case sessions.Queued:
		return to == sessions.Sending || to == sessions.Failed
	case sessions.Sending:
		return to == sessions.Sent || to == sessions.Failed || to == sessions.Ambiguous || to == sessions.Queued
	case sessions.Ambiguous:
		return to == sessions.Sending || to == sessions.Sent || to == sessions.Failed || to == sessions.Queued
	default:
		return false
	}
}

// mark moves one part. A mark that was made by an earlier try of the same step
// changes nothing.
func mark(ps []sessions.Part, m sessions.Mark) (moved bool, err error) {
	if m.Index < 0 || m.Index >= len(ps) {
		return false, fmt.Errorf("part %d of %d: %w", m.Index, len(ps), sessions.ErrNotFound)
	}
	if !mayFollow(m.From, m.To) {
		return false, fmt.Errorf("part %d from %s to %s: %w", m.Index, m.From, m.To, sessions.ErrFenced)
	}
	p := &ps[m.Index]
	is := *p
	is.State, is.MessageID, is.Repeats, is.Reason, is.Problem, is.At, is.By = m.To, m.MessageID, m.Repeats, m.Reason, m.Problem, normaliseTime(m.At), m.By
	if SamePart(*p, is) {
		return false, nil
	}
	if p.State != m.From {
		return false, fmt.Errorf("part %d is %s, not %s: %w", m.Index, p.State, m.From, sessions.ErrFenced)
	}
	if takesBack(*p, m) && p.By != m.By {
		return false, fmt.Errorf("part %d is being sent by %s, not %s: %w", m.Index, p.By, m.By, sessions.ErrFenced)
	}
	if m.To == sessions.Sending {
		is.Attempts++
	}
	*p = is
	return true, nil
}

// takesBack reports whether m says that what p stands for was not sent: the part is queued again,
// or has fewer repeats. Only the sender that marked it knows that.
func takesBack(p sessions.Part, m sessions.Mark) bool {
	return m.From == sessions.Sending && (m.To == sessions.Queued || m.To == sessions.Ambiguous && m.Repeats < p.Repeats)
}

// SamePart reports whether two parts of an answer are equal, but for their bodies.
func SamePart(a, b sessions.Part) bool {
	return a.State == b.State && a.Attempts == b.Attempts && a.MessageID == b.MessageID && a.Repeats == b.Repeats &&
		a.Reason == b.Reason && a.Problem == b.Problem && a.At.Equal(b.At) && a.By == b.By
}

func isFinished(ps []sessions.Part) bool {
	return len(ps) > 0 && !slices.ContainsFunc(ps, func(p sessions.Part) bool { return p.State != sessions.Sent && p.State != sessions.Failed })
}
