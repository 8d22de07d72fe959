package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	if _, there := x.calls.get(r.ID); there {
		return nil
	}
	// Refused before anything is written, unless it is there already.
	after, err := x.reckon(c.Session, c.Scopes, r.At, change{held: e.Upper, unbound: !e.Priced}, r.At)
	if err != nil {
		there, lookErr := isReserved(x, r.ID)
		if lookErr != nil || there {
			return lookErr
		}
		return err
	}
	body, err := text(r)
	if err != nil {
		return err
	}
	scopes, err := text(c.Scopes)
	if err != nil {
		return err
	}
	n, err := x.change(`INSERT INTO reservations (id, token, session, turn, state, held, day, scopes, body)
		SELECT ?1, ?2, ?3, ?4, 'open', ?5, ?6, ?7, ?8 WHERE NOT EXISTS (SELECT 1 FROM ledger WHERE id = ?1) ON CONFLICT (id) DO NOTHING`,
		r.ID, f.Token, c.Session, c.Turn, e.Upper, costs.Day.Name(r.At), scopes, body)
	if err != nil {
		return fmt.Errorf("write it down: %w", err)
	}
	if n == 0 {
		return nil // it is there already
	}
	if c.Asked != nil {
		if err := record(x, c, r); err != nil {
			return err
		}
	}
	after.save(x)
	x.calls.learn(r.ID, reservation{session: c.Session, turn: c.Turn, held: e.Upper, at: r.At, scopes: c.Scopes})
	return begun(x, c.Turn, e.Call)
}

// isReserved says whether a call was reserved, or is booked already.
func isReserved(x *tx, id string) (bool, error) {
	var one int
	there, err := x.one("SELECT 1 WHERE EXISTS (SELECT 1 FROM ledger WHERE id = ?1) OR EXISTS (SELECT 1 FROM reservations WHERE id = ?1)", args(id), &one)
	if err != nil {
		return false, fmt.Errorf("look for it: %w", err)
	}
	return there, nil
}

// begun notes that a call of the turn is open.
func begun(x *tx, turn string, c costs.CallID) error {
	t, err := x.turn(turn)
	if errors.Is(err, sessions.ErrNotFound) {
		x.early[turn] = true
		return nil
	}
	if err != nil {
		return err
	}
	t.calls++
	if ofLoop(c.Purpose) && t.Steps+1 == c.Step && t.Tries < c.Attempt {
		t.Tries = c.Attempt
		t.save(x)
		return nil
	}
	x.turns.amend(turn, func(known *turnRow) { known.calls = t.calls })
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
	t, err := x.turn(turn)
	if err != nil {
		return false, err
	}
	if t.Token != f.Token {
		return true, nil
	}
	if err := appendMessages(x, t.Session, ms, e.At); err != nil {
		return false, err
	}
	if t.stepOn(e.Call) {
		t.save(x)
	}
	return false, nil
}

// reservation is what book needs of one.
type reservation struct {
	session sessionkeys.SessionID
	turn    string
	held    costs.Amount
	at      time.Time // its day is what counts
	scopes  []sessions.Scope
}

// reserved is the reservation of an entry that is to be booked. booked says
// that this was done already.
func reserved(x *tx, id string) (r reservation, booked bool, err error) {
	r, open := x.calls.get(id)
	if open {
		return r, false, nil
	}
	if booked, err = x.one("SELECT turn FROM ledger WHERE id = ?", args(id), &r.turn); err != nil || booked {
		return r, booked, err
	}
	var day, scopes string
	found, err := x.one("SELECT session, turn, held, day, scopes FROM reservations WHERE id = ?", args(id), &r.session, &r.turn, &r.held, &day, &scopes)
	if err == nil && !found {
		err = sessions.ErrNotFound
	}
	if err == nil {
		err = parse(scopes, &r.scopes)
	}
	if err == nil {
		r.at, err = time.Parse(time.DateOnly, day)
	}
	if err != nil {
		return r, false, fmt.Errorf("reservation %s: %w", id, err)
	}
	return r, false, nil
}

// book writes the ledger row and moves every sum, once for each entry's id. It
// returns the turn that the call was made for.
func book(x *tx, e costs.Entry) (turn string, err error) {
	r, booked, err := reserved(x, e.ID)
	if err != nil || booked {
		return r.turn, err
	}
	if e.Amount < 0 || e.Upper < 0 {
		return "", errors.New("the entry's amount is negative")
	}
	var keep costs.Amount // what an interrupted call may still have cost
	if e.State == costs.Interrupted {
		keep = max(0, e.Upper-e.Amount)
	}
	c := change{settled: e.Amount, held: -r.held, doubt: keep}
	if !e.Priced {
		c.unpriced = 1
	}
	scopes := slices.Clone(r.scopes)
	for i := range scopes {
		scopes[i].Limit = 0 // a cost is a fact
	}
	after, err := x.reckon(r.session, scopes, r.at, c, e.At)
	if err != nil {
		return "", err
	}
	if err := insertEntry(x, r, e); err != nil {
		return "", err
	}
	after.save(x)
	if err := x.addTotal(e, c.unpriced); err != nil {
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
	x.calls.drop(e.ID)
	x.turns.amend(r.turn, func(t *turnRow) { t.calls-- })
	return r.turn, nil
}

func insertEntry(x *tx, r reservation, e costs.Entry) error {
	price, err := x.price(e.Price)
	if err != nil {
		return err
	}
	e.Price = nil
	body, err := text(e)
	if err != nil {
		return err
	}
	l := e.Labels
	u := e.Usage
	err = x.do(`INSERT INTO ledger (id, session, turn, provider, model, channel, purpose, amount, priced, entry, price,
			at, interrupted, input, cache_read, cache_write, output, reasoning)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, r.session, r.turn, l.Provider, l.Model, l.Channel, l.Purpose, e.Amount, e.Priced, body, price,
		micros(e.At), e.State == costs.Interrupted, u.Input, u.CacheRead, u.CacheWrite5m+u.CacheWrite1h, u.Output, u.Reasoning)
	if err != nil {
		return fmt.Errorf("write ledger row %s: %w", e.ID, err)
	}
	return nil
}

// price is the number of the row that is a copy of p, or nil when p is.
func (t *tx) price(p *costs.Price) (any, error) {
	if p == nil {
		return nil, nil //nolint:nilnil // NULL
	}
	body, err := text(p)
	if err != nil {
		return nil, err
	}
	if id, ok := t.prices.get(body); ok {
		return id, nil
	}
	var id int64
	found, err := t.one("SELECT id FROM prices WHERE body = ?", args(body), &id)
	if err == nil && !found {
		_, id, err = t.insert("INSERT INTO prices (body) VALUES (?)", body)
	}
	if err != nil {
		return nil, fmt.Errorf("keep the price: %w", err)
	}
	t.prices.learn(body, id)
	return id, nil
}
