package sqlite

import (
	"fmt"
	"slices"

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
