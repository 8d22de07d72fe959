package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/sessions"
	"parley/sessions/rules"
)

// Totals implements [sessions.Money].
func (lg ledger) Totals(ctx context.Context) ([]sessions.Total, error) {
	ts, _, err := lg.totals(ctx)
	return ts, rules.While(err, "read the totals")
}

// totals are those of the ledger up to its entry last, the last there is.
func (lg ledger) totals(ctx context.Context) (ts []sessions.Total, last int64, err error) {
	a, err := lg.query(ctx, newRead("HGETALL", lg.key("total:amount")), newRead("HGETALL", lg.key("total:calls")), newRead("HGETALL", lg.key("total:unknown")),
		newRead("XREVRANGE", lg.key("ledger"), "+", "-", "COUNT", "1"))
	if err == nil {
		last, err = parseNumber(strings.TrimPrefix(a.list(3).list(0).text(0), "0-"))
	}
	if err != nil {
		return nil, 0, err
	}
	amounts, calls, unknown := a.row(0), a.row(1), a.row(2)
	for labels := range amounts {
		var t sessions.Total
		if err := (answer{labels, amounts[labels], calls[labels], unknown[labels]}).load(&t.Labels, &t.Amount, &t.Calls, &t.Unknown); err != nil {
			return nil, 0, fmt.Errorf("read a total: %w", err)
		}
		ts = append(ts, t)
	}
	slices.SortFunc(ts, func(a, b sessions.Total) int {
		return cmp.Or(
			cmp.Compare(a.Labels.Provider, b.Labels.Provider), cmp.Compare(a.Labels.Model, b.Labels.Model),
			cmp.Compare(a.Labels.Channel, b.Labels.Channel), cmp.Compare(a.Labels.Purpose, b.Labels.Purpose),
		)
	})
	return ts, last, nil
}
