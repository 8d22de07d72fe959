package rules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// turnOf returns a turn, or ErrNotFound.
func turnOf(tx *Tx, id string) (Turn, error) {
	t, err := existing[Turn](tx, TurnKey(id))
	return t, While(err, "read turn %s", id)
}

// openTurnOf returns an open turn of the mailbox that f holds.
func openTurnOf(tx *Tx, f sessions.Fence, id string) (Turn, error) {
	if err := checkFence(tx, f); err != nil {
		return Turn{}, err
	}
	t, err := turnOf(tx, id)
	if err != nil {
		return Turn{}, err
	}
	if t.Token != f.Token || t.State == sessions.Done {
		return Turn{}, sessions.ErrFenced
	}
	return t, nil
}

// Turn implements [sessions.Turns].
func (s Turns) Turn(ctx context.Context, id string) (sessions.Turn, error) {
	t, err := view(ctx, s.db, func(tx *Tx) (Turn, error) { return turnOf(tx, id) })
	return t.Turn, err
}

// Open implements [sessions.Turns].
func (s Turns) Open(ctx context.Context, f sessions.Fence, o sessions.OpenTurn) (sessions.Turn, bool, error) {
	r, err := update(ctx, s.db, f, func(tx *Tx) (outcome[sessions.Turn], error) {
		r, err := openTurn(tx, f, o)
		if err == nil && r.yes && o.Call != nil {
			err = reserveHeld(tx, f, o.Call.Charge, o.Call.Reservation)
		}
		return r, err
	})
	if o.Call != nil {
		err = whyRefused(err, o.Call.Charge, o.Call.Reservation)
	}
	return r.of, r.yes, While(err, "open turn %s", o.Turn.ID)
}

func openTurn(tx *Tx, f sessions.Fence, o sessions.OpenTurn) (r outcome[sessions.Turn], err error) {
	m, err := ownedMailbox(tx, f)
	if err != nil {
		return r, err
	}
	if o.Turn.ID == "" {
		return r, errors.New("turn without id")
	}
	through := max(o.Through, o.Turn.Seq)
	if err := checkSeq(through); err != nil {
		return r, err
	}
	base, err := currentSession(tx, m)
	if err != nil {
		return r, err
	}
	nested := o.Turn.Session != "" && o.Turn.Session != base

	t, there, err := get[Turn](tx, TurnKey(o.Turn.ID))
	if err != nil {
		return r, err
	}
	if there {
		return reopenTurn(tx, m, t, through)
	}
	known, err := areKnown(tx, o.Events)
	switch {
	case err != nil:
		return r, err
	case known:
		if !nested {
			skip(tx, m, through)
		}
		return r, nil
	case nested:
		if err := checkDescends(tx, o.Turn.Session, base); err != nil {
			return r, err
		}
	case m.OpenTurn != "":
		return r, fmt.Errorf("turn %s is open in this mailbox", m.OpenTurn)
	}

	t = newTurn(m, o, nested)
	tx.put(t)
	if err := receiveAll(tx, o.Events, Event{Token: f.Token, Turn: t.ID, Seq: t.Seq, Epoch: f.Epoch, Nonce: f.Nonce}); err != nil {
		return r, err
	}
	putTextHashes(tx, o.TextHashes)
	if !nested {
		m.advanceRead(through)
		m.OpenTurn = t.ID
		tx.put(m)
	}
	return outcome[sessions.Turn]{t.Turn, true}, appendTo(tx, t.Session, t.OpenedAt, o.Message)
}

// currentSession returns the session of the mailbox's open turn; without one, the session to
// which its next message belongs.
func currentSession(tx *Tx, m Mailbox) (sessionkeys.SessionID, error) {
	if m.OpenTurn == "" {
		return m.Session, nil
	}
	t, err := turnOf(tx, m.OpenTurn)
	return t.Session, err
}

// newTurn returns the turn that an opening makes.
func newTurn(m Mailbox, o sessions.OpenTurn, nested bool) Turn {
	t := Turn{Turn: o.Turn, Nested: nested}
	t.Token, t.State = m.Token, sessions.Open
	t.Steps, t.Tries, t.Outcome, t.Refused = 0, 0, "", nil
	t.ReceivedAt, t.OpenedAt, t.EndedAt = normaliseTime(t.ReceivedAt), normaliseTime(t.OpenedAt), normaliseTime(t.EndedAt)
	t.Attempts = 1
	if !nested {
		t.Session, t.Attempts = m.Session, max(1, m.Attempts)
	}
	return t
}

// reopenTurn answers an opening whose turn is there already.
func reopenTurn(tx *Tx, m Mailbox, t Turn, through uint64) (r outcome[sessions.Turn], err error) {
	switch {
	case t.Token != m.Token:
		return r, errors.New("another mailbox has a turn of this id")
	case t.State != sessions.Done:
		return outcome[sessions.Turn]{t.Turn, true}, nil
	case !t.Nested:
		skip(tx, m, through)
	}
	return r, nil
}

// putTextHashes notes what messages say now.
func putTextHashes(tx *Tx, ws []sessions.TextHash) {
	for _, w := range ws {
		tx.put(TextHash{w})
	}
}

// appendTo adds the messages that the session does not have yet.
func appendTo(tx *Tx, id sessionkeys.SessionID, at time.Time, ms ...transcript.Message) error {
	if len(ms) == 0 {
		return nil
	}
	if _, err := sessionOf(tx, id); err != nil {
		return err
	}
	var fresh []transcript.Message
	for _, m := range ms {
		if m.ID == "" {
			return errors.New("message without id")
		}
		there, err := tx.has(id, m.ID)
		if err != nil {
			return fmt.Errorf("add message %s: %w", m.ID, err)
		}
		if there || slices.ContainsFunc(fresh, func(o transcript.Message) bool { return o.ID == m.ID }) {
			continue
		}
		m.CreatedAt = normaliseTime(m.CreatedAt)
		fresh = append(fresh, m)
	}
	if len(fresh) > 0 {
		tx.Set.Appended = append(tx.Set.Appended, Appended{Session: id, Messages: fresh, At: normaliseTime(at)})
	}
	return nil
}

// has reports whether the session has the message, or gets it in this transaction.
func (tx *Tx) has(id sessionkeys.SessionID, message string) (bool, error) {
	for _, a := range tx.Set.Appended {
		if a.Session == id && slices.ContainsFunc(a.Messages, func(m transcript.Message) bool { return m.ID == message }) {
			return true, nil
		}
	}
	return tx.Reader.Has(id, message)
}

// Join implements [sessions.Turns].
func (s Turns) Join(ctx context.Context, f sessions.Fence, j sessions.JoinTurn) (bool, error) {
	joined, err := update(ctx, s.db, f, func(tx *Tx) (bool, error) { return join(tx, f, j) })
	return joined, While(err, "join message %d to turn %s", j.Seq, j.Turn)
}

func join(tx *Tx, f sessions.Fence, j sessions.JoinTurn) (bool, error) {
	m, err := ownedMailbox(tx, f)
	if err != nil {
		return false, err
	}
	if j.Turn == "" || m.OpenTurn != j.Turn {
		return false, sessions.ErrFenced
	}
	through := max(j.Through, j.Seq)
	if err := checkSeq(through); err != nil {
		return false, err
	}
	became := Event{Token: f.Token, Turn: j.Turn, Seq: j.Seq, Epoch: f.Epoch, Nonce: f.Nonce}
	known, err := areKnown(tx, j.Events)
	if err != nil {
		return false, err
	}
	if known {
		return repeatOrSkip(tx, m, j.Events[0], became, through)
	}
	if err := receiveAll(tx, j.Events, became); err != nil {
		return false, err
	}
	putTextHashes(tx, j.TextHashes)
	t, err := turnOf(tx, j.Turn)
	if err != nil {
		return false, err
	}
	t.Joined = append(slices.Clip(t.Joined), j.Seq)
	tx.put(t)
	m.advanceRead(through)
	tx.put(m)
	return true, appendTo(tx, t.Session, j.Message.CreatedAt, j.Message)
}

// Skip implements [sessions.Turns].
func (s Turns) Skip(ctx context.Context, f sessions.Fence, seq uint64) error {
	err := s.db.Update(ctx, f, func(tx *Tx) error {
		if err := checkSeq(seq); err != nil {
			return err
		}
		m, err := ownedMailbox(tx, f)
		if err != nil {
			return err
		}
		skip(tx, m, seq)
		return nil
	})
	return While(err, "skip message %d of %s", seq, f.Token)
}

// Answer implements [sessions.Turns].
func (s Turns) Answer(ctx context.Context, f sessions.Fence, c sessions.Command) (bool, error) {
	done, err := update(ctx, s.db, f, func(tx *Tx) (bool, error) { return answer(tx, f, c) })
	return done, While(err, "answer message %d of %s", c.Seq, f.Token)
}

func answer(tx *Tx, f sessions.Fence, c sessions.Command) (bool, error) {
	m, err := ownedMailbox(tx, f)
	if err != nil {
		return false, err
	}
	if err := checkSeq(c.Seq); err != nil {
		return false, err
	}
	became := Event{Token: f.Token, Seq: c.Seq, Epoch: f.Epoch, Nonce: f.Nonce}
	known, err := isKnown(tx, c.Event)
	if err != nil {
		return false, err
	}
	if known {
		return repeatOrSkip(tx, m, c.Event, became, c.Seq)
	}
	receive(tx, c.Event, became)
	if err := receiveAll(tx, c.With, became); err != nil {
		return false, err
	}
	if err := changeSession(tx, &m, c); err != nil {
		return false, err
	}
	m.advanceRead(c.Seq)
	m.resetAttempts()
	tx.put(m)
	if err := writeRecords(tx, c.Records); err != nil {
		return false, err
	}
	return true, queueAnswers(tx, c.Replies)
}

// Append implements [sessions.Turns].
func (s Turns) Append(ctx context.Context, f sessions.Fence, turn string, ms ...transcript.Message) error {
	return s.AppendWith(ctx, f, turn, nil, ms...)
}

// AppendWith implements [sessions.Turns].
func (s Turns) AppendWith(ctx context.Context, f sessions.Fence, turn string, rs []sessions.Record, ms ...transcript.Message) error {
	err := s.db.Update(ctx, f, func(tx *Tx) error {
		t, err := openTurnOf(tx, f, turn)
		if err != nil {
			return err
		}
		var now time.Time
		for _, m := range ms {
			if m.CreatedAt.After(now) {
				now = m.CreatedAt
			}
		}
		if err := writeRecords(tx, rs); err != nil {
			return err
		}
		return appendTo(tx, t.Session, now, ms...)
	})
	return While(err, "append to turn %s", turn)
}

// Begin implements [sessions.Turns].
func (s Turns) Begin(ctx context.Context, f sessions.Fence, turn string, step int, callID string) (bool, error) {
	again, err := update(ctx, s.db, f, func(tx *Tx) (bool, error) {
		if _, err := openTurnOf(tx, f, turn); err != nil {
			return false, err
		}
		id := BegunKey{turn, step, callID}
		was, there, err := get[Begun](tx, id)
		if err != nil {
			return false, err
		}
		if !there {
			tx.put(Begun{ID: id, Epoch: f.Epoch, Nonce: f.Nonce})
		}
		return there && (was.Epoch != f.Epoch || was.Nonce != f.Nonce), nil
	})
	return again, While(err, "begin call %s of turn %s", callID, turn)
}

// Post implements [sessions.Turns].
func (s Turns) Post(ctx context.Context, f sessions.Fence, turn string, replies ...sessions.Outgoing) error {
	err := s.db.Update(ctx, f, func(tx *Tx) error {
		if _, err := openTurnOf(tx, f, turn); err != nil {
			return err
		}
		return queueAnswers(tx, replies)
	})
	return While(err, "queue answers of turn %s", turn)
}
