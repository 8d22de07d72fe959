package sqlite

import (
	"fmt"
	"slices"
	"strings"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// account is what changes of a session.
type account struct {
	id                 sessionkeys.SessionID
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
	found, err := t.queryRow("SELECT messages, own, subtree, held, unpriced, updated_at FROM sessions WHERE id = ?", args(id),
		&a.messages, &a.own, &a.subtree, &a.held, &a.unpriced, &a.updated)
	if err == nil && !found {
		err = sessions.ErrNotFound
	}
	if err != nil {
		return account{}, fmt.Errorf("read session %s: %w", id, err)
	}
	t.sessions.learn(id, a)
	return a, nil
}

func (t *tx) storeAccount(a account, _ *account) error {
	return t.exec("UPDATE sessions SET messages = ?, own = ?, subtree = ?, held = ?, unpriced = ?, updated_at = ? WHERE id = ?",
		a.messages, a.own, a.subtree, a.held, a.unpriced, a.updated, a.id)
}

// sums are the rows that a set's sums and counts move, as they will be.
type sums struct {
	accounts  []account
	spendings []spending
}

// reckon writes nothing. A limit refuses.
func (t *tx) reckon(set *rules.WriteSet) (s sums, err error) {
	for _, add := range set.Sums {
		if err := s.add(t, add); err != nil {
			return sums{}, err
		}
	}
	for i, c := range set.Counts {
		if err := s.count(t, c, i); err != nil {
			return sums{}, err
		}
	}
	return s, nil
}

func (s *sums) add(t *tx, add rules.Sums) error {
	row := slices.IndexFunc(s.accounts, func(a account) bool { return a.id == add.Session })
	if row < 0 {
		before, err := t.account(add.Session)
		if err != nil {
			return err
		}
		row, s.accounts = len(s.accounts), append(s.accounts, before)
	}
	a := &s.accounts[row]
	now, err := rules.Sums{Own: a.own, Subtree: a.subtree, Held: a.held, Unpriced: a.unpriced}.With(add)
	if err != nil {
		return err
	}
	a.own, a.subtree, a.held, a.unpriced = now.Own, now.Subtree, now.Held, now.Unpriced
	a.updated = max(a.updated, add.At.UnixMicro())
	return nil
}

// count adds to what a scope has spent.
func (s *sums) count(t *tx, c rules.Count, n int) error {
	row := slices.IndexFunc(s.spendings, func(p spending) bool { return p.key == c.Key })
	if row < 0 {
		before, err := t.spending(c.Key)
		if err != nil {
			return err
		}
		row, s.spendings = len(s.spendings), append(s.spendings, before)
	}
	p, err := s.spendings[row].With(c, n)
	if err != nil {
		return err
	}
	s.spendings[row].Spending = p
	return nil
}

func (s sums) save(t *tx) {
	for _, a := range s.accounts {
		t.sessions.put(a.id, a)
	}
	for _, p := range s.spendings {
		t.scopes.put(p.key, p)
	}
}

// spending is what a scope has settled and holds.
type spending struct {
	rules.Spending
	key rules.SpendingKey
}

const (
	storeSpending  = "INSERT INTO spend (kind, id, day, settled, held, doubt, doubt_until) VALUES (?, ?, ?, ?, ?, ?, ?)"
	orElseSpending = " ON CONFLICT DO UPDATE SET settled = excluded.settled, held = excluded.held, doubt = excluded.doubt, doubt_until = excluded.doubt_until"
	findSpending   = "SELECT settled, held, doubt, doubt_until FROM spend WHERE kind = ? AND id = ? AND day = ?"
	spendingWidth  = 7
	atOnce         = 8
)

func loadSpending(s source, k rules.SpendingKey) (p spending, err error) {
	p.key = k
	if _, err := s.queryRow(findSpending, args(k.Kind, k.ID, k.Window), &p.Settled, &p.Held, &p.Ambiguous, &p.Until); err != nil {
		return spending{}, fmt.Errorf("read what the %s spent: %w", k.Kind, err)
	}
	return p, nil
}

// spending is loadSpending of what is known.
func (t *tx) spending(k rules.SpendingKey) (spending, error) {
	if s, ok := t.scopes.get(k); ok {
		return s, nil
	}
	s, err := loadSpending(t, k)
	if err == nil {
		t.scopes.learn(k, s)
	}
	return s, err
}

// storeSpendings writes eight, four, two rows and one at a time: a few
// statements for all the scopes of a call.
func (t *tx) storeSpendings(rows []*cachedRow[spending]) error {
	for n := atOnce; len(rows) > 0; n /= 2 {
		for ; len(rows) >= n; rows = rows[n:] {
			query := storeSpending + strings.Repeat(", (?, ?, ?, ?, ?, ?, ?)", n-1) + orElseSpending
			a := make([]any, 0, spendingWidth*n)
			for _, e := range rows[:n] {
				p := e.now
				a = append(a, p.key.Kind, p.key.ID, p.key.Window, p.Settled, p.Held, p.Ambiguous, p.Until)
			}
			if err := t.exec(query, a...); err != nil {
				return fmt.Errorf("count what was spent: %w", err)
			}
		}
	}
	return nil
}

// total is what was spent under one label set.
type total struct{ sessions.Total }

func (t *tx) addTotal(e costs.Entry) error {
	sum, known := t.totals.get(e.Labels)
	if !known {
		l := e.Labels
		sum.Labels = l
		_, err := t.queryRow("SELECT amount, calls, unknown FROM totals WHERE provider = ? AND model = ? AND channel = ? AND purpose = ?",
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
	if !e.Priced {
		sum.Unknown++
	}
	t.totals.put(e.Labels, sum)
	return nil
}

func (t *tx) storeTotal(sum total, _ *total) error {
	l := sum.Labels
	return t.exec(`INSERT INTO totals VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET amount = excluded.amount, calls = excluded.calls, unknown = excluded.unknown`,
		l.Provider, l.Model, l.Channel, l.Purpose, sum.Amount, sum.Calls, sum.Unknown)
}
