package sqlite

import (
	"context"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// Dearest implements [sessions.Survey].
func (lg ledger) Dearest(ctx context.Context, at time.Time, n int) (as []costs.Amount, err error) {
	query := "SELECT settled FROM spend WHERE kind = '" + rules.TreeScope + "' AND day = ? AND settled > 0 ORDER BY settled DESC LIMIT ?"
	err = lg.queryRows(ctx, query, args(costs.Day.Name(at), max(n, 0)), func(r scanner) error {
		var a costs.Amount
		err := r.Scan(&a)
		as = append(as, a)
		return err
	})
	return as, rules.While(err, "read the dearest sessions")
}

// Active implements [sessions.Survey].
func (dir directory) Active(ctx context.Context, since time.Time) (as []sessions.Activity, err error) {
	const query = `SELECT t.channel, t.kind, count(*) FROM
			(SELECT DISTINCT session, channel, origin ->> 'kind' AS kind FROM turns WHERE nested = 0 AND opened_at >= ?) AS t
		JOIN sessions AS s ON s.id = t.session WHERE s.parent = '' GROUP BY t.channel, t.kind`
	err = dir.queryRows(ctx, query, args(since.UnixMicro()), func(r scanner) error {
		var a sessions.Activity
		err := r.Scan(&a.Channel, &a.Kind, &a.Sessions)
		as = append(as, a)
		return err
	})
	return as, rules.While(err, "count active sessions")
}

// Queues implements [sessions.Survey].
func (dir directory) Queues(ctx context.Context, limit int) (qs []sessions.Queue, total int, err error) {
	err = dir.snapshot(ctx, func(v *view) error {
		if _, err := v.queryRow("SELECT count(*) FROM mailboxes WHERE hot AND touched > read", nil, &total); err != nil {
			return err
		}
		query := "SELECT token, key, touched, read FROM mailboxes WHERE hot AND touched > read ORDER BY waiting, token LIMIT ?"
		return v.queryRows(query, args(max(limit, 0)), func(r scanner) error {
			var q sessions.Queue
			var key sessionkeys.Key
			if err := r.Scan(&q.Token, &key, &q.LastSeen, &q.LastRead); err != nil {
				return err
			}
			q.Address = key.Address()
			qs = append(qs, q)
			return nil
		})
	})
	return qs, total, rules.While(err, "list what waits")
}
