package sqlite

import (
	"fmt"
	"strings"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// account is what changes of a session.
type account struct {
	id, parent         sessionkeys.SessionID
	messages           int
	own, subtree, held costs.Amount
	unpriced           int
	updated            int64
}

// account returns ErrNotFound when there is no such session.
func (t *tx) account(id sessionkeys.SessionID) (account, error) {
	if a, ok := t.sessions.get(id); ok {
		return a, nil
	}
	a := account{id: id}
	found, err := t.one("SELECT parent, messages, own, subtree, held, unpriced, updated_at FROM sessions WHERE id = ?", args(id),
		&a.parent, &a.messages, &a.own, &a.subtree, &a.held, &a.unpriced, &a.updated)
	if err == nil && !found {
		err = sessions.ErrNotFound
	}
	if err != nil {
		return account{}, fmt.Errorf("read session %s: %w", id, err)
	}
	t.sessions.learn(id, a)
	return a, nil
}

func (a account) save(t *tx) {
	t.changed = true
	t.sessions.put(a.id, a)
}

func (t *tx) storeAccounts(rows []*kept[account]) error {
	for _, e := range rows {
		a := e.now
		err := t.do("UPDATE sessions SET messages = ?, own = ?, subtree = ?, held = ?, unpriced = ?, updated_at = ? WHERE id = ?",
			a.messages, a.own, a.subtree, a.held, a.unpriced, a.updated, a.id)
		if err != nil {
			return fmt.Errorf("write session %s: %w", a.id, err)
		}
	}
	return nil
}

// scopeKey is a scope on a day; the day is empty for one over all time.
type scopeKey struct{ kind, id, day string }

// spending is what a scope has settled and holds.
type spending struct {
	key           scopeKey
	settled, held costs.Amount
}

func (t *tx) spending(k scopeKey) (spending, error) {
	if s, ok := t.scopes.get(k); ok {
		return s, nil
	}
	s := spending{key: k}
	_, err := t.one("SELECT settled, held FROM spend WHERE kind = ? AND id = ? AND day = ?", args(k.kind, k.id, k.day), &s.settled, &s.held)
	if err != nil {
		return spending{}, fmt.Errorf("read what the %s spent: %w", k.kind, err)
	}
	t.scopes.learn(k, s)
	return s, nil
}

const (
	storeSpending  = "INSERT INTO spend (kind, id, day, settled, held) VALUES (?, ?, ?, ?, ?)"
	orElseSpending = " ON CONFLICT DO UPDATE SET settled = excluded.settled, held = excluded.held"
	atOnce         = 3 // the scopes of most calls
)

func (t *tx) storeSpendings(rows []*kept[spending]) error {
	several := storeSpending + strings.Repeat(", (?, ?, ?, ?, ?)", atOnce-1) + orElseSpending
	for len(rows) > 0 {
		n, query := 1, storeSpending+orElseSpending
		if len(rows) >= atOnce {
			n, query = atOnce, several
		}
		a := make([]any, 0, 5*atOnce)
		for _, e := range rows[:n] {
			a = append(a, e.now.key.kind, e.now.key.id, e.now.key.day, e.now.settled, e.now.held)
		}
		if err := t.do(query, a...); err != nil {
			return fmt.Errorf("count what was spent: %w", err)
		}
		rows = rows[n:]
	}
	return nil
}

// total is what was spent under one label set.
type total struct{ sessions.Total }

func (t *tx) addTotal(e costs.Entry, unknown int) error {
	sum, known := t.totals.get(e.Labels)
	if !known {
		l := e.Labels
		sum.Labels = l
		_, err := t.one("SELECT amount, calls, unknown FROM totals WHERE provider = ? AND model = ? AND channel = ? AND purpose = ?",
			args(l.Provider, l.Model, l.Channel, l.Purpose), &sum.Amount, &sum.Calls, &sum.Unknown)
		if err != nil {
			return fmt.Errorf("read the totals: %w", err)
		}
	}
	amount, err := sum.Amount.Add(e.Amount)
	if err != nil {
		return fmt.Errorf("add to the totals: %w", err)
	}
	sum.Amount = amount
	sum.Calls++
	sum.Unknown += int64(unknown)
	t.changed = true
	t.totals.put(e.Labels, sum)
	return nil
}

func (t *tx) storeTotals(rows []*kept[total]) error {
	for _, e := range rows {
		l := e.now.Labels
		err := t.do(`INSERT INTO totals VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET amount = excluded.amount, calls = excluded.calls, unknown = excluded.unknown`,
			l.Provider, l.Model, l.Channel, l.Purpose, e.now.Amount, e.now.Calls, e.now.Unknown)
		if err != nil {
			return fmt.Errorf("add to the totals: %w", err)
		}
	}
	return nil
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// change is what is added to the sums.
type change struct {
	settled, held costs.Amount
	unpriced      int
}

// sums are the rows that a change moves: a session, its ancestors and its
// scopes, as they will be.
type sums struct {
	accounts  []account
	spendings []spending
}

// reckon writes nothing. A limit refuses a change that holds more.
func (t *tx) reckon(id sessionkeys.SessionID, scopes []sessions.Scope, day string, c change, now time.Time) (s sums, err error) {
	for at := id; at != ""; {
		a, err := t.account(at)
		if err != nil {
			return sums{}, err
		}
		if at == id {
			a.own, err = a.own.Add(c.settled)
		}
		if err == nil {
			a.subtree, err = a.subtree.Add(c.settled)
		}
		if err == nil {
			a.held, err = a.held.Add(c.held)
		}
		if err != nil {
			return sums{}, fmt.Errorf("charge session %s: %w", at, err)
		}
		a.unpriced += c.unpriced
		a.updated = max(a.updated, micros(now))
		s.accounts = append(s.accounts, a)
		at = a.parent
	}
	for _, scope := range scopes {
		if err := s.count(t, scope, day, c); err != nil {
			return sums{}, err
		}
	}
	return s, nil
}

// count adds c to a scope.
func (s *sums) count(t *tx, scope sessions.Scope, day string, c change) error {
	k := scopeKey{scope.Kind, scope.ID, day}
	if scope.Whole {
		k.day = ""
	}
	row := -1 // of a scope that was named before
	for i := range s.spendings {
		if s.spendings[i].key == k {
			row = i
		}
	}
	if row < 0 {
		before, err := t.spending(k)
		if err != nil {
			return err
		}
		row, s.spendings = len(s.spendings), append(s.spendings, before)
	}
	p := s.spendings[row]
	spent, err := p.settled.Add(p.held)
	if err == nil {
		p.settled, err = p.settled.Add(c.settled)
	}
	if err == nil {
		p.held, err = p.held.Add(c.held)
	}
	var sum costs.Amount
	if err == nil {
		sum, err = p.settled.Add(p.held)
	}
	if err != nil {
		return fmt.Errorf("count for the %s: %w", scope.Kind, err)
	}
	if scope.Limit > 0 && sum > scope.Limit {
		return &costs.BudgetError{Scope: scope.Kind, Limit: scope.Limit, Spent: spent, Need: c.held}
	}
	s.spendings[row] = p
	return nil
}

func (s sums) save(t *tx) {
	t.changed = true
	for _, a := range s.accounts {
		t.sessions.put(a.id, a)
	}
	for _, p := range s.spendings {
		t.scopes.put(p.key, p)
	}
}
