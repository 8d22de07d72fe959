package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"parley/costs"
	"parley/sessions"
)

// Totals implements [sessions.Money].
func (s *Store) Totals(ctx context.Context) ([]sessions.Total, error) {
	ts, _, err := s.totals(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the totals: %w", err)
	}
	return ts, nil
}

// totals are those of the ledger up to its entry last, the last there is.
func (s *Store) totals(ctx context.Context) (ts []sessions.Total, last int64, err error) {
	a, err := s.look(ctx, "totals", struct{}{})
	if err == nil {
		last, err = a.int(3)
	}
	if err != nil {
		return nil, 0, err
	}
	amounts, calls, unknown := reader{row: a.row(0)}, reader{row: a.row(1)}, reader{row: a.row(2)}
	for labels := range amounts.row {
		t := sessions.Total{Amount: amounts.amount(labels), Calls: calls.int(labels), Unknown: unknown.int(labels)}
		if err := json.Unmarshal([]byte(labels), &t.Labels); err != nil {
			return nil, 0, fmt.Errorf("decode labels: %w", err)
		}
		ts = append(ts, t)
	}
	slices.SortFunc(ts, func(a, b sessions.Total) int {
		return cmp.Or(
			cmp.Compare(a.Labels.Provider, b.Labels.Provider), cmp.Compare(a.Labels.Model, b.Labels.Model),
			cmp.Compare(a.Labels.Channel, b.Labels.Channel), cmp.Compare(a.Labels.Purpose, b.Labels.Purpose),
		)
	})
	return ts, last, cmp.Or(amounts.err, calls.err, unknown.err)
}

// Spent implements [sessions.Money].
func (s *Store) Spent(ctx context.Context, sc sessions.Scope, at time.Time) (settled, held costs.Amount, err error) {
	a, err := s.look(ctx, "spent", struct {
		Name string `json:"name"`
	}{scopeName(sc, at)})
	if err != nil {
		return 0, 0, fmt.Errorf("read what the %s spent: %w", sc.Kind, err)
	}
	r := reader{row: a.row(0)}
	settled, held = r.amount("settled"), r.amount("held")
	if costs.Day.Name(at) <= r.row["till"] {
		held, err = held.Add(r.amount("doubt"))
	}
	if err = cmp.Or(r.err, err); err != nil {
		return 0, 0, fmt.Errorf("add up what the %s holds: %w", sc.Kind, err)
	}
	return settled, held, nil
}
