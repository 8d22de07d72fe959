package sqlite

import (
	"context"
	"strconv"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

const ledgerRows = "SELECT l.no, l.session, l.entry, p.body FROM ledger AS l LEFT JOIN prices AS p ON p.id = l.price "

// Ledger implements [sessions.Money]. yield may use the store.
func (lg ledger) Ledger(ctx context.Context, id sessionkeys.SessionID, yield func(sessionkeys.SessionID, costs.Entry) bool) error {
	query := ledgerRows + "WHERE l.no > ? ORDER BY l.no LIMIT " + strconv.Itoa(page)
	if id != "" {
		query = ledgerRows + "WHERE l.no > ? AND l.session = ? ORDER BY l.no LIMIT " + strconv.Itoa(page)
	}
	type row struct {
		session sessionkeys.SessionID
		entry   costs.Entry
	}
	var after int64
	err := rules.Pages(page, func() (rows []row, err error) {
		a := args(after)
		if id != "" {
			a = append(a, id)
		}
		err = lg.queryRows(ctx, query, a, func(r scanner) error {
			var row row
			err := r.Scan(&after, &row.session, &row.entry, nullable{&row.entry.Price})
			rows = append(rows, row)
			return err
		})
		return rows, err
	}, func(r row) bool { return yield(r.session, r.entry) })
	return rules.While(err, "read the ledger")
}

// Totals implements [sessions.Money].
func (lg ledger) Totals(ctx context.Context) (ts []sessions.Total, err error) {
	err = lg.queryRows(ctx, "SELECT provider, model, channel, purpose, amount, calls, unknown FROM totals", nil, func(r scanner) error {
		var t sessions.Total
		err := r.Scan(&t.Labels.Provider, &t.Labels.Model, &t.Labels.Channel, &t.Labels.Purpose, &t.Amount, &t.Calls, &t.Unknown)
		ts = append(ts, t)
		return err
	})
	return ts, rules.While(err, "read the totals")
}
