package sqlite

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// Ledger implements [sessions.Money]. yield may use the store.
func (s *Store) Ledger(ctx context.Context, id sessionkeys.SessionID, yield func(sessionkeys.SessionID, costs.Entry) bool) error {
	query := "SELECT no, session, entry FROM ledger WHERE no > ? ORDER BY no LIMIT " + strconv.Itoa(page)
	if id != "" {
		query = "SELECT no, session, entry FROM ledger WHERE no > ? AND session = ? ORDER BY no LIMIT " + strconv.Itoa(page)
	}
	type row struct {
		session sessionkeys.SessionID
		entry   costs.Entry
	}
	var after int64
	for {
		a := args(after)
		if id != "" {
			a = append(a, id)
		}
		var rows []row
		err := s.each(ctx, query, a, func(r scanner) error {
			var row row
			var body string
			if err := r.Scan(&after, &row.session, &body); err != nil {
				return err
			}
			err := parse(body, &row.entry)
			rows = append(rows, row)
			return err
		})
		if err != nil {
			return fmt.Errorf("read the ledger: %w", err)
		}
		for _, row := range rows {
			if !yield(row.session, row.entry) {
				return nil
			}
		}
		if len(rows) < page {
			return nil
		}
	}
}

// Totals implements [sessions.Money].
func (s *Store) Totals(ctx context.Context) (ts []sessions.Total, err error) {
	err = s.each(ctx, "SELECT provider, model, channel, purpose, amount, calls, unknown FROM totals", nil, func(r scanner) error {
		var t sessions.Total
		err := r.Scan(&t.Labels.Provider, &t.Labels.Model, &t.Labels.Channel, &t.Labels.Purpose, &t.Amount, &t.Calls, &t.Unknown)
		ts = append(ts, t)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the totals: %w", err)
	}
	return ts, nil
}

// Spent implements [sessions.Money].
func (s *Store) Spent(ctx context.Context, sc sessions.Scope, at time.Time) (settled, held costs.Amount, err error) {
	day := dayOf(at)
	if sc.Whole {
		day = ""
	}
	_, err = s.one(ctx, "SELECT settled, held FROM spend WHERE kind = ? AND id = ? AND day = ?", args(sc.Kind, sc.ID, day), &settled, &held)
	if err != nil {
		return 0, 0, fmt.Errorf("read what the %s spent: %w", sc.Kind, err)
	}
	return settled, held, nil
}
