package rules

import (
	"context"
	"errors"
	"time"

	"parley/sessions"
)

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
