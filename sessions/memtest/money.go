package memtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// ofLoop is whether a turn waits for such calls.
func ofLoop(p costs.Purpose) bool { return p != costs.Title && p != costs.Summary }

// stepOn notes that a call of the turn's loop was answered.
func (t *turn) stepOn(c costs.CallID) {
	if ofLoop(c.Purpose) && c.Step > t.Steps {
		t.Steps, t.Tries = c.Step, 0
	}
}

// held is what c may still cost.
func (c *call) held() costs.Amount {
	switch {
	case c.entry == nil:
		return c.Estimate.Upper
	case c.entry.State == costs.Interrupted:
		return max(0, c.entry.Upper-c.entry.Amount)
	}
	return 0
}

// summed is a session with its sums, which are not kept but counted.
func (s *Store) summed(x *session) sessions.Session {
	sum := x.Session
	sum.Messages = len(x.messages)
	for _, c := range s.calls {
		if c.session != x.ID && !s.below(c.session, x.ID) {
			continue
		}
		sum.Held += c.held()
		if c.entry == nil {
			continue
		}
		sum.Subtree += c.entry.Amount
		if c.session == x.ID {
			sum.Own += c.entry.Amount
		}
		if !c.entry.Priced {
			sum.Unpriced++
		}
	}
	return sum
}

// room says whether the scopes have room for an estimate.
func (s *Store) room(scopes []sessions.Scope, e costs.Estimate, at time.Time) error {
	for _, scope := range scopes {
		if scope.Limit == 0 {
			continue
		}
		settled, held := s.spent(scope, at)
		if spent := settled + held; !e.Priced || spent+e.Upper > scope.Limit {
			return &costs.BudgetError{
				Scope: scope.Kind, Window: scope.Window, Limit: scope.Limit, Spent: spent, Need: e.Upper,
				Free: scope.Window.Next(at), Unpriced: !e.Priced,
			}
		}
	}
	return nil
}

// doubted is whether what c holds counts in a scope at a time: in one that never
// ends an interrupted call counts up to the end of the day of its interruption.
func (c *call) doubted(w costs.Window, at time.Time) bool {
	return w != costs.Always || c.entry == nil || costs.Day.Name(at) <= costs.Day.Name(c.entry.At)
}

// Reserve implements [sessions.Turns].
func (s *Store) Reserve(_ context.Context, f sessions.Fence, c sessions.Charge, r costs.Reservation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.owned(f); err != nil {
		return err
	}
	if r.ID == "" || r.Estimate.Upper < 0 {
		return errors.New("it has no id, or its bound is below 0")
	}
	if s.calls[r.ID] != nil {
		return nil
	}
	if s.sessions[c.Session] == nil {
		return fmt.Errorf("its session: %w", sessions.ErrNotFound)
	}
	if err := s.room(c.Scopes, r.Estimate, r.At); err != nil {
		return err
	}
	s.calls[r.ID] = &call{Reservation: r, token: f.Token, turn: c.Turn, session: c.Session, scopes: slices.Clone(c.Scopes)}
	t, id := s.turns[c.Turn], r.Estimate.Call
	if t != nil && ofLoop(id.Purpose) && t.Steps+1 == id.Step {
		t.Tries = max(t.Tries, id.Attempt)
	}
	return nil
}

// book writes an entry down, once.
func (s *Store) book(e costs.Entry) error {
	c := s.calls[e.ID]
	switch {
	case c == nil:
		return fmt.Errorf("reservation %s: %w", e.ID, sessions.ErrNotFound)
	case c.entry != nil:
		return nil
	case e.Amount < 0 || e.Upper < 0:
		return errors.New("the entry's amount is negative")
	}
	e.At = stamp(e.At)
	c.entry = &e
	s.ledger = append(s.ledger, c)
	return nil
}

// interrupt books the open calls that which names at nothing.
func (s *Store) interrupt(now time.Time, which func(*call) bool) {
	var open []*call
	for _, c := range s.calls {
		if c.entry == nil && which(c) {
			open = append(open, c)
		}
	}
	slices.SortFunc(open, func(a, b *call) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Estimate.Call.Step, b.Estimate.Call.Step), cmp.Compare(a.ID, b.ID))
	})
	for _, c := range open {
		e := c.Estimate
		_ = s.book(costs.Entry{ // an open call with amounts that are not negative
			ID: c.ID, Call: e.Call, Labels: e.Labels, Usage: costs.Usage{Source: costs.Estimated}, Upper: e.Upper, Priced: e.Priced,
			State: costs.Interrupted, Outcome: "interrupted", At: now,
		})
	}
}

// Settle implements [sessions.Turns].
func (s *Store) Settle(_ context.Context, f sessions.Fence, st costs.Settlement, ms ...transcript.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.book(st.Entry); err != nil {
		return err
	}
	if _, err := s.owned(f); err != nil {
		return err
	}
	if len(ms) == 0 {
		return nil
	}
	t := s.turns[s.calls[st.Entry.ID].turn]
	switch {
	case t == nil:
		return sessions.ErrNotFound
	case t.Token != f.Token:
		return sessions.ErrFenced
	}
	s.add(t.Session, st.Entry.At, ms...)
	t.stepOn(st.Entry.Call)
	return nil
}

// Ledger implements [sessions.Money].
func (s *Store) Ledger(_ context.Context, id sessionkeys.SessionID, yield func(sessionkeys.SessionID, costs.Entry) bool) error {
	s.mu.Lock()
	rows := slices.Clone(s.ledger)
	s.mu.Unlock()
	for _, c := range rows {
		if (id == "" || c.session == id) && !yield(c.session, *c.entry) {
			break
		}
	}
	return nil
}

// Totals implements [sessions.Money].
func (s *Store) Totals(context.Context) (ts []sessions.Total, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.ledger {
		i := slices.IndexFunc(ts, func(t sessions.Total) bool { return t.Labels == c.entry.Labels })
		if i < 0 {
			i, ts = len(ts), append(ts, sessions.Total{Labels: c.entry.Labels})
		}
		ts[i].Amount += c.entry.Amount
		ts[i].Calls++
		if !c.entry.Priced {
			ts[i].Unknown++
		}
	}
	return ts, nil
}

// Spent implements [sessions.Money].
func (s *Store) Spent(_ context.Context, scope sessions.Scope, at time.Time) (settled, held costs.Amount, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	settled, held = s.spent(scope, at)
	return settled, held, nil
}

func (s *Store) spent(scope sessions.Scope, at time.Time) (settled, held costs.Amount) {
	scope.Limit = 0
	for _, c := range s.calls {
		counts := slices.ContainsFunc(c.scopes, func(o sessions.Scope) bool {
			o.Limit = 0
			return o == scope
		})
		if !counts || scope.Window.Name(c.At) != scope.Window.Name(at) {
			continue
		}
		if c.doubted(scope.Window, at) {
			held += c.held()
		}
		if c.entry != nil {
			settled += c.entry.Amount
		}
	}
	return settled, held
}
