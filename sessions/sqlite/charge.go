package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// Reserve implements [sessions.Turns].
func (s *Store) Reserve(ctx context.Context, f sessions.Fence, c sessions.Charge, r costs.Reservation) error {
	_, err := write(ctx, s, func(x *tx) (struct{}, error) { return struct{}{}, reserve(x, f, c, r) })
	if err != nil {
		return fmt.Errorf("reserve for call %s: %w", r.ID, err)
	}
	return nil
}

func reserve(x *tx, f sessions.Fence, c sessions.Charge, r costs.Reservation) error {
	if _, err := owned(x, f); err != nil {
		return err
	}
	e := r.Estimate
	if r.ID == "" || e.Upper < 0 {
		return errors.New("it has no id, or its bound is below 0")
	}
	day := dayOf(r.At)
	body, err := text(r)
	if err != nil {
		return err
	}
	scopes, err := text(c.Scopes)
	if err != nil {
		return err
	}
	n, err := x.change(`INSERT INTO reservations (id, token, session, turn, state, held, day, scopes, body)
		SELECT ?1, ?2, id, ?4, 'open', ?5, ?6, ?7, ?8 FROM sessions
		WHERE id = ?3 AND NOT EXISTS (SELECT 1 FROM ledger WHERE id = ?1) ON CONFLICT (id) DO NOTHING`,
		r.ID, f.Token, c.Session, c.Turn, e.Upper, day, scopes, body)
	if err != nil {
		return fmt.Errorf("write it down: %w", err)
	}
	if n == 0 {
		_, err := loadSession(x, c.Session) // else it is there already
		return err
	}
	if err := charge(x, c.Session, change{held: e.Upper}, r.At); err != nil {
		return err
	}
	for _, s := range c.Scopes {
		if err := count(x, s, day, change{held: e.Upper}); err != nil {
			return err
		}
	}
	if !ofLoop(e.Call.Purpose) {
		return nil
	}
	if err := x.do("UPDATE turns SET tries = max(tries, ?) WHERE id = ? AND steps + 1 = ?", e.Call.Attempt, c.Turn, e.Call.Step); err != nil {
		return fmt.Errorf("count the try: %w", err)
	}
	return nil
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// change is what is added to the sums.
type change struct {
	settled, held costs.Amount
	unpriced      int
}

// charge adds c to the session and to every ancestor.
func charge(x *tx, id sessionkeys.SessionID, c change, now time.Time) error {
	for at := id; at != ""; {
		var parent sessionkeys.SessionID
		var own, subtree, held costs.Amount
		found, err := x.one("SELECT parent, own, subtree, held FROM sessions WHERE id = ?", args(at), &parent, &own, &subtree, &held)
		if err != nil {
			return fmt.Errorf("read session %s: %w", at, err)
		}
		if !found {
			return fmt.Errorf("session %s: %w", at, sessions.ErrNotFound)
		}
		if at == id {
			own, err = own.Add(c.settled)
		}
		if err == nil {
			subtree, err = subtree.Add(c.settled)
		}
		if err == nil {
			held, err = held.Add(c.held)
		}
		if err != nil {
			return fmt.Errorf("charge session %s: %w", at, err)
		}
		err = x.do("UPDATE sessions SET own = ?, subtree = ?, held = ?, unpriced = unpriced + ?, updated_at = max(updated_at, ?) WHERE id = ?",
			own, subtree, held, c.unpriced, micros(now), at)
		if err != nil {
			return fmt.Errorf("charge session %s: %w", at, err)
		}
		at = parent
	}
	return nil
}

// count adds c to a scope. Only what holds more can be refused by its limit.
func count(x *tx, s sessions.Scope, day string, c change) error {
	if s.Whole {
		day = ""
	}
	var settled, held costs.Amount
	_, err := x.one("SELECT settled, held FROM spend WHERE kind = ? AND id = ? AND day = ?", args(s.Kind, s.ID, day), &settled, &held)
	if err != nil {
		return fmt.Errorf("read what the %s spent: %w", s.Kind, err)
	}
	spent, err := settled.Add(held)
	if err == nil {
		settled, err = settled.Add(c.settled)
	}
	if err == nil {
		held, err = held.Add(c.held)
	}
	var sum costs.Amount
	if err == nil {
		sum, err = settled.Add(held)
	}
	if err != nil {
		return fmt.Errorf("count for the %s: %w", s.Kind, err)
	}
	if s.Limit > 0 && sum > s.Limit {
		return &costs.BudgetError{Scope: s.Kind, Limit: s.Limit, Spent: spent, Need: c.held}
	}
	err = x.do("INSERT INTO spend VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET settled = excluded.settled, held = excluded.held",
		s.Kind, s.ID, day, settled, held)
	if err != nil {
		return fmt.Errorf("count for the %s: %w", s.Kind, err)
	}
	return nil
}

// Settle implements [sessions.Turns].
func (s *Store) Settle(ctx context.Context, f sessions.Fence, st costs.Settlement, ms ...transcript.Message) error {
	fenced, err := write(ctx, s, func(x *tx) (fenced bool, err error) { return settle(x, f, st.Entry, ms) })
	if err == nil && fenced {
		err = sessions.ErrFenced
	}
	if err != nil {
		return fmt.Errorf("settle call %s: %w", st.Entry.ID, err)
	}
	return nil
}

func settle(x *tx, f sessions.Fence, e costs.Entry, ms []transcript.Message) (fenced bool, err error) {
	turn, err := book(x, e)
	if err != nil {
		return false, err
	}
	if _, err := owned(x, f); errors.Is(err, sessions.ErrFenced) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	if len(ms) == 0 {
		return false, nil
	}
	t, err := loadTurn(x, turn)
	if err != nil {
		return false, err
	}
	if t.Token != f.Token {
		return true, nil
	}
	if err := appendMessages(x, t.Session, ms, e.At); err != nil {
		return false, err
	}
	return false, stepOn(x, t, e.Call)
}

// reservation is what book needs of one.
type reservation struct {
	session sessionkeys.SessionID
	turn    string
	held    costs.Amount
	day     string
	scopes  []sessions.Scope
}

// book writes the ledger row and moves every sum, once for each entry's id. It
// returns the turn that the call was made for.
func book(x *tx, e costs.Entry) (turn string, err error) {
	if found, err := x.one("SELECT turn FROM ledger WHERE id = ?", args(e.ID), &turn); err != nil || found {
		return turn, err
	}
	if e.Amount < 0 || e.Upper < 0 {
		return "", errors.New("the entry's amount is negative")
	}
	var r reservation
	var scopes string
	found, err := x.one("SELECT session, turn, held, day, scopes FROM reservations WHERE id = ?", args(e.ID), &r.session, &r.turn, &r.held, &r.day, &scopes)
	if err != nil {
		return "", fmt.Errorf("read reservation %s: %w", e.ID, err)
	}
	if !found {
		return "", fmt.Errorf("reservation %s: %w", e.ID, sessions.ErrNotFound)
	}
	if err := parse(scopes, &r.scopes); err != nil {
		return "", err
	}
	if err := insertEntry(x, r, e); err != nil {
		return "", err
	}
	var keep costs.Amount // what an interrupted call may still have cost
	if e.State == costs.Interrupted {
		keep = max(0, e.Upper-e.Amount)
	}
	c := change{settled: e.Amount, held: keep - r.held}
	if !e.Priced {
		c.unpriced = 1
	}
	if err := charge(x, r.session, c, e.At); err != nil {
		return "", err
	}
	for _, s := range r.scopes {
		s.Limit = 0 // a cost is a fact
		if err := count(x, s, r.day, c); err != nil {
			return "", err
		}
	}
	if err := addTotal(x, e, c.unpriced); err != nil {
		return "", err
	}
	if keep > 0 {
		err = x.do("UPDATE reservations SET state = 'interrupted', held = ? WHERE id = ?", keep, e.ID)
	} else {
		err = x.do("DELETE FROM reservations WHERE id = ?", e.ID)
	}
	if err != nil {
		return "", fmt.Errorf("end reservation %s: %w", e.ID, err)
	}
	return r.turn, nil
}

func insertEntry(x *tx, r reservation, e costs.Entry) error {
	body, err := text(e)
	if err != nil {
		return err
	}
	l := e.Labels
	err = x.do("INSERT INTO ledger (id, session, turn, provider, model, channel, purpose, amount, priced, entry) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		e.ID, r.session, r.turn, l.Provider, l.Model, l.Channel, l.Purpose, e.Amount, e.Priced, body)
	if err != nil {
		return fmt.Errorf("write ledger row %s: %w", e.ID, err)
	}
	return nil
}

func addTotal(x *tx, e costs.Entry, unknown int) error {
	l := e.Labels
	var amount costs.Amount
	_, err := x.one("SELECT amount FROM totals WHERE provider = ? AND model = ? AND channel = ? AND purpose = ?",
		args(l.Provider, l.Model, l.Channel, l.Purpose), &amount)
	if err == nil {
		amount, err = amount.Add(e.Amount)
	}
	if err == nil {
		err = x.do(`INSERT INTO totals VALUES (?, ?, ?, ?, ?, 1, ?)
			ON CONFLICT DO UPDATE SET amount = excluded.amount, calls = calls + 1, unknown = unknown + excluded.unknown`,
			l.Provider, l.Model, l.Channel, l.Purpose, amount, unknown)
	}
	if err != nil {
		return fmt.Errorf("add to the totals: %w", err)
	}
	return nil
}
