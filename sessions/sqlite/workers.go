package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
)

// lease is how long a worker lives. One that is not known has lived.
type lease struct {
	until int64
	gone  bool
}

func (l lease) holds(now time.Time) bool { return !l.gone && l.until > micros(now) }

func loadLease(s source, w sessions.Worker) (l lease, err error) {
	if _, err := s.one("SELECT until, gone FROM workers WHERE name = ? AND nonce = ?", args(w.Name, w.Nonce), &l.until, &l.gone); err != nil {
		return l, fmt.Errorf("look at the worker: %w", err)
	}
	return l, nil
}

// lease is loadLease of what is known.
func (t *tx) lease(w sessions.Worker) (lease, error) {
	if l, ok := t.workers.get(w); ok {
		return l, nil
	}
	l, err := loadLease(t, w)
	if err == nil {
		t.workers.learn(w, l)
	}
	return l, err
}

// Heartbeat implements [sessions.Dispatch].
func (s *Store) Heartbeat(ctx context.Context, w sessions.Worker, until time.Time) error {
	if w.Name == "" || w.Nonce == "" {
		return errors.New("heartbeat: the worker has no name or no nonce")
	}
	_, err := write(ctx, s, func(x *tx) (struct{}, error) {
		l, err := x.lease(w)
		if err != nil {
			return struct{}{}, err
		}
		if l.gone {
			return struct{}{}, sessions.ErrFenced
		}
		x.workers.forget()
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
		x.workers.forget()
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
	// Mostly there is nothing, and a look is cheaper than a transaction.
	var some []box
	err := s.snapshot(ctx, func(v *view) (err error) {
		some, err = unattended(v, w, now, 1)
		return err
	})
	if err == nil && len(some) == 0 {
		return nil, nil
	}
	var ms []sessions.Mailbox
	if err == nil {
		ms, err = write(ctx, s, func(x *tx) ([]sessions.Mailbox, error) { return recoverFor(x, w, now, limit) })
	}
	if err != nil {
		return nil, fmt.Errorf("recover for worker %s: %w", w.Name, err)
	}
	return ms, nil
}

func recoverFor(x *tx, w sessions.Worker, now time.Time, limit int) ([]sessions.Mailbox, error) {
	if err := x.flush(); err != nil {
		return nil, err
	}
	found, err := unattended(x, w, now, limit)
	if err != nil {
		return nil, err
	}
	ms := make([]sessions.Mailbox, 0, len(found))
	for _, b := range found {
		x.boxes.learn(b.Token, b)
		if err := b.addTurn(x); err != nil {
			return nil, err
		}
		if err := b.take(x, w); err != nil {
			return nil, err
		}
		b.save(x)
		ms = append(ms, b.Mailbox)
	}
	return ms, nil
}

// leftByDead chooses among mailboxes AS m those that are owed work by an owner
// that does not live; it takes a nonce to leave out, and the time.
const leftByDead = `hot AND owner_nonce > '' AND owner_nonce <> ? AND (touched > read OR turn <> '' OR controls > 0)
	AND NOT EXISTS (SELECT 1 FROM workers AS w WHERE w.name = m.owner_name AND w.nonce = m.owner_nonce AND w.gone = 0 AND w.until > ?)`

// unattended are mailboxes that are owed work and have no living owner: none for
// a worker that does not live itself. It returns ErrFenced to one that is gone.
func unattended(s source, w sessions.Worker, now time.Time, limit int) (found []box, err error) {
	l, err := loadLease(s, w)
	if err != nil {
		return nil, err
	}
	if l.gone {
		return nil, sessions.ErrFenced
	}
	if !l.holds(now) {
		return nil, nil
	}
	collect := func(r scanner) error {
		b, err := scanBox(r)
		if err != nil {
			return err
		}
		if found = append(found, b); len(found) == limit {
			return errEnough
		}
		return nil
	}
	err = s.each(`SELECT `+boxColumns+` FROM mailboxes AS m
		WHERE `+leftByDead+` ORDER BY waiting`, args(w.Nonce, micros(now)), collect)
	if err == nil && len(found) < limit {
		err = s.each(`SELECT `+boxColumns+` FROM mailboxes AS m WHERE hot AND owner_nonce = '' ORDER BY waiting`, nil, collect)
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
	ms, err = boxes(direct{ctx, s}, "WHERE m.hot AND m.owner_nonce > '' AND m.owner_nonce = ? AND m.owner_name = ? ORDER BY m.token", w.Nonce, w.Name)
	if err != nil {
		return nil, fmt.Errorf("list what worker %s holds: %w", w.Name, err)
	}
	return ms, nil
}

// boxes are mailboxes with their open turns.
func boxes(s source, where string, a ...any) (ms []sessions.Mailbox, err error) {
	var b box
	var t turnRead
	var key string
	columns := append(b.columns(&key), t.columns()...)
	for i, c := range columns[boxWidth:] {
		columns[boxWidth+i] = orNothing{c}
	}
	err = s.each("SELECT "+boxColumns+", "+turnColumns+" FROM mailboxes AS m LEFT JOIN turns AS t ON t.id = m.turn "+where, a, func(r scanner) (err error) {
		b, t, key = box{}, turnRead{}, ""
		if err := r.Scan(columns...); err != nil {
			return err
		}
		if b.Key, err = sessionkeys.Parse(key); err != nil {
			return fmt.Errorf("mailbox %s: %w", b.Token, err)
		}
		if b.turn != "" {
			if t.ID == "" {
				return fmt.Errorf("read turn %s: %w", b.turn, sessions.ErrNotFound)
			}
			row, err := t.turn()
			if err != nil {
				return err
			}
			b.Turn = &row.Turn
		}
		ms = append(ms, b.Mailbox)
		return nil
	})
	return ms, err
}

// Mailbox implements [sessions.Dispatch].
func (s *Store) Mailbox(ctx context.Context, token string) (sessions.Mailbox, error) {
	ms, err := boxes(direct{ctx, s}, "WHERE m.token = ?", token)
	if err == nil && len(ms) == 0 {
		err = sessions.ErrNotFound
	}
	if err != nil {
		return sessions.Mailbox{}, fmt.Errorf("mailbox %s: %w", token, err)
	}
	return ms[0], nil
}

const page = 200 // rows read at a time for a caller's function

// Mailboxes implements [sessions.Dispatch]: in the order of their tokens. yield
// may use the store.
func (s *Store) Mailboxes(ctx context.Context, yield func(sessions.Mailbox) bool) error {
	after := ""
	for {
		ms, err := boxes(direct{ctx, s}, "WHERE m.token > ? ORDER BY m.token LIMIT "+strconv.Itoa(page), after)
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
	lost, err := write(ctx, s, func(x *tx) (int, error) { return startGeneration(x, name) })
	if err != nil {
		return 0, fmt.Errorf("start generation %s: %w", name, err)
	}
	return lost, nil
}

func startGeneration(x *tx, name string) (lost int, err error) {
	var present string
	if _, err := x.one("SELECT name, lost FROM generation", nil, &present, &lost); err != nil || present == name {
		return lost, err
	}
	if err := x.flush(); err != nil {
		return 0, err
	}
	x.boxes.forget()
	if _, err := x.one("SELECT count(*) FROM mailboxes WHERE touched > read", nil, &lost); err != nil {
		return 0, err
	}
	for _, q := range []string{
		"UPDATE mailboxes SET attempts = 0 WHERE touched > read AND turn = ''",
		"UPDATE mailboxes SET touched = 0, read = 0, hot = (owner_nonce <> '' OR turn <> '' OR controls > 0) WHERE touched > 0",
		"UPDATE controls SET through = 0 WHERE done = 0",
	} {
		if err := x.do(q); err != nil {
			return 0, err
		}
	}
	x.highest = 0
	return lost, x.do("UPDATE generation SET name = ?, lost = ?, highest = 0, doubt = 0", name, lost)
}
