package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/sessions"
)

// Heartbeat implements [sessions.Dispatch].
func (s *Store) Heartbeat(ctx context.Context, w sessions.Worker, until time.Time) error {
	if w.Name == "" || w.Nonce == "" {
		return errors.New("heartbeat: the worker has no name or no nonce")
	}
	_, err := write(ctx, s, func(x *tx) (struct{}, error) {
		gone, err := isGone(x, w)
		if err != nil {
			return struct{}{}, err
		}
		if gone {
			return struct{}{}, sessions.ErrFenced
		}
		if err := x.do("UPDATE workers SET gone = 1 WHERE name = ? AND nonce <> ? AND gone = 0", w.Name, w.Nonce); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, x.do(`INSERT INTO workers (name, nonce, until) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET until = max(until, excluded.until)`, w.Name, w.Nonce, micros(until))
	})
	if err != nil {
		return fmt.Errorf("heartbeat of worker %s: %w", w.Name, err)
	}
	return nil
}

// Leave implements [sessions.Dispatch].
func (s *Store) Leave(ctx context.Context, w sessions.Worker) error {
	_, err := write(ctx, s, func(x *tx) (struct{}, error) {
		return struct{}{}, x.do(`INSERT INTO workers (name, nonce, until, gone) VALUES (?, ?, 0, 1)
			ON CONFLICT DO UPDATE SET gone = 1`, w.Name, w.Nonce)
	})
	if err != nil {
		return fmt.Errorf("worker %s leaves: %w", w.Name, err)
	}
	return nil
}

// Recover implements [sessions.Dispatch]. What dead workers left comes first,
// then what waited longest.
func (s *Store) Recover(ctx context.Context, w sessions.Worker, now time.Time, limit int) ([]sessions.Mailbox, error) {
	if w.Name == "" || w.Nonce == "" {
		return nil, errors.New("recover: the worker has no name or no nonce")
	}
	if limit <= 0 {
		return nil, nil
	}
	ms, err := write(ctx, s, func(x *tx) ([]sessions.Mailbox, error) {
		gone, err := isGone(x, w)
		if err != nil {
			return nil, err
		}
		if gone {
			return nil, sessions.ErrFenced
		}
		found, err := unattended(x, w, now, limit)
		if err != nil {
			return nil, err
		}
		ms := make([]sessions.Mailbox, 0, len(found))
		for _, b := range found {
			if err := b.addTurn(x); err != nil {
				return nil, err
			}
			if err := b.take(x, w); err != nil {
				return nil, err
			}
			if err := b.save(x); err != nil {
				return nil, err
			}
			ms = append(ms, b.Mailbox)
		}
		return ms, nil
	})
	if err != nil {
		return nil, fmt.Errorf("recover for worker %s: %w", w.Name, err)
	}
	return ms, nil
}

// unattended are mailboxes that are owed work and have no living owner.
func unattended(x *tx, w sessions.Worker, now time.Time, limit int) (found []box, err error) {
	collect := func(r scanner) error {
		b, err := scanBox(r)
		found = append(found, b)
		return err
	}
	err = x.each(`SELECT `+boxColumns+` FROM mailboxes AS m
		WHERE owed AND owner_nonce > '' AND owner_nonce <> ? AND NOT EXISTS (SELECT 1 FROM workers AS w
			WHERE w.name = m.owner_name AND w.nonce = m.owner_nonce AND w.gone = 0 AND w.until > ?)
		ORDER BY waiting LIMIT ?`, args(w.Nonce, micros(now), limit), collect)
	if err == nil && len(found) < limit {
		err = x.each(`SELECT `+boxColumns+` FROM mailboxes WHERE owed AND owner_nonce = '' ORDER BY waiting LIMIT ?`,
			args(limit-len(found)), collect)
	}
	if err != nil {
		return nil, fmt.Errorf("find unattended mailboxes: %w", err)
	}
	return found, nil
}

// Held implements [sessions.Dispatch].
func (s *Store) Held(ctx context.Context, w sessions.Worker) (ms []sessions.Mailbox, err error) {
	if w.Nonce == "" {
		return nil, nil
	}
	err = s.snapshot(ctx, func(v *view) error {
		ms, err = boxes(v, "SELECT "+boxColumns+" FROM mailboxes WHERE owner_nonce > '' AND owner_nonce = ? AND owner_name = ? ORDER BY token", w.Nonce, w.Name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list what worker %s holds: %w", w.Name, err)
	}
	return ms, nil
}

func boxes(v *view, query string, a ...any) (ms []sessions.Mailbox, err error) {
	var found []box
	err = v.each(query, a, func(r scanner) error {
		b, err := scanBox(r)
		found = append(found, b)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, b := range found {
		if err := b.addTurn(v); err != nil {
			return nil, err
		}
		ms = append(ms, b.Mailbox)
	}
	return ms, nil
}

// Mailbox implements [sessions.Dispatch].
func (s *Store) Mailbox(ctx context.Context, token string) (sessions.Mailbox, error) {
	var b box
	err := s.snapshot(ctx, func(v *view) error {
		var found bool
		var err error
		if b, found, err = loadBox(v, token); err == nil && !found {
			return sessions.ErrNotFound
		}
		return err
	})
	if err != nil {
		return sessions.Mailbox{}, fmt.Errorf("mailbox %s: %w", token, err)
	}
	return b.Mailbox, nil
}

const page = 200 // rows read at a time for a caller's function

// Mailboxes implements [sessions.Dispatch]: in the order of their tokens. yield
// may use the store.
func (s *Store) Mailboxes(ctx context.Context, yield func(sessions.Mailbox) bool) error {
	after := ""
	for {
		var ms []sessions.Mailbox
		err := s.snapshot(ctx, func(v *view) (err error) {
			ms, err = boxes(v, "SELECT "+boxColumns+" FROM mailboxes WHERE token > ? ORDER BY token LIMIT ?", after, page)
			return err
		})
		if err != nil {
			return fmt.Errorf("list mailboxes: %w", err)
		}
		for _, m := range ms {
			if !yield(m) {
				return nil
			}
			after = m.Token
		}
		if len(ms) < page {
			return nil
		}
	}
}

// Generation implements [sessions.Dispatch].
func (s *Store) Generation(ctx context.Context) (name string, highest uint64, err error) {
	var h int64
	if _, err := s.one(ctx, "SELECT name, highest FROM generation", nil, &name, &h); err != nil {
		return "", 0, fmt.Errorf("read the generation: %w", err)
	}
	return name, uint64(h), nil
}

// StartGeneration implements [sessions.Dispatch].
func (s *Store) StartGeneration(ctx context.Context, name string) (int, error) {
	if name == "" {
		return 0, errors.New("start a generation: it has no name")
	}
	lost, err := write(ctx, s, func(x *tx) (lost int, err error) {
		var present string
		if _, err := x.one("SELECT name, lost FROM generation", nil, &present, &lost); err != nil || present == name {
			return lost, err
		}
		if _, err := x.one("SELECT count(*) FROM mailboxes WHERE touched > read", nil, &lost); err != nil {
			return 0, err
		}
		for _, q := range []string{
			"UPDATE mailboxes SET attempts = 0 WHERE touched > read AND turn = ''",
			"UPDATE mailboxes SET touched = 0, read = 0 WHERE touched > 0",
			"UPDATE controls SET through = 0 WHERE done = 0",
		} {
			if err := x.do(q); err != nil {
				return 0, err
			}
		}
		x.highest = 0
		return lost, x.do("UPDATE generation SET name = ?, lost = ?, highest = 0", name, lost)
	})
	if err != nil {
		return 0, fmt.Errorf("start generation %s: %w", name, err)
	}
	return lost, nil
}
