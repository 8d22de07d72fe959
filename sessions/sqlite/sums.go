package sqlite

import (
	"fmt"
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

// change is what is added to the sums.
type change struct {
	settled  costs.Amount
	held     costs.Amount // for calls that may still be settled
	doubt    costs.Amount // for calls that were interrupted
	unpriced int
	unbound  bool // to be reserved without a price: no limit allows it
}

// sums are the rows that a change moves: a session, its ancestors and its
// scopes, as they will be.
type sums struct {
	accounts  []account
	spendings []spending
}

// treeScope counts what a root session and all below it spend in a day.
const treeScope = "tree"

// reckon writes nothing. from is the time of the reservation, now that of the
// change. A limit refuses a change that holds more.
func (t *tx) reckon(id sessionkeys.SessionID, scopes []sessions.Scope, from time.Time, c change, now time.Time) (s sums, err error) {
	keep, err := c.held.Add(c.doubt)
	if err != nil {
		return sums{}, fmt.Errorf("charge session %s: %w", id, err)
	}
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
			a.held, err = a.held.Add(keep)
		}
		if err != nil {
			return sums{}, fmt.Errorf("charge session %s: %w", at, err)
		}
		a.unpriced += c.unpriced
		a.updated = max(a.updated, micros(now))
		s.accounts = append(s.accounts, a)
		if at = a.parent; at == "" {
			if err := s.count(t, sessions.Scope{Kind: treeScope, ID: string(a.id)}, from, c, now); err != nil {
				return sums{}, err
			}
		}
	}
	for _, scope := range scopes {
		if err := s.count(t, scope, from, c, now); err != nil {
			return sums{}, err
		}
	}
	return s, nil
}

// count adds c to a scope.
func (s *sums) count(t *tx, scope sessions.Scope, from time.Time, c change, now time.Time) error {
	k := keyOf(scope, from)
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
	spent, err := p.sum(now)
	var sum costs.Amount
	if err == nil {
		if p, err = p.with(c, now); err == nil {
			sum, err = p.sum(now)
		}
	}
	if err != nil {
		return fmt.Errorf("count for the %s: %w", scope.Kind, err)
	}
	if scope.Limit > 0 && (sum > scope.Limit || c.unbound) {
		return &costs.BudgetError{
			Scope: scope.Kind, Window: scope.Window, Limit: scope.Limit, Spent: spent, Need: c.held,
			Free: scope.Window.Next(from), Unpriced: c.unbound,
		}
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
