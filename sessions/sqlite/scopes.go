package sqlite

import (
	"fmt"
	"strings"
	"time"

	"parley/costs"
	"parley/sessions"
)

// scopeKey is a scope in one of its windows.
type scopeKey struct{ kind, id, window string }

func keyOf(s sessions.Scope, at time.Time) scopeKey {
	return scopeKey{s.Kind, s.ID, s.Window.Name(at)}
}

// spending is what a scope has settled and holds.
type spending struct {
	key           scopeKey
	settled, held costs.Amount

	// Only over all time: doubt is held for interrupted calls up to and on the
	// day until.
	doubt costs.Amount
	until string
}

// held for interrupted calls at now.
func (p spending) doubtful(now time.Time) costs.Amount {
	if costs.Day.Name(now) <= p.until {
		return p.doubt
	}
	return 0
}

// sum is all that is settled and held at now.
func (p spending) sum(now time.Time) (costs.Amount, error) {
	return costs.SumOf(p.settled, p.held, p.doubtful(now))
}

// with is p after c. A window that ends holds what is doubtful to its own end.
func (p spending) with(c change, now time.Time) (spending, error) {
	doubt := costs.Amount(0)
	if p.key.window == costs.Always.Name(now) {
		doubt = c.doubt
	}
	var err error
	if p.settled, err = p.settled.Add(c.settled); err != nil {
		return p, err
	}
	if p.held, err = costs.SumOf(p.held, c.held, c.doubt, -doubt); err != nil || doubt == 0 {
		return p, err
	}
	if p.doubt, err = p.doubtful(now).Add(doubt); err != nil {
		return p, err
	}
	p.until = max(p.until, costs.Day.Name(now))
	return p, nil
}

const (
	storeSpending  = "INSERT INTO spend (kind, id, day, settled, held, doubt, doubt_until) VALUES (?, ?, ?, ?, ?, ?, ?)"
	orElseSpending = " ON CONFLICT DO UPDATE SET settled = excluded.settled, held = excluded.held, doubt = excluded.doubt, doubt_until = excluded.doubt_until"
	findSpending   = "SELECT settled, held, doubt, doubt_until FROM spend WHERE kind = ? AND id = ? AND day = ?"
	spendingWidth  = 7
	atOnce         = 8
)

func (p *spending) columns() []any { return args(&p.settled, &p.held, &p.doubt, &p.until) }

func (t *tx) spending(k scopeKey) (spending, error) {
	if s, ok := t.scopes.get(k); ok {
		return s, nil
	}
	s := spending{key: k}
	if _, err := t.one(findSpending, args(k.kind, k.id, k.window), s.columns()...); err != nil {
		return spending{}, fmt.Errorf("read what the %s spent: %w", k.kind, err)
	}
	t.scopes.learn(k, s)
	return s, nil
}

// storeSpendings writes eight, four, two rows and one at a time: a few
// statements for all the scopes of a call.
func (t *tx) storeSpendings(rows []*kept[spending]) error {
	for n := atOnce; len(rows) > 0; n /= 2 {
		for ; len(rows) >= n; rows = rows[n:] {
			query := storeSpending + strings.Repeat(", (?, ?, ?, ?, ?, ?, ?)", n-1) + orElseSpending
			a := make([]any, 0, spendingWidth*n)
			for _, e := range rows[:n] {
				p := e.now
				a = append(a, p.key.kind, p.key.id, p.key.window, p.settled, p.held, p.doubt, p.until)
			}
			if err := t.do(query, a...); err != nil {
				return fmt.Errorf("count what was spent: %w", err)
			}
		}
	}
	return nil
}
