// Package memtest is the store of conversations in maps under one lock: a driver of
// [rules] that is fast enough for simulations of thousands of schedules. Nothing
// survives it. What operators ask and export (Survey, Queries, Recordings) it does not
// answer.
//
// One rule may be left out, see [Rule], to show that a test would notice.
package memtest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
	"parley/transcript"
)

// Store implements [sessions.Store], but for Survey, Queries and Recordings, which panic.
type Store struct {
	sessions.Survey
	sessions.Queries
	sessions.Recordings

	rules.Operations
	db      *database
	without Rule
}

var _ sessions.Store = (*Store)(nil)

// New returns an empty store without the given rule.
func New(without Rule) *Store {
	db := newDatabase()
	db.openTurnOwed = without != OpenTurnOwed
	return &Store{db: db, without: without, Operations: rules.Over(&forgetful{database: db, without: without})}
}

// Check implements [sessions.Store].
func (*Store) Check(context.Context) error { return nil }

// Probe implements [sessions.Store].
func (*Store) Probe(context.Context) error { return nil }

// Clock implements [sessions.Store].
func (*Store) Clock(context.Context) (time.Time, error) { return time.Now(), nil }

// Close implements [sessions.Store].
func (*Store) Close() error { return nil }

// Generation implements [sessions.Dispatch].
func (s *Store) Generation(context.Context) (string, uint64, error) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	highest := uint64(0)
	for m := range each[rules.Mailbox](s.db) {
		highest = max(highest, m.LastSeen)
	}
	return s.db.generation, highest, nil
}

// StartGeneration implements [sessions.Dispatch].
func (s *Store) StartGeneration(_ context.Context, name string) (int, error) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if name == "" {
		return 0, errors.New("start a generation: it has no name")
	}
	if name == s.db.generation {
		return s.db.lost, nil
	}
	s.db.generation, s.db.lost = name, 0
	for m := range each[rules.Mailbox](s.db) {
		if m.LastSeen > m.LastRead {
			s.db.lost++
			if m.OpenTurn == "" {
				m.Attempts = 0
			}
		}
		m.LastSeen, m.LastRead = 0, 0
		s.db.put(m)
	}
	for c := range each[rules.Control](s.db) {
		c.Through = 0
		s.db.put(c)
	}
	return s.db.lost, nil
}

// Messages implements [sessions.Turns].
func (s *Store) Messages(_ context.Context, id sessionkeys.SessionID) ([]transcript.Message, error) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if s.db.rows("session")[rules.SessionKey(id)] == nil {
		return nil, sessions.ErrNotFound
	}
	return slices.Clone(s.db.history[id]), nil
}

// MessagesAfter implements [sessions.Turns].
func (s *Store) MessagesAfter(_ context.Context, id sessionkeys.SessionID, after, limit int) ([]transcript.Message, error) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	all := s.db.history[id]
	first := min(max(after, 0), len(all))
	return slices.Clone(all[first:min(len(all), first+max(limit, 0))]), nil
}

// TurnsOf implements [sessions.Turns].
func (s *Store) TurnsOf(_ context.Context, id sessionkeys.SessionID) (ts []sessions.Turn, _ error) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	for t := range each[rules.Turn](s.db) {
		if t.Session == id {
			ts = append(ts, t.Turn)
		}
	}
	rules.SortTurns(ts)
	return ts, nil
}

// Session implements [sessions.Turns].
func (s *Store) Session(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error) {
	return s.db.Session(ctx, id)
}

// Tree implements [sessions.Turns].
func (s *Store) Tree(ctx context.Context, id sessionkeys.SessionID) (tree []sessions.Session, err error) {
	s.db.mu.Lock()
	all := map[sessionkeys.SessionID]rules.Session{}
	for x := range each[rules.Session](s.db) {
		all[x.ID] = x
	}
	order := slices.Clone(s.db.order)
	s.db.mu.Unlock()
	for _, other := range order {
		at := other
		for at != "" && at != id {
			at = all[at].Parent
		}
		if at == "" {
			continue
		}
		x, err := s.Session(ctx, other)
		if err != nil {
			return nil, err
		}
		tree = append(tree, x)
	}
	if len(tree) == 0 {
		return nil, sessions.ErrNotFound
	}
	slices.SortStableFunc(tree, func(a, b sessions.Session) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), a.CreatedAt.Compare(b.CreatedAt))
	})
	return tree, nil
}

// Pending implements [sessions.Outbox].
func (s *Store) Pending(_ context.Context, channel string, after uint64, limit int) (ds []sessions.Delivery, err error) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	for _, k := range s.db.answers {
		a := s.db.answer(k)
		if a.Channel == channel && a.Order > after && !a.Done && len(ds) < limit {
			ds = append(ds, s.db.delivery(a))
		}
	}
	if s.without == OutboxOrder {
		slices.Reverse(ds)
	}
	return ds, nil
}

// Delivery implements [sessions.Outbox].
func (s *Store) Delivery(_ context.Context, id string) (sessions.Delivery, error) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	a := s.db.answer(rules.AnswerKey(id))
	if a.ID == "" {
		return sessions.Delivery{}, sessions.ErrNotFound
	}
	return s.db.delivery(a), nil
}

// Ledger implements [sessions.Money].
func (s *Store) Ledger(_ context.Context, id sessionkeys.SessionID, yield func(sessionkeys.SessionID, costs.Entry) bool) error {
	s.db.mu.Lock()
	booked := slices.Clone(s.db.ledger)
	s.db.mu.Unlock()
	for _, b := range booked {
		if (id == "" || b.Session == id) && !yield(b.Session, b.Entry) {
			break
		}
	}
	return nil
}

// Totals implements [sessions.Money].
func (s *Store) Totals(context.Context) (ts []sessions.Total, err error) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	for _, b := range s.db.ledger {
		i := slices.IndexFunc(ts, func(t sessions.Total) bool { return t.Labels == b.Entry.Labels })
		if i < 0 {
			i, ts = len(ts), append(ts, sessions.Total{Labels: b.Entry.Labels})
		}
		ts[i].Amount += b.Entry.Amount
		ts[i].Calls++
		if !b.Entry.Priced {
			ts[i].Unknown++
		}
	}
	return ts, nil
}

// Unattended returns which mailboxes are owed work and have no living owner:
// those that Recover finds for a worker who owns none.
func (s *Store) Unattended(now time.Time) (tokens []string) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	var found []rules.Mailbox
	for m := range each[rules.Mailbox](s.db) {
		if s.db.owed(m) && (m.Owner.Nonce == "" || s.without == LeaseCheck || !s.db.lives(m.Owner, now)) {
			found = append(found, m)
		}
	}
	byWaiting(found)
	for _, m := range found {
		tokens = append(tokens, m.Token)
	}
	return tokens
}

// Lives reports whether the worker holds its lease at that time.
func (s *Store) Lives(w sessions.Worker, now time.Time) bool {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	return s.db.lives(w, now)
}

// Queued returns how many answers were ever queued.
func (s *Store) Queued() int {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	return len(s.db.answers)
}

// Length returns how many messages the sessions have together.
func (s *Store) Length(ids ...sessionkeys.SessionID) (n int) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	for _, id := range ids {
		n += len(s.db.history[id])
	}
	return n
}
