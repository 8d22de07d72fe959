package sqlite

import (
	"context"
	"errors"
	"fmt"

	"parley/sessions"
)

// Request implements [sessions.Dispatch].
func (s *Store) Request(ctx context.Context, c sessions.Control) (bool, error) {
	if c.ID == "" {
		return false, errors.New("store a control request: it has no id")
	}
	added, err := write(ctx, s, func(x *tx) (bool, error) {
		fresh, err := received(x, c.Event, inboxRow{token: c.Token})
		if err != nil || !fresh {
			return false, err
		}
		event, err := text(c.Event)
		if err != nil {
			return false, err
		}
		from, err := text(c.From)
		if err != nil {
			return false, err
		}
		through, err := number(c.Through)
		if err != nil {
			return false, err
		}
		b, err := mailboxFor(x, c.Token, c.Key, c.At)
		if err != nil {
			return false, err
		}
		n, err := x.change(`INSERT INTO controls (id, token, key, event, kind, through, channel, origin, reply_to, sender, at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			c.ID, c.Token, c.Key.String(), event, c.Kind, through, c.Channel, from, c.ReplyTo, c.Sender, micros(c.At))
		if err != nil || n == 0 {
			return false, err
		}
		if !b.owed() {
			b.waiting = micros(c.At)
		}
		b.Controls++
		b.save(x)
		return true, nil
	})
	if err != nil {
		return false, fmt.Errorf("store control request %s: %w", c.ID, err)
	}
	return added, nil
}

// Controls implements [sessions.Dispatch].
func (s *Store) Controls(ctx context.Context, token string) (cs []sessions.Control, err error) {
	err = s.each(ctx, `SELECT id, token, key, event, kind, through, channel, origin, reply_to, sender, at
		FROM controls WHERE token = ? AND done = 0 ORDER BY no`, args(token), func(r scanner) error {
		var c sessions.Control
		var key, event, from string
		var through, at int64
		if err := r.Scan(&c.ID, &c.Token, &key, &event, &c.Kind, &through, &c.Channel, &from, &c.ReplyTo, &c.Sender, &at); err != nil {
			return err
		}
		c.Through, c.At = uint64(through), instant(at)
		cs = append(cs, c)
		last := &cs[len(cs)-1]
		return errors.Join(last.Key.UnmarshalText([]byte(key)), parse(event, &last.Event), parse(from, &last.From))
	})
	if err != nil {
		return nil, fmt.Errorf("list control requests of %s: %w", token, err)
	}
	return cs, nil
}

// Comply implements [sessions.Dispatch].
func (s *Store) Comply(ctx context.Context, f sessions.Fence, ids []string, read uint64, replies []sessions.Outgoing) error {
	_, err := write(ctx, s, func(x *tx) (struct{}, error) {
		b, err := owned(x, f)
		if err != nil {
			return struct{}{}, err
		}
		for _, id := range ids {
			n, err := x.change("UPDATE controls SET done = 1 WHERE id = ? AND token = ? AND done = 0", id, f.Token)
			if err != nil {
				return struct{}{}, err
			}
			b.Controls -= int(n)
		}
		seq, err := number(read)
		if err != nil {
			return struct{}{}, err
		}
		if read > b.Read && b.turn == "" {
			b.Attempts = 1
		}
		b.pass(x, seq)
		if err := queue(x, replies); err != nil {
			return struct{}{}, err
		}
		b.save(x)
		return struct{}{}, nil
	})
	if err != nil {
		return fmt.Errorf("end control requests of %s: %w", f.Token, err)
	}
	return nil
}
