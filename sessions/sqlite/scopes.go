package sqlite

import (
	"fmt"
	"strings"

	"parley/sessions/rules"
)

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
