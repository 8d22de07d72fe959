package rules

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"parley/sessions"
)

// Touch implements [sessions.Dispatch].
func (s Dispatch) Touch(ctx context.Context, t sessions.Touch) (sessions.Mailbox, bool, error) {
	early, can := s.db.(EarlyDriver)
	if !can || !t.Take || t.Taken == nil {
		r, err := update(ctx, s.db, sessions.Fence{}, func(tx *Tx) (outcome[sessions.Mailbox], error) { return touch(tx, t) })
		return r.of, r.yes, While(err, "touch mailbox %s", t.Token)
	}
	type result struct {
		outcome[sessions.Mailbox]
		known bool // it was there before, and so is its session for readers
	}
	r := new(result) // of a caller who left early nobody reads it
	err := early.UpdateEarly(ctx, sessions.Fence{}, func(tx *Tx) (err error) {
		r.outcome, err = touch(tx, t)
		r.known = tx.Set.Forgettable
		return err
	}, func() bool {
		if r.yes && r.known {
			t.Taken(r.of)
		}
		return r.yes && r.known
	})
	if err != nil {
		return sessions.Mailbox{}, false, While(err, "touch mailbox %s", t.Token)
	}
	return r.of, r.yes, nil
}

func touch(tx *Tx, t sessions.Touch) (r outcome[sessions.Mailbox], err error) {
	if t.Take && (t.By.Name == "" || t.By.Nonce == "") {
		return r, errors.New("worker without a name or nonce")
	}
	if err := checkSeq(t.Seq); err != nil {
		return r, err
	}
	tx.Set.Forgettable = true
	m, err := mailboxFor(tx, t.Token, t.Key, t.Now)
	if err != nil {
		return r, err
	}
	before := m.LastSeen
	m.note(t.Seq, t.Now)
	if t.Take && m.HasWork() && m.Owner.Nonce != t.By.Nonce {
		if r.yes, err = mayTake(tx, m, t.By, t.Now); err != nil {
			return r, err
		}
	}
	if r.yes {
		if err := take(tx, &m, t.By); err != nil {
			return r, err
		}
	}
	if r.yes || m.LastSeen != before {
		tx.put(m)
	}
	r.of, err = publicMailbox(tx, m)
	return r, err
}

// mayTake reports whether w may have m: its owner does not live, and w does.
func mayTake(tx *Tx, m Mailbox, w sessions.Worker, now time.Time) (bool, error) {
	if m.Owner.Nonce != "" {
		owner, _, err := get[Worker](tx, WorkerKey(m.Owner))
		if err != nil || owner.isLiveAt(now) {
			return false, err
		}
	}
	taker, _, err := get[Worker](tx, WorkerKey(w))
	return taker.isLiveAt(now), err
}

// Reacquire implements [sessions.Dispatch].
func (s Dispatch) Reacquire(ctx context.Context, f sessions.Fence, _ time.Time) (sessions.Mailbox, error) {
	m, err := update(ctx, s.db, f, func(tx *Tx) (sessions.Mailbox, error) {
		tx.Set.Forgettable = true
		m, found, err := get[Mailbox](tx, MailboxKey(f.Token))
		switch {
		case err != nil:
			return sessions.Mailbox{}, err
		case found && m.PriorEpoch != 0 && m.PriorEpoch == f.Epoch && m.Epoch == f.Epoch+1 && m.Owner.Nonce == f.Nonce:
			return publicMailbox(tx, m) // its answer was lost
		case !found || !m.isHeldBy(f):
			return sessions.Mailbox{}, sessions.ErrFenced
		}
		owner, _, err := get[Worker](tx, WorkerKey(m.Owner))
		if err != nil {
			return sessions.Mailbox{}, err
		}
		if owner.Gone {
			return sessions.Mailbox{}, sessions.ErrFenced
		}
		m.PriorEpoch = m.Epoch
		if err := nextAttempt(tx, &m); err != nil {
			return sessions.Mailbox{}, err
		}
		tx.put(m)
		return publicMailbox(tx, m)
	})
	return m, While(err, "reacquire mailbox %s", f.Token)
}

// Release implements [sessions.Dispatch].
func (s Dispatch) Release(ctx context.Context, f sessions.Fence) (sessions.Mailbox, bool, error) {
	r, err := update(ctx, s.db, f, func(tx *Tx) (r outcome[sessions.Mailbox], err error) {
		tx.Set.Forgettable = true
		m, givenUp, err := ownedOrGivenUp(tx, f)
		switch {
		case err != nil:
			return r, err
		case givenUp:
			r.yes = true
		case !m.HasWork():
			m.release()
			m.Attempts = 0
			tx.put(m)
			r.yes = true
		}
		r.of, err = publicMailbox(tx, m)
		return r, err
	})
	return r.of, r.yes, While(err, "release mailbox %s", f.Token)
}

// Handover implements [sessions.Dispatch].
func (s Dispatch) Handover(ctx context.Context, f sessions.Fence) error {
	err := s.db.Update(ctx, f, func(tx *Tx) error {
		tx.Set.Forgettable = true
		m, givenUp, err := ownedOrGivenUp(tx, f)
		if err != nil || givenUp {
			return err
		}
		return handOver(tx, m)
	})
	return While(err, "hand over mailbox %s", f.Token)
}

// Yield implements [sessions.Dispatch].
func (s Dispatch) Yield(ctx context.Context, f sessions.Fence, now time.Time) (bool, error) {
	yielded, err := update(ctx, s.db, f, func(tx *Tx) (bool, error) {
		tx.Set.Forgettable = true
		m, givenUp, err := ownedOrGivenUp(tx, f)
		if err != nil || givenUp {
			return givenUp, err
		}
		last, some, err := latestUnowned(tx, f.Nonce, now)
		if err != nil || !some {
			return false, err
		}
		m.WaitingSince = normaliseTime(now)
		if next := last.Add(time.Microsecond); m.WaitingSince.Before(next) { // clocks differ
			m.WaitingSince = next
		}
		return true, handOver(tx, m)
	})
	return yielded, While(err, "yield mailbox %s", f.Token)
}

// latestUnowned reports whether a mailbox that is not owned under nonce is owed work
// and has no living owner, and since when the one waits that Recover would take
// last; zero when all of them are what dead workers left. Others may have come meanwhile:
// who goes behind those that wait need not be behind them.
func latestUnowned(tx *Tx, nonce string, now time.Time) (since time.Time, some bool, err error) {
	tx = tx.glance()
	free, err := rowsOf[Mailbox](tx, FreeMailboxes{Latest: true}, 1)
	if err != nil {
		return time.Time{}, false, err
	}
	if len(free) > 0 {
		return free[0].WaitingSince, true, nil
	}
	left, err := mailboxesOfDead(tx, nonce, now, 1)
	return time.Time{}, len(left) > 0, err
}

// Recover implements [sessions.Dispatch]: what dead workers left comes first, then
// what waited longest.
func (s Dispatch) Recover(ctx context.Context, w sessions.Worker, now time.Time, limit int) ([]sessions.Mailbox, error) {
	if w.Name == "" || w.Nonce == "" {
		return nil, errors.New("recover: the worker has no name or no nonce")
	}
	if limit <= 0 {
		return nil, nil
	}
	// Mostly there is nothing, and a look is cheaper than a transaction.
	some, err := view(ctx, s.db, func(tx *Tx) ([]Mailbox, error) { return unattendedMailboxes(tx, w, now, 1) })
	if err == nil && len(some) == 0 {
		return nil, nil
	}
	var ms []sessions.Mailbox
	if err == nil {
		ms, err = update(ctx, s.db, sessions.Fence{}, func(tx *Tx) ([]sessions.Mailbox, error) { return recoverFor(tx, w, now, limit) })
	}
	return ms, While(err, "recover for worker %s", w.Name)
}

func recoverFor(tx *Tx, w sessions.Worker, now time.Time, limit int) ([]sessions.Mailbox, error) {
	tx.Set.Forgettable = true
	found, err := unattendedMailboxes(tx, w, now, limit)
	if err != nil {
		return nil, err
	}
	ms := make([]sessions.Mailbox, len(found))
	for i, m := range found {
		if err := take(tx, &m, w); err != nil {
			return nil, err
		}
		tx.put(m)
		if ms[i], err = publicMailbox(tx, m); err != nil {
			return nil, err
		}
	}
	return ms, nil
}

// unattendedMailboxes returns mailboxes that are owed work and have no living owner: none for
// a worker that does not live itself, and ErrFenced for one that is gone.
func unattendedMailboxes(tx *Tx, w sessions.Worker, now time.Time, limit int) ([]Mailbox, error) {
	taker, _, err := get[Worker](tx, WorkerKey(w))
	switch {
	case err != nil:
		return nil, err
	case taker.Gone:
		return nil, sessions.ErrFenced
	case !taker.isLiveAt(now):
		return nil, nil
	}
	found, err := mailboxesOfDead(tx, w.Nonce, now, limit)
	if err != nil || len(found) == limit {
		return found, err
	}
	free, err := rowsOf[Mailbox](tx, FreeMailboxes{}, limit-len(found))
	return append(found, free...), err
}

// mailboxesOfDead returns mailboxes that are owed work by an owner that does not live,
// those under nonce left out, that which waits longest first.
func mailboxesOfDead(tx *Tx, nonce string, now time.Time, limit int) (found []Mailbox, err error) {
	before := tx.glance() // who lives renews its lease all the time
	owners, err := list[WorkerKey](before, Owners{}, 0)
	if err != nil {
		return nil, err
	}
	for _, k := range owners {
		if k.Nonce == nonce {
			continue
		}
		owner, _, err := get[Worker](before, k)
		if err == nil && !owner.isLiveAt(now) {
			owner, _, err = get[Worker](tx, k)
		}
		if err != nil {
			return nil, err
		}
		if owner.isLiveAt(now) {
			continue
		}
		left, err := rowsOf[Mailbox](tx, OwedMailboxes{Owner: sessions.Worker(k)}, limit)
		if err != nil {
			return nil, err
		}
		found = append(found, left...)
	}
	slices.SortStableFunc(found, func(a, b Mailbox) int {
		return cmp.Or(a.WaitingSince.Compare(b.WaitingSince), cmp.Compare(a.Token, b.Token))
	})
	return found[:min(limit, len(found))], nil
}

// Held implements [sessions.Dispatch].
func (s Dispatch) Held(ctx context.Context, w sessions.Worker) ([]sessions.Mailbox, error) {
	if w.Nonce == "" {
		return nil, nil
	}
	ms, err := view(ctx, s.db, func(tx *Tx) ([]sessions.Mailbox, error) { return listMailboxes(tx, OwnedMailboxes{Owner: w}, 0) })
	return ms, While(err, "list what worker %s holds", w.Name)
}

// listMailboxes returns the mailboxes of an index as callers of the store see them.
func listMailboxes(tx *Tx, ix Index, limit int) ([]sessions.Mailbox, error) {
	found, err := rowsOf[Mailbox](tx, ix, limit)
	if err != nil {
		return nil, err
	}
	var ms []sessions.Mailbox
	for _, m := range found {
		one, err := publicMailbox(tx, m)
		if err != nil {
			return nil, err
		}
		ms = append(ms, one)
	}
	return ms, nil
}

const page = 200 // rows read at a time for a caller's function

// Mailboxes implements [sessions.Dispatch]: in the order of their tokens. yield may
// use the store.
func (s Dispatch) Mailboxes(ctx context.Context, yield func(sessions.Mailbox) bool) error {
	after := ""
	err := Pages(page, func() ([]sessions.Mailbox, error) {
		return view(ctx, s.db, func(tx *Tx) ([]sessions.Mailbox, error) { return listMailboxes(tx, AllMailboxes{after}, page) })
	}, func(m sessions.Mailbox) bool {
		after = m.Token
		return yield(m)
	})
	return While(err, "list mailboxes")
}

// Mailbox implements [sessions.Dispatch].
func (s Dispatch) Mailbox(ctx context.Context, token string) (sessions.Mailbox, error) {
	m, err := view(ctx, s.db, func(tx *Tx) (sessions.Mailbox, error) {
		m, err := existing[Mailbox](tx, MailboxKey(token))
		if err != nil {
			return sessions.Mailbox{}, err
		}
		return publicMailbox(tx, m)
	})
	return m, While(err, "mailbox %s", token)
}
