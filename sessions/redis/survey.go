package redis

import (
	"context"
	"fmt"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// amountWidth is how long an amount is in what sorts by amounts.
const amountWidth = 19

// Dearest implements [sessions.Survey].
func (s *Store) Dearest(ctx context.Context, at time.Time, n int) (as []costs.Amount, err error) {
	if n <= 0 {
		return nil, nil
	}
	a, err := s.look(ctx, "dearest", struct {
		Day   string `json:"day"`
		Limit int    `json:"limit"`
	}{costs.Day.Name(at), n})
	for _, m := range a.texts(0) {
		var spent costs.Amount
		if spent, err = readAmount(m[:min(amountWidth, len(m))]); err != nil {
			break
		}
		as = append(as, spent)
	}
	if err != nil {
		return nil, fmt.Errorf("read the dearest sessions: %w", err)
	}
	return as, nil
}

// Active implements [sessions.Survey].
func (s *Store) Active(ctx context.Context, since time.Time) (as []sessions.Activity, err error) {
	a, err := s.look(ctx, "active", struct {
		Since int64 `json:"since"`
	}{micros(since)})
	for i := range a {
		r := a.list(i)
		var n int64
		if n, err = r.int(2); err != nil {
			break
		}
		as = append(as, sessions.Activity{Channel: r.text(0), Kind: sessionkeys.Kind(r.text(1)), Sessions: int(n)})
	}
	if err != nil {
		return nil, fmt.Errorf("count active sessions: %w", err)
	}
	return as, nil
}

// Queues implements [sessions.Survey].
func (s *Store) Queues(ctx context.Context, limit int) ([]sessions.Queue, int, error) {
	qs, total, err := s.queues(ctx, limit)
	if err != nil {
		return nil, 0, fmt.Errorf("list what waits: %w", err)
	}
	return qs, total, nil
}

func (s *Store) queues(ctx context.Context, limit int) (qs []sessions.Queue, total int, err error) {
	a, err := s.look(ctx, "queues", struct {
		Limit int `json:"limit"`
	}{limit})
	if err != nil {
		return nil, 0, err
	}
	n, err := a.int(0)
	if err != nil {
		return nil, 0, fmt.Errorf("how many: %w", err)
	}
	for i := range a.list(1) {
		r := a.list(1).list(i)
		q := sessions.Queue{Token: r.text(0)}
		k, err := sessionkeys.Parse(r.text(1))
		if err == nil {
			var touched, read int64
			if touched, err = r.int(2); err == nil {
				read, err = r.int(3)
			}
			q.Address, q.Touched, q.Read = k.Address(), uint64(touched), uint64(read)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("mailbox %s: %w", q.Token, err)
		}
		qs = append(qs, q)
	}
	return qs, int(n), nil
}
