package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/sessions"
)

// worker is a sessions.Worker in a request.
type worker struct {
	Name  string `json:"name"`
	Nonce string `json:"nonce"`
}

// Heartbeat implements [sessions.Dispatch].
func (s *Store) Heartbeat(ctx context.Context, w sessions.Worker, until time.Time) error {
	if w.Name == "" || w.Nonce == "" {
		return errors.New("heartbeat: the worker has no name or no nonce")
	}
	_, err := s.change(ctx, "heartbeat", struct {
		worker
		Until int64 `json:"until"`
	}{worker(w), micros(until)})
	if err != nil {
		return fmt.Errorf("heartbeat of worker %s: %w", w.Name, err)
	}
	return nil
}

// Leave implements [sessions.Dispatch].
func (s *Store) Leave(ctx context.Context, w sessions.Worker) error {
	if _, err := s.change(ctx, "leave", worker(w)); err != nil {
		return fmt.Errorf("worker %s leaves: %w", w.Name, err)
	}
	return nil
}

// mostRecovered bounds what one Recover takes, because the database stands still
// meanwhile.
const mostRecovered = 1000

// Recover implements [sessions.Dispatch]. What dead workers left comes first,
// then what waited longest. It takes 1,000 at most.
func (s *Store) Recover(ctx context.Context, w sessions.Worker, now time.Time, limit int) (ms []sessions.Mailbox, err error) {
	if w.Name == "" || w.Nonce == "" {
		return nil, errors.New("recover: the worker has no name or no nonce")
	}
	if limit <= 0 {
		return nil, nil
	}
	a, err := s.change(ctx, "recover", struct {
		worker
		Now   int64 `json:"now"`
		Limit int   `json:"limit"`
	}{worker(w), micros(now), min(limit, mostRecovered)})
	if err == nil {
		ms, err = s.mailboxes(a)
	}
	if err != nil {
		return nil, fmt.Errorf("recover for worker %s: %w", w.Name, err)
	}
	return ms, nil
}

// Held implements [sessions.Dispatch].
func (s *Store) Held(ctx context.Context, w sessions.Worker) (ms []sessions.Mailbox, err error) {
	if w.Nonce == "" {
		return nil, nil
	}
	a, err := s.look(ctx, "held", worker(w))
	if err == nil {
		ms, err = s.mailboxes(a)
	}
	if err != nil {
		return nil, fmt.Errorf("list what worker %s holds: %w", w.Name, err)
	}
	return ms, nil
}
