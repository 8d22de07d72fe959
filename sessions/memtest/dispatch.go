package memtest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"parley/sessions"
)

// Generation implements [sessions.Dispatch].
func (s *Store) Generation(context.Context) (string, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	highest := uint64(0)
	for _, b := range s.boxes {
		highest = max(highest, b.Touched)
	}
	return s.generation, highest, nil
}

// StartGeneration implements [sessions.Dispatch].
func (s *Store) StartGeneration(_ context.Context, name string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == "" {
		return 0, errors.New("start a generation: it has no name")
	}
	if name == s.generation {
		return s.lost, nil
	}
	s.generation, s.lost = name, 0
	for _, b := range s.boxes {
		if b.Touched > b.Read {
			s.lost++
			if b.turn == nil {
				b.Attempts = 0
			}
		}
		b.Touched, b.Read = 0, 0
	}
	for _, c := range s.controls {
		c.Through = 0
	}
	return s.lost, nil
}

// Heartbeat implements [sessions.Dispatch].
func (s *Store) Heartbeat(_ context.Context, w sessions.Worker, until time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.Name == "" || w.Nonce == "" {
		return errors.New("heartbeat: the worker has no name or no nonce")
	}
	if s.gone(w) {
		return sessions.ErrFenced
	}
	for other, l := range s.workers {
		l.gone = l.gone || other.Name == w.Name && other != w
	}
	if l := s.workers[w]; l == nil {
		s.workers[w] = &lease{until: stamp(until)}
	} else if until.After(l.until) {
		l.until = stamp(until)
	}
	return nil
}

// Leave implements [sessions.Dispatch].
func (s *Store) Leave(_ context.Context, w sessions.Worker) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers[w] = &lease{gone: true}
	return nil
}

// Touch implements [sessions.Dispatch].
func (s *Store) Touch(_ context.Context, t sessions.Touch) (sessions.Mailbox, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.Take && (t.By.Name == "" || t.By.Nonce == "") {
		return sessions.Mailbox{}, false, errors.New("nobody can take it: the worker has no name or no nonce")
	}
	b, err := s.mailboxFor(t.Token, t.Key, t.Now)
	if err != nil {
		return sessions.Mailbox{}, false, err
	}
	if t.Seq > b.Touched {
		if !s.owed(b) {
			b.since = t.Now.UnixMicro()
		}
		b.Touched = t.Seq
	}
	got := t.Take && s.owed(b) && b.Owner.Nonce != t.By.Nonce && s.unowned(b, t.Now) && s.mayTake(t.By, t.Now)
	if got {
		s.take(b, t.By)
	}
	return s.shown(b), got, nil
}

// unowned is whether nobody lives who owns the mailbox.
func (s *Store) unowned(b *box, now time.Time) bool {
	return b.Owner.Nonce == "" || !s.lives(b.Owner, now) || !s.obeys(LeaseCheck)
}

// mayTake is whether a worker lives, and so may take what has no living owner.
func (s *Store) mayTake(w sessions.Worker, now time.Time) bool {
	return s.lives(w, now) || !s.gone(w) && !s.obeys(TakerCheck)
}

// Reacquire implements [sessions.Dispatch].
func (s *Store) Reacquire(_ context.Context, f sessions.Fence, _ time.Time) (sessions.Mailbox, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boxes[f.Token]
	switch {
	case b != nil && b.prior != 0 && b.prior == f.Epoch && b.Epoch == f.Epoch+1 && b.Owner.Nonce == f.Nonce:
		return s.shown(b), nil // its answer was lost
	case !s.holds(b, f), s.gone(b.Owner):
		return sessions.Mailbox{}, sessions.ErrFenced
	}
	b.prior = b.Epoch
	s.again(b)
	return s.shown(b), nil
}

// Recover implements [sessions.Dispatch].
func (s *Store) Recover(_ context.Context, w sessions.Worker, now time.Time, limit int) ([]sessions.Mailbox, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.Name == "" || w.Nonce == "" {
		return nil, errors.New("recover: the worker has no name or no nonce")
	}
	if s.gone(w) {
		return nil, sessions.ErrFenced
	}
	if !s.mayTake(w, now) {
		return nil, nil
	}
	var ms []sessions.Mailbox
	for _, b := range s.unattended(w.Nonce, now) {
		if len(ms) >= limit {
			break
		}
		s.take(b, w)
		ms = append(ms, s.shown(b))
	}
	return ms, nil
}

// unattended are the mailboxes, but for those of nonce, that are owed work and
// have no living owner: first what dead ones left, then what waited longest.
func (s *Store) unattended(nonce string, now time.Time) (found []*box) {
	for _, b := range s.boxes {
		if s.owed(b) && (b.Owner.Nonce == "" || b.Owner.Nonce != nonce && s.unowned(b, now)) {
			found = append(found, b)
		}
	}
	left := func(b *box) int {
		if b.Owner.Nonce != "" {
			return 0
		}
		return 1
	}
	slices.SortFunc(found, func(a, b *box) int {
		return cmp.Or(cmp.Compare(left(a), left(b)), cmp.Compare(a.since, b.since), cmp.Compare(a.Token, b.Token))
	})
	return found
}

// Unattended says which mailboxes are owed work and have no living owner:
// those that Recover finds for a worker who owns none.
func (s *Store) Unattended(now time.Time) (tokens []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.unattended("", now) {
		tokens = append(tokens, b.Token)
	}
	return tokens
}

// Held implements [sessions.Dispatch].
func (s *Store) Held(_ context.Context, w sessions.Worker) (ms []sessions.Mailbox, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, token := range slices.Sorted(maps.Keys(s.boxes)) {
		if b := s.boxes[token]; w.Nonce != "" && b.Owner == w {
			ms = append(ms, s.shown(b))
		}
	}
	return ms, nil
}

// Release implements [sessions.Dispatch].
func (s *Store) Release(_ context.Context, f sessions.Fence) (sessions.Mailbox, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boxes[f.Token]
	switch {
	case gaveUp(b, f):
		return s.shown(b), true, nil
	case !s.holds(b, f):
		return sessions.Mailbox{}, false, sessions.ErrFenced
	case s.owed(b) && s.obeys(ReleaseCheck):
		return s.shown(b), false, nil
	}
	b.giveUp()
	b.Attempts = 0
	return s.shown(b), true, nil
}

// Handover implements [sessions.Dispatch].
func (s *Store) Handover(_ context.Context, f sessions.Fence) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boxes[f.Token]
	switch {
	case gaveUp(b, f):
		return nil
	case !s.holds(b, f):
		return sessions.ErrFenced
	}
	s.attempt(b, -1)
	b.giveUp()
	return nil
}

// Yield implements [sessions.Dispatch].
func (s *Store) Yield(_ context.Context, f sessions.Fence, now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boxes[f.Token]
	switch {
	case gaveUp(b, f):
		return true, nil
	case !s.holds(b, f):
		return false, sessions.ErrFenced
	}
	waits, last := false, int64(0)
	for _, o := range s.unattended(f.Nonce, now) {
		if o == b {
			continue
		}
		waits = true
		if o.Owner.Nonce == "" {
			last = max(last, o.since)
		}
	}
	if !waits {
		return false, nil
	}
	b.since = max(now.UnixMicro(), last+1) // clocks differ
	s.attempt(b, -1)
	b.giveUp()
	return true, nil
}

// Mailbox implements [sessions.Dispatch].
func (s *Store) Mailbox(_ context.Context, token string) (sessions.Mailbox, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boxes[token]
	if b == nil {
		return sessions.Mailbox{}, sessions.ErrNotFound
	}
	return s.shown(b), nil
}

// Mailboxes implements [sessions.Dispatch].
func (s *Store) Mailboxes(_ context.Context, yield func(sessions.Mailbox) bool) error {
	s.mu.Lock()
	ms := make([]sessions.Mailbox, 0, len(s.boxes))
	for _, token := range slices.Sorted(maps.Keys(s.boxes)) {
		ms = append(ms, s.shown(s.boxes[token]))
	}
	s.mu.Unlock()
	for _, m := range ms {
		if !yield(m) {
			break
		}
	}
	return nil
}

// Request implements [sessions.Dispatch].
func (s *Store) Request(_ context.Context, c sessions.Control) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.ID == "" {
		return false, errors.New("store a control request: it has no id")
	}
	if s.isReceived(c.Event) {
		return false, nil
	}
	b, err := s.mailboxFor(c.Token, c.Key, c.At)
	if err != nil {
		return false, err
	}
	s.receive(c.Event, inboxRow{token: c.Token})
	if slices.ContainsFunc(s.controls, func(o *control) bool { return o.ID == c.ID }) {
		return false, nil
	}
	if !s.owed(b) {
		b.since = c.At.UnixMicro()
	}
	c.At = stamp(c.At)
	s.controls = append(s.controls, &control{Control: c})
	return true, nil
}

// Controls implements [sessions.Dispatch].
func (s *Store) Controls(_ context.Context, token string) (cs []sessions.Control, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.controls {
		if c.Token == token && !c.done {
			cs = append(cs, c.Control)
		}
	}
	return cs, nil
}

// Comply implements [sessions.Dispatch].
func (s *Store) Comply(_ context.Context, f sessions.Fence, ids []string, read uint64, replies []sessions.Outgoing) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.owned(f)
	if err != nil {
		return err
	}
	if err := sendable(replies); err != nil {
		return err
	}
	for _, c := range s.controls {
		if c.Token == f.Token && slices.Contains(ids, c.ID) {
			c.done = true
		}
	}
	b.skip(read)
	s.queue(replies)
	return nil
}

// Lives says whether the worker holds its lease at that time.
func (s *Store) Lives(w sessions.Worker, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lives(w, now)
}
