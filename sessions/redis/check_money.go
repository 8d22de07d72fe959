package redis

import (
	"context"
	"fmt"

	"parley/costs"
	"parley/sessions"
)

// checkedSessions is how many sessions one script looks at.
const checkedSessions = 100

// wrongSums is the finding of money that does not add up.
const wrongSums = "sums that do not add up"

// checkMoney asks for pages of sessions whose sums, or whose descendants' sums,
// are not those of their entries and reservations.
func (s *Store) checkMoney(ctx context.Context, f *findings) error {
	for at := "-"; ; {
		a, err := s.look(ctx, "check_money", after{at, checkedSessions})
		if err != nil {
			return fmt.Errorf("look through the sums of sessions: %w", err)
		}
		for _, p := range a.texts(1) {
			f.add(wrongSums, p)
		}
		if a.text(0) == "" {
			return s.checkTotals(ctx, f)
		}
		at = "(" + a.text(0)
	}
}

// checkTotals compares the totals with the ledger as it was at one moment.
func (s *Store) checkTotals(ctx context.Context, f *findings) error {
	ts, last, err := s.totals(ctx)
	if err != nil {
		return fmt.Errorf("read the totals: %w", err)
	}
	sums := map[costs.Labels]sessions.Total{}
	err = s.eachUsed(ctx, "-", "+", last, func(u used, _ place) (err error) {
		t := sums[u.labels]
		t.Labels, t.Calls, t.Unknown = u.labels, t.Calls+1, t.Unknown+u.unpriced
		t.Amount, err = t.Amount.Add(u.amount)
		sums[u.labels] = t
		return err
	})
	if err != nil {
		return fmt.Errorf("sum up the ledger: %w", err)
	}
	for _, t := range ts {
		if t != sums[t.Labels] {
			f.add(wrongSums, fmt.Sprintf("the total of %s/%s", t.Labels.Provider, t.Labels.Model))
		}
		delete(sums, t.Labels)
	}
	for l := range sums {
		f.add(wrongSums, fmt.Sprintf("the total of %s/%s is missing", l.Provider, l.Model))
	}
	return nil
}
