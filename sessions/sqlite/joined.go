package sqlite

import (
	"context"
	"errors"
	"fmt"

	"parley/costs"
	"parley/sessions"
	"parley/sessions/rules"
)

// loadCall reads a reservation, and when it is gone the turn of its ledger row.
func loadCall(s source, id string) (c rules.Call, found bool, err error) {
	found, err = s.queryRow("SELECT token, session, turn, state, held, scopes, body FROM reservations WHERE id = ?", args(id),
		&c.Token, &c.Session, &c.Turn, &c.State, &c.Held, &c.Scopes, &c.Reservation)
	if err != nil {
		return c, false, fmt.Errorf("reservation %s: %w", id, err)
	}
	if !found {
		c.ID, c.State = id, rules.CallBooked
		found, err = s.queryRow("SELECT session, turn FROM ledger WHERE id = ?", args(id), &c.Session, &c.Turn)
		return c, found, err
	}
	return c, true, nil
}

// putCall inserts a reservation that is open, and ends one that was booked.
func (t *tx) putCall(c rules.Call) (err error) {
	switch c.State {
	case rules.CallOpen:
		err = t.insertCall(c)
	case rules.CallInterrupted:
		err = t.exec("UPDATE reservations SET state = 'interrupted', held = ? WHERE id = ?", c.Held, c.ID)
	case rules.CallBooked:
		err = t.exec("DELETE FROM reservations WHERE id = ?", c.ID)
	}
	if err != nil {
		return fmt.Errorf("write reservation %s: %w", c.ID, err)
	}
	if c.State != rules.CallOpen {
		t.rows.drop(c.Key())
		t.open.amend(c.Turn, func(o *openCalls) { o.remove(c.ID) })
		return nil
	}
	if _, known := t.open.get(c.Turn); !known {
		t.early[c.Turn] = true
	}
	t.open.amend(c.Turn, func(o *openCalls) { o.add(c.ID) })
	return nil
}

// insertCall fails for one that is booked already.
func (t *tx) insertCall(c rules.Call) error {
	n, err := t.execCount(`INSERT INTO reservations (id, token, session, turn, state, held, day, scopes, body)
		SELECT ?1, ?2, ?3, ?4, 'open', ?5, ?6, ?7, ?8 WHERE NOT EXISTS (SELECT 1 FROM ledger WHERE id = ?1)`,
		c.ID, c.Token, c.Session, c.Turn, c.Held, costs.Day.Name(c.At), c.Scopes, c.Reservation)
	if err == nil && n == 0 {
		err = errBooked
	}
	if err == nil {
		t.learn(c)
	}
	return err
}

// errBooked is of a reservation that is made again when it was settled.
var errBooked = errors.New("call already booked")

func insertEntry(x *tx, b rules.Booking) error {
	e := b.Entry
	price, err := x.priceID(e.Price)
	if err != nil {
		return err
	}
	e.Price = nil
	l := e.Labels
	u := e.Usage
	err = x.exec(`INSERT INTO ledger (id, session, turn, provider, model, channel, purpose, amount, priced, entry, price,
			at, interrupted, input, cache_read, cache_write, output, reasoning)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, b.Session, b.Turn, l.Provider, l.Model, l.Channel, l.Purpose, e.Amount, e.Priced, e, price,
		e.At, e.State == costs.Interrupted, u.Input, u.CacheRead, u.CacheWrite5m+u.CacheWrite1h, u.Output, u.Reasoning)
	return rules.While(err, "write ledger row %s", e.ID)
}

// priceID returns the number of the row that is a copy of p, or nil when p is.
func (t *tx) priceID(p *costs.Price) (any, error) {
	if p == nil {
		return nil, nil // NULL
	}
	stored, err := rules.Stored(p)
	if err != nil {
		return nil, err
	}
	body, _ := stored.(string)
	if id, ok := t.prices.get(body); ok {
		return id, nil
	}
	var id int64
	found, err := t.queryRow("SELECT id FROM prices WHERE body = ?", args(body), &id)
	if err == nil && !found {
		_, id, err = t.insert("INSERT INTO prices (body) VALUES (?)", body)
	}
	if err != nil {
		return nil, fmt.Errorf("keep the price: %w", err)
	}
	t.prices.learn(body, id)
	return id, nil
}

// Chat implements [sessions.Chats]. Until the first chat moved or was shut
// nothing is read.
func (s *Store) Chat(ctx context.Context, id sessions.ChatID) (sessions.Chat, error) {
	if !s.chats.Load() {
		return sessions.Chat{IDs: []string{id.Peer}}, nil
	}
	return s.Operations.Chat(ctx, id)
}

// loadChat reads one id of a chat: where it moved from and to, and whether it is
// shut.
func loadChat(s source, id sessions.ChatID) (c rules.Chat, found bool, err error) {
	c.ID = id
	moved, err := s.queryRow("SELECT old, at FROM moves WHERE channel = ? AND account = ? AND new = ?", args(id.Channel, id.Account, id.Peer), &c.Before, &c.MovedAt)
	if err != nil {
		return c, false, err
	}
	moves, err := s.queryRow("SELECT new FROM moves WHERE channel = ? AND account = ? AND old = ?", args(id.Channel, id.Account, id.Peer), &c.After)
	if err != nil {
		return c, false, err
	}
	shut, err := s.queryRow("SELECT cause, dropped, open, opened_at FROM shut WHERE channel = ? AND account = ? AND peer = ?",
		args(id.Channel, id.Account, id.Peer), &c.Closed.Cause, &c.Closed.Dropped, &c.Closed.Open, &c.Closed.OpenedAt)
	return c, moved || moves || shut, err
}

// putChat writes the move that led to the id, and whether it is shut. The move that
// led away from it is written with the id that it led to.
func (t *tx) putChat(c rules.Chat) error {
	t.chats.Store(true)
	t.written = append(t.written, c.Key())
	if c.Before != "" {
		err := t.exec("INSERT INTO moves (channel, account, old, new, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			c.ID.Channel, c.ID.Account, c.Before, c.ID.Peer, c.MovedAt)
		if err != nil {
			return fmt.Errorf("note where chat %s moved: %w", c.Before, err)
		}
	}
	if c.Closed.Cause == "" {
		return nil
	}
	err := t.exec(`INSERT INTO shut (channel, account, peer, cause, dropped, open, opened_at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET cause = excluded.cause, dropped = excluded.dropped, open = excluded.open, opened_at = excluded.opened_at`,
		c.ID.Channel, c.ID.Account, c.ID.Peer, c.Closed.Cause, c.Closed.Dropped, c.Closed.Open, c.Closed.OpenedAt)
	return rules.While(err, "note that chat %s is shut", c.ID.Peer)
}
