package sqlite

import (
	"fmt"

	"parley/costs"
	"parley/sessions"
)

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
