package sqlite

import (
	"context"
	"errors"
	"math"
	"strconv"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// agentOfKey is the agent's name in a session's key: agent:<name>:sub:… or
// <name>:…; no agent is called agent.
const agentOfKey = `CASE WHEN substr(s.key, 1, 6) = 'agent:' THEN substr(s.key, 7, instr(substr(s.key, 7), ':') - 1)
	ELSE substr(s.key, 1, instr(s.key, ':') - 1) END`

// groups says what of a ledger row, l, its group is.
var groups = map[sessions.Grouping]string{
	sessions.ByModel:   "l.provider || '/' || l.model",
	sessions.ByChannel: "l.channel",
	sessions.ByAgent:   agentOfKey,
	sessions.ByPurpose: "l.purpose",
	sessions.ByDay:     "date(l.at / 1000000, 'unixepoch')",
	sessions.BySession: "l.session",
}

// Usage implements [sessions.Queries].
func (lg ledger) Usage(ctx context.Context, q sessions.UsageQuery) (us []sessions.Usage, err error) {
	query, a, err := usageStatement(q)
	if err == nil {
		err = lg.read(ctx, func(v *view) error {
			v.long = true // all of the ledger may be asked for
			return v.queryRows(query, a, func(r scanner) error {
				var u sessions.Usage
				err := r.Scan(&u.Group, &u.Amount, &u.Calls, &u.Unpriced, &u.Interrupted,
					&u.Input, &u.CacheRead, &u.CacheWrite, &u.Output, &u.Reasoning)
				us = append(us, u)
				return err
			})
		})
	}
	rules.SortUsage(us, q.By)
	return us, rules.While(err, "sum up the ledger")
}

// usageStatement always has bounds, so that SQLite reads the entries in the order
// of their time, and not all of the ledger in the order of the groups.
func usageStatement(q sessions.UsageQuery) (query string, a []any, err error) {
	group, ok := groups[q.By]
	if !ok {
		return "", nil, errors.New("nothing is grouped by " + string(q.By))
	}
	from := "ledger AS l"
	where := "l.at >= ? AND l.at < ?"
	a = args(microsSince(q.Since), int64(math.MaxInt64))
	if !q.Until.IsZero() {
		a[1] = q.Until.UnixMicro()
	}
	with := ""
	if q.Tree != "" {
		with = `WITH RECURSIVE below (n) AS (
			SELECT id FROM sessions WHERE id = ?
			UNION ALL SELECT sessions.id FROM below JOIN sessions ON sessions.parent = below.n AND sessions.parent <> '') `
		from = "below CROSS JOIN ledger AS l ON l.session = below.n"
		a = append(args(q.Tree), a...)
	}
	if q.By == sessions.ByAgent {
		from += " JOIN sessions AS s ON s.id = l.session"
	}
	return with + "SELECT " + group + ` AS g, sum(l.amount), count(*), sum(NOT l.priced), sum(l.interrupted),
		sum(l.input), sum(l.cache_read), sum(l.cache_write), sum(l.output), sum(l.reasoning)
		FROM ` + from + " WHERE " + where + " GROUP BY g", a, nil
}

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
