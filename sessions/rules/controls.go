package rules

import (
	"context"
	"errors"
	"time"

	"parley/sessions"
)

// Request implements [sessions.Dispatch].
func (s Dispatch) Request(ctx context.Context, c sessions.Control) (bool, error) {
	if c.ID == "" {
		return false, errors.New("store a control request: it has no id")
	}
	added, err := update(ctx, s.db, sessions.Fence{}, func(tx *Tx) (bool, error) {
		known, err := isKnown(tx, c.Event)
		if err != nil || known {
			return false, err
		}
		if err := checkSeq(c.Through); err != nil {
			return false, err
		}
		m, err := mailboxFor(tx, c.Token, c.Key, c.At)
		if err != nil {
			return false, err
		}
		receive(tx, c.Event, Event{Token: c.Token})
		return addControl(tx, m, c)
	})
	return added, While(err, "store control request %s", c.ID)
}

// addControl adds a control request to its mailbox, unless there is one of its id.
func addControl(tx *Tx, m Mailbox, c sessions.Control) (added bool, err error) {
	_, there, err := get[Control](tx, ControlKey(c.ID))
	if err != nil || there {
		return false, err
	}
	c.At = normaliseTime(c.At)
	tx.put(Control{Control: c})
	if !m.HasWork() {
		m.WaitingSince = c.At
	}
	m.Controls++
	tx.put(m)
	return true, nil
}

// Controls implements [sessions.Dispatch].
func (s Dispatch) Controls(ctx context.Context, token string) ([]sessions.Control, error) {
	cs, err := view(ctx, s.db, func(tx *Tx) (cs []sessions.Control, err error) {
		pending, err := rowsOf[Control](tx, PendingControls{token}, 0)
		for _, c := range pending {
			cs = append(cs, c.Control)
		}
		return cs, err
	})
	return cs, While(err, "list control requests of %s", token)
}

// ApplyControls implements [sessions.Dispatch].
func (s Dispatch) ApplyControls(ctx context.Context, f sessions.Fence, ids []string, read uint64, replies []sessions.Outgoing) error {
	err := s.db.Update(ctx, f, func(tx *Tx) error {
		m, err := ownedMailbox(tx, f)
		if err != nil {
			return err
		}
		if err := checkSeq(read); err != nil {
			return err
		}
		for _, id := range ids {
			c, found, err := get[Control](tx, ControlKey(id))
			if err != nil {
				return err
			}
			if !found || c.Token != f.Token || c.Done {
				continue
			}
			c.Done = true
			tx.put(c)
			m.Controls--
		}
		if read > m.LastRead {
			m.resetAttempts()
		}
		m.advanceRead(read)
		tx.put(m)
		return queueAnswers(tx, replies)
	})
	return While(err, "end control requests of %s", f.Token)
}

// Heartbeat implements [sessions.Dispatch].
func (s Dispatch) Heartbeat(ctx context.Context, w sessions.Worker, until time.Time) error {
	if w.Name == "" || w.Nonce == "" {
		return errors.New("heartbeat: the worker has no name or no nonce")
	}
	err := s.db.Update(ctx, sessions.Fence{}, func(tx *Tx) error {
		tx.Set.Forgettable = true
		lease, _, err := get[Worker](tx, WorkerKey(w))
		if err != nil {
			return err
		}
		if lease.Gone {
			return sessions.ErrFenced
		}
		others, err := rowsOf[Worker](tx, WorkersNamed{w.Name}, 0)
		if err != nil {
			return err
		}
		for _, other := range others {
			if other.ID != w {
				other.Gone = true
				tx.put(other)
			}
		}
		lease.ID = w
		if until := normaliseTime(until); until.After(lease.Until) {
			lease.Until = until
		}
		tx.put(lease)
		return nil
	})
	return While(err, "heartbeat of worker %s", w.Name)
}

// Lease implements [sessions.Dispatch].
func (s Dispatch) Lease(ctx context.Context, w sessions.Worker) (time.Time, error) {
	until, err := view(ctx, s.db, func(tx *Tx) (time.Time, error) {
		lease, err := existing[Worker](tx, WorkerKey(w))
		if err == nil && lease.Gone {
			err = sessions.ErrNotFound
		}
		return lease.Until, err
	})
	return until, While(err, "lease of worker %s", w.Name)
}

// EndLease implements [sessions.Dispatch]. The moment at which it ends a lease says, in a
// repetition, that it was this caller.
func (s Dispatch) EndLease(ctx context.Context, w sessions.Worker, until, now time.Time) (int, bool, error) {
	r, err := update(ctx, s.db, sessions.Fence{}, func(tx *Tx) (r outcome[int], err error) {
		tx.Set.Forgettable = true
		until, now := normaliseTime(until), normaliseTime(now)
		lease, found, err := get[Worker](tx, WorkerKey(w))
		if err != nil || !found || lease.Gone || !now.Before(until) {
			return r, err
		}
		switch {
		case lease.Until.Equal(until):
			lease.Until = now
			tx.put(lease)
		case !lease.Until.Equal(now):
			return r, nil
		}
		owed, err := rowsOf[Mailbox](tx, OwedMailboxes{Owner: w}, 0)
		r.of, r.yes = len(owed), err == nil
		return r, err
	})
	return r.of, r.yes, While(err, "end the lease of worker %s", w.Name)
}

// Leave implements [sessions.Dispatch].
func (s Dispatch) Leave(ctx context.Context, w sessions.Worker) error {
	err := s.db.Update(ctx, sessions.Fence{}, func(tx *Tx) error {
		tx.Set.Forgettable = true
		lease, _, err := get[Worker](tx, WorkerKey(w))
		if err != nil {
			return err
		}
		lease.ID, lease.Gone = w, true
		tx.put(lease)
		return nil
	})
	return While(err, "worker %s leaves", w.Name)
}
