package memtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"parley/sessionkeys"
	"parley/sessions"
)

func sendable(replies []sessions.Outgoing) error {
	for _, o := range replies {
		if o.ID == "" {
			return errors.New("queue an answer: it has no id")
		}
	}
	return nil
}

// queue adds answers that are not there yet.
func (s *Store) queue(replies []sessions.Outgoing) {
	for _, o := range replies {
		if s.byID[o.ID] != nil {
			continue
		}
		o.At = stamp(o.At)
		if o.File != nil { // the caller's may change
			file := *o.File
			o.File = &file
		}
		d := &sessions.Delivery{Outgoing: o, Order: uint64(len(s.outbox) + 1)}
		s.outbox = append(s.outbox, d)
		s.byID[o.ID] = &answer{Delivery: d}
	}
}

func (s *Store) view(d *sessions.Delivery) sessions.Delivery {
	v := *d
	v.Parts = slices.Clone(d.Parts)
	if t := s.turns[d.Turn]; t != nil {
		v.Preview, v.Asked = s.previews[d.Turn], t.ReceivedAt
	}
	return v
}

// Pending implements [sessions.Outbox].
func (s *Store) Pending(_ context.Context, channel string, after uint64, limit int) (ds []sessions.Delivery, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.outbox {
		if d.Channel == channel && d.Order > after && !s.byID[d.ID].done && len(ds) < limit {
			ds = append(ds, s.view(d))
		}
	}
	if !s.obeys(OutboxOrder) {
		slices.Reverse(ds)
	}
	return ds, nil
}

// Delivery implements [sessions.Outbox].
func (s *Store) Delivery(_ context.Context, id string) (sessions.Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[id] == nil {
		return sessions.Delivery{}, sessions.ErrNotFound
	}
	return s.view(s.byID[id].Delivery), nil
}

// Preview implements [sessions.Outbox].
func (s *Store) Preview(_ context.Context, turn, messageID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turns[turn] == nil {
		return sessions.ErrNotFound
	}
	s.previews[turn] = messageID
	return nil
}

// Previewed implements [sessions.Outbox].
func (s *Store) Previewed(_ context.Context, turn string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turns[turn] == nil {
		return "", sessions.ErrNotFound
	}
	return s.previews[turn], nil
}

// Advance implements [sessions.Outbox].
func (s *Store) Advance(_ context.Context, id string, p sessions.Progress) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.byID[id]
	if a == nil {
		return sessions.ErrNotFound
	}
	parts := slices.Clone(a.Parts)
	if len(parts) == 0 && !a.done {
		for _, b := range p.Bodies {
			parts = append(parts, sessions.Part{Body: slices.Clone(b), State: sessions.Queued})
		}
	}
	if p.Close && len(parts) > 0 {
		return errors.New("close it: it has parts")
	}
	for _, m := range p.Marks {
		if err := s.mark(parts, m); err != nil {
			return err
		}
	}
	a.Parts = parts
	open := slices.ContainsFunc(parts, func(p sessions.Part) bool { return p.State != sessions.Sent && p.State != sessions.Failed })
	a.done = a.done || p.Close || len(parts) > 0 && !open
	return nil
}

// mark moves one part. One that was made by an earlier try of the same step
// changes nothing.
func (s *Store) mark(ps []sessions.Part, m sessions.Mark) error {
	if m.Index < 0 || m.Index >= len(ps) {
		return fmt.Errorf("part %d of %d: %w", m.Index, len(ps), sessions.ErrNotFound)
	}
	follows := map[sessions.SendState][]sessions.SendState{
		sessions.Queued:    {sessions.Sending, sessions.Failed},
		sessions.Sending:   {sessions.Sent, sessions.Failed, sessions.Uncertain, sessions.Queued},
		sessions.Uncertain: {sessions.Sending, sessions.Sent, sessions.Failed, sessions.Queued},
	}
	p := &ps[m.Index]
	same := p.State == m.To && p.MessageID == m.MessageID && p.Problem == m.Problem && p.At.Equal(stamp(m.At)) && p.By == m.By
	fits := slices.Contains(follows[m.From], m.To) && p.State == m.From
	switch {
	case slices.Contains(follows[m.From], m.To) && same:
		return nil
	case !fits && s.obeys(SendingMark):
		return fmt.Errorf("part %d is %s, and cannot go from %s to %s: %w", m.Index, p.State, m.From, m.To, sessions.ErrFenced)
	}
	p.State, p.MessageID, p.Problem, p.At, p.By = m.To, m.MessageID, m.Problem, stamp(m.At), m.By
	if m.To == sessions.Sending {
		p.Attempts++
	}
	return nil
}

// Queued is how many answers were ever queued.
func (s *Store) Queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.outbox)
}

// Length is how many messages the sessions have together.
func (s *Store) Length(ids ...sessionkeys.SessionID) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		n += len(s.sessions[id].messages)
	}
	return n
}
