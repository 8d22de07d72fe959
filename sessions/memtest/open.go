package memtest

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

func (s *Store) isReceived(e sessions.InboxID) bool {
	_, known := s.inbox[e]
	return known
}

// receive notes an event. The zero event is none.
func (s *Store) receive(e sessions.InboxID, r inboxRow) {
	if e != (sessions.InboxID{}) && !s.isReceived(e) {
		s.inbox[e] = r
	}
}

// receivedOf are those of the events that are known, and whether all are.
func (s *Store) receivedOf(events []sessions.InboxID) (known []sessions.InboxID, all bool) {
	for _, e := range events {
		if s.isReceived(e) && !slices.Contains(known, e) {
			known = append(known, e)
		}
	}
	return known, !slices.ContainsFunc(events, func(e sessions.InboxID) bool { return !slices.Contains(known, e) })
}

// word notes what messages say now.
func (s *Store) word(ws []sessions.Wording) {
	for _, w := range ws {
		sum := w.Sum
		w.Sum = ""
		s.words[w] = sum
	}
}

// Known implements [sessions.Turns].
func (s *Store) Known(_ context.Context, events ...sessions.InboxID) ([]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := make([]bool, len(events))
	for i, e := range events {
		known[i] = s.isReceived(e)
	}
	return known, nil
}

// Said implements [sessions.Turns].
func (s *Store) Said(_ context.Context, w sessions.Wording) (string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Sum = ""
	sum, found := s.words[w]
	return sum, found, nil
}

// Open implements [sessions.Turns].
func (s *Store) Open(_ context.Context, f sessions.Fence, o sessions.Opening) (sessions.Turn, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.owned(f)
	if err != nil {
		return sessions.Turn{}, false, err
	}
	if o.Turn.ID == "" || o.Message.ID == "" {
		return sessions.Turn{}, false, errors.New("it has no id")
	}
	through, nested := max(o.Through, o.Turn.Seq), o.Turn.Session != ""
	known, all := s.receivedOf(o.Events)
	switch t := s.turns[o.Turn.ID]; {
	case t != nil && t.Token != f.Token:
		return sessions.Turn{}, false, errors.New("another mailbox has a turn of this id")
	case t != nil && t.State != sessions.Done:
		return t.Turn, true, nil // its answer was lost
	case t != nil:
		if !t.nested {
			b.skip(through)
		}
		return sessions.Turn{}, false, nil
	case len(known) > 0 && s.obeys(InboxDedupe):
		if !all {
			return sessions.Turn{}, false, &sessions.KnownError{Events: known}
		}
		if !nested {
			b.skip(through)
		}
		return sessions.Turn{}, false, nil
	case nested:
		if !s.below(o.Turn.Session, b.Session) {
			return sessions.Turn{}, false, fmt.Errorf("the session is no descendant: %w", sessions.ErrNotFound)
		}
	case b.turn != nil:
		return sessions.Turn{}, false, errors.New("a turn is open in this mailbox")
	}
	t := &turn{Turn: o.Turn, nested: nested}
	t.Token, t.State, t.Outcome, t.Steps, t.Tries = f.Token, sessions.Open, "", 0, 0
	t.ReceivedAt, t.OpenedAt, t.EndedAt = stamp(t.ReceivedAt), stamp(t.OpenedAt), stamp(t.EndedAt)
	t.Attempts = 1
	if !nested {
		t.Session, t.Attempts = b.Session, max(1, b.Attempts)
		b.pass(through)
		b.turn = t
	}
	s.turns[t.ID] = t
	for _, e := range o.Events {
		s.receive(e, inboxRow{f.Token, t.ID, t.Seq, f})
	}
	s.word(o.Words)
	s.add(t.Session, t.OpenedAt, o.Message)
	return t.Turn, true, nil
}

// Join implements [sessions.Turns].
func (s *Store) Join(_ context.Context, f sessions.Fence, j sessions.Joining) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.owned(f)
	switch {
	case err != nil:
		return false, err
	case j.Turn == "" || b.turn == nil || b.turn.ID != j.Turn:
		return false, sessions.ErrFenced
	case j.Message.ID == "":
		return false, errors.New("it has no id")
	}
	through, row := max(j.Through, j.Seq), inboxRow{f.Token, j.Turn, j.Seq, f}
	if known, all := s.receivedOf(j.Events); len(known) > 0 && s.obeys(InboxDedupe) {
		switch {
		case !all:
			return false, &sessions.KnownError{Events: known}
		case s.inbox[j.Events[0]] == row:
			return true, nil // its answer was lost
		}
		b.skip(through)
		return false, nil
	}
	for _, e := range j.Events {
		s.receive(e, row)
	}
	s.word(j.Words)
	b.pass(through)
	s.add(b.turn.Session, j.Message.CreatedAt, j.Message)
	return true, nil
}

// add adds the messages that the session does not have yet.
func (s *Store) add(id sessionkeys.SessionID, at time.Time, ms ...transcript.Message) {
	x := s.sessions[id]
	for _, m := range ms {
		if slices.ContainsFunc(x.messages, func(o transcript.Message) bool { return o.ID == m.ID }) {
			continue
		}
		m.CreatedAt = stamp(m.CreatedAt)
		x.messages = append(x.messages, m)
		if at = stamp(at); at.After(x.UpdatedAt) {
			x.UpdatedAt = at
		}
	}
}
