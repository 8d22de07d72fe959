package memtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// below is whether id stands somewhere below ancestor.
func (s *Store) below(id, ancestor sessionkeys.SessionID) bool {
	for at := s.sessions[id]; at != nil; at = s.sessions[at.Parent] {
		if at.Parent == ancestor {
			return true
		}
	}
	return false
}

// Resume implements [sessions.Turns].
func (s *Store) Resume(_ context.Context, f sessions.Fence, now time.Time) (sessions.Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.owned(f)
	if err != nil {
		return sessions.Turn{}, err
	}
	if b.turn == nil {
		return sessions.Turn{}, sessions.ErrNotFound
	}
	s.interrupt(now, func(c *call) bool { return c.token == f.Token })
	return b.turn.Turn, nil
}

// Skip implements [sessions.Turns].
func (s *Store) Skip(_ context.Context, f sessions.Fence, seq uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.owned(f)
	if err != nil {
		return err
	}
	b.skip(seq)
	return nil
}

// Answer implements [sessions.Turns].
func (s *Store) Answer(_ context.Context, f sessions.Fence, c sessions.Command) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.owned(f)
	if err != nil {
		return false, err
	}
	row := inboxRow{f.Token, "", c.Seq, f}
	if was, known := s.inbox[c.Event]; known && s.obeys(InboxDedupe) {
		if was == row {
			return true, nil // its answer was lost
		}
		b.skip(c.Seq)
		return false, nil
	}
	if err := sendable(c.Replies); err != nil {
		return false, err
	}
	for _, e := range append([]sessions.InboxID{c.Event}, c.With...) {
		s.receive(e, row)
	}
	if c.Fresh != "" && c.Fresh != b.Session {
		s.addSession(sessions.Session{ID: c.Fresh, Key: b.Key, Root: c.Fresh, Role: "main", CreatedAt: c.At})
		b.Session = c.Fresh
	}
	b.pass(c.Seq)
	b.restart()
	s.queue(c.Replies)
	return true, nil
}

// Notice implements [sessions.Turns].
func (s *Store) Notice(_ context.Context, e sessions.InboxID, replies []sessions.Outgoing, _ time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := sendable(replies); err != nil {
		return false, err
	}
	if s.isReceived(e) {
		return false, nil
	}
	s.receive(e, inboxRow{})
	s.queue(replies)
	return true, nil
}

// Messages implements [sessions.Turns].
func (s *Store) Messages(_ context.Context, id sessionkeys.SessionID) ([]transcript.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[id]
	if x == nil {
		return nil, sessions.ErrNotFound
	}
	return slices.Clone(x.messages), nil
}

// openTurnOf is an open turn of the mailbox that f holds.
func (s *Store) openTurnOf(f sessions.Fence, id string) (*turn, error) {
	if _, err := s.owned(f); err != nil {
		return nil, err
	}
	t := s.turns[id]
	switch {
	case t == nil:
		return nil, sessions.ErrNotFound
	case t.Token != f.Token || t.State == sessions.Done:
		return nil, sessions.ErrFenced
	}
	return t, nil
}

// Append implements [sessions.Turns].
func (s *Store) Append(_ context.Context, f sessions.Fence, id string, ms ...transcript.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.openTurnOf(f, id)
	if err != nil {
		return err
	}
	for _, m := range ms {
		s.add(t.Session, m.CreatedAt, m)
	}
	return nil
}

// Post implements [sessions.Turns].
func (s *Store) Post(_ context.Context, f sessions.Fence, id string, replies ...sessions.Outgoing) error {
	if err := sendable(replies); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.openTurnOf(f, id); err != nil {
		return err
	}
	s.queue(replies)
	return nil
}

// Begin implements [sessions.Turns].
func (s *Store) Begin(_ context.Context, f sessions.Fence, id string, step int, callID string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.openTurnOf(f, id); err != nil {
		return false, err
	}
	b := begun{id, step, callID}
	was, there := s.begun[b]
	if !there {
		s.begun[b] = f
	}
	return there && was != f && s.obeys(BeginNote), nil
}

// Finish implements [sessions.Turns].
func (s *Store) Finish(_ context.Context, f sessions.Fence, e sessions.Ending) (sessions.Mailbox, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := sendable(e.Replies); err != nil {
		return sessions.Mailbox{}, false, err
	}
	if e.Settlement != nil {
		if err := s.book(e.Settlement.Entry); err != nil {
			return sessions.Mailbox{}, false, err
		}
	}
	b, t := s.boxes[f.Token], s.turns[e.Turn]
	held := s.holds(b, f)
	switch {
	case t == nil && held:
		return sessions.Mailbox{}, false, sessions.ErrNotFound
	case t != nil && t.State == sessions.Done && t.ended == f && (held || t.released):
		return s.shown(b), t.released, nil // its answer was lost
	case t == nil, !held, t.Token != f.Token, t.State == sessions.Done:
		return sessions.Mailbox{}, false, sessions.ErrFenced
	}
	s.add(t.Session, e.At, e.Messages...)
	if e.Settlement != nil && len(e.Messages) > 0 {
		t.stepOn(e.Settlement.Entry.Call)
	}
	s.close(t, e.Outcome, e.At, f)
	s.queue(e.Replies)
	if t.nested {
		return s.shown(b), false, nil
	}
	if e.Nested {
		for _, n := range s.turns {
			if n.nested && n.Token == f.Token && n.State == sessions.Open {
				s.close(n, transcript.Canceled, e.At, f)
			}
		}
	}
	b.turn, b.Attempts = nil, 1
	if t.released = !s.owed(b) || !s.obeys(ReleaseCheck); t.released {
		b.giveUp()
		b.Attempts = 0
	}
	return s.shown(b), t.released, nil
}

// close ends a turn; calls of its loop that were not settled are interrupted.
func (s *Store) close(t *turn, o transcript.FinishReason, at time.Time, f sessions.Fence) {
	s.interrupt(at, func(c *call) bool {
		return c.token == t.Token && c.turn == t.ID && ofLoop(c.Estimate.Call.Purpose)
	})
	t.State, t.Outcome, t.EndedAt, t.ended = sessions.Done, o, stamp(at), f
}

// Spawn implements [sessions.Turns].
func (s *Store) Spawn(_ context.Context, f sessions.Fence, c sessions.Session) (sessions.Session, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.owned(f); err != nil {
		return sessions.Session{}, false, err
	}
	if c.ID == "" || c.Key.IsZero() || c.Parent == "" {
		return sessions.Session{}, false, errors.New("it has no id, no key or no parent")
	}
	if x := s.sessions[c.ID]; x != nil {
		if x.Parent != c.Parent {
			return sessions.Session{}, false, errors.New("it is there with another parent")
		}
		return s.summed(x), false, nil
	}
	parent := s.sessions[c.Parent]
	switch {
	case parent == nil:
		return sessions.Session{}, false, fmt.Errorf("its parent: %w", sessions.ErrNotFound)
	case parent.Depth+1 > sessionkeys.MaxDepth:
		return sessions.Session{}, false, errors.New("it would stand too deep")
	}
	s.addSession(sessions.Session{
		ID: c.ID, Key: c.Key, Parent: c.Parent, Root: parent.Root, Depth: parent.Depth + 1, ToolCallID: c.ToolCallID,
		Role: c.Role, Policy: c.Policy, Title: c.Title, CreatedAt: c.CreatedAt,
	})
	return s.summed(s.sessions[c.ID]), true, nil
}

// Session implements [sessions.Turns].
func (s *Store) Session(_ context.Context, id sessionkeys.SessionID) (sessions.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[id] == nil {
		return sessions.Session{}, sessions.ErrNotFound
	}
	return s.summed(s.sessions[id]), nil
}

// Tree implements [sessions.Turns].
func (s *Store) Tree(_ context.Context, id sessionkeys.SessionID) (tree []sessions.Session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[id] == nil {
		return nil, sessions.ErrNotFound
	}
	var found []*session
	for other, x := range s.sessions {
		if other == id || s.below(other, id) {
			found = append(found, x)
		}
	}
	slices.SortFunc(found, func(a, b *session) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.no, b.no))
	})
	for _, x := range found {
		tree = append(tree, s.summed(x))
	}
	return tree, nil
}

// Turn implements [sessions.Turns].
func (s *Store) Turn(_ context.Context, id string) (sessions.Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turns[id] == nil {
		return sessions.Turn{}, sessions.ErrNotFound
	}
	return s.turns[id].Turn, nil
}
