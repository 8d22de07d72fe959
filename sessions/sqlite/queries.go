package sqlite

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

var _ sessions.Queries = (*Store)(nil)

// Sessions implements [sessions.Queries].
func (dir directory) Sessions(ctx context.Context, q sessions.SessionQuery) (found []sessions.Session, err error) {
	if q.Limit <= 0 {
		return nil, nil
	}
	query, a := sessionsStatement(q)
	err = dir.queryRows(ctx, query, a, func(r scanner) error {
		if len(found) == q.Limit {
			return errEnough
		}
		row, err := scanSession(r)
		found = append(found, row)
		return err
	})
	return found, rules.While(err, "list sessions")
}

func sessionsStatement(q sessions.SessionQuery) (query string, a []any) {
	where := "parent = '' AND updated_at >= ?"
	a = args(microsSince(q.Since))
	if q.Channel != "" {
		where += " AND EXISTS (SELECT 1 FROM turns WHERE turns.session = sessions.id AND turns.channel = ?)"
		a = append(a, q.Channel)
	}
	if !q.ByCost {
		return "SELECT " + rules.SessionColumns + " FROM sessions WHERE " + where + " ORDER BY updated_at DESC, subtree DESC, rowid DESC", a
	}
	const order = " ORDER BY subtree DESC, updated_at DESC, rowid DESC"
	// The dearest are found in the index alone, and only those are read. The
	// limit is one of a few, because each is another statement.
	limit := 32
	for limit < q.Limit && limit < 1<<24 {
		limit *= 8
	}
	return "SELECT " + rules.SessionColumns + " FROM sessions WHERE rowid IN (SELECT rowid FROM sessions WHERE " + where +
		order + " LIMIT " + strconv.Itoa(limit) + ")" + order, a
}

// microsSince is t, or before everything.
func microsSince(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return t.UnixMicro()
}

// Find implements [sessions.Queries].
func (dir directory) Find(ctx context.Context, prefix string, limit int) (ids []sessionkeys.SessionID, err error) {
	if prefix == "" || limit <= 0 {
		return nil, nil
	}
	err = dir.queryRows(ctx, "SELECT id FROM sessions WHERE id >= ? ORDER BY id", args(prefix), func(r scanner) error {
		var id sessionkeys.SessionID
		if err := r.Scan(&id); err != nil {
			return err
		}
		if len(ids) == limit || !strings.HasPrefix(string(id), prefix) {
			return errEnough
		}
		ids = append(ids, id)
		return nil
	})
	return ids, rules.While(err, "find sessions")
}

var turnsOf = "SELECT " + turnColumns + " FROM turns AS t WHERE t.session = ? ORDER BY t.opened_at, t.seq, t.id"

// TurnsOf implements [sessions.Turns].
func (dir directory) TurnsOf(ctx context.Context, id sessionkeys.SessionID) (ts []sessions.Turn, err error) {
	err = dir.queryRows(ctx, turnsOf, args(id), func(r scanner) error {
		var t rules.Turn
		err := r.Scan(t.Places()...)
		ts = append(ts, t.Turn)
		return err
	})
	return ts, rules.While(err, "list the turns of session %s", id)
}

// Backlog implements [sessions.Queries].
func (dir directory) Backlog(ctx context.Context) (b sessions.Backlog, err error) {
	err = dir.snapshot(ctx, func(v *view) error {
		_, err := v.queryRow(`SELECT count(turn <> '' OR NULL), count(turn = '' AND (touched > read OR controls > 0) OR NULL),
				coalesce(min(CASE WHEN turn = '' AND (touched > read OR controls > 0) THEN waiting END), 0)
			FROM mailboxes WHERE hot`, nil, &b.Running, &b.Waiting, &b.WaitsSince)
		if err == nil {
			_, err = v.queryRow("SELECT count(*) FROM mailboxes AS m JOIN turns AS t ON t.id = m.turn WHERE m.hot AND t.state = 'parked'", nil, &b.Parked)
		}
		if err == nil {
			_, err = v.queryRow("SELECT count(*), coalesce(min(at), 0) FROM outbox WHERE done = 0", nil, &b.Pending, &b.PendingSince)
		}
		if err == nil {
			_, err = v.queryRow("SELECT count(*) FROM outbox AS o JOIN outbox_parts AS p ON p.outbox = o.no WHERE o.done = 0 AND p.state = 'ambiguous'", nil, &b.Ambiguous)
		}
		return err
	})
	return b, rules.While(err, "count what is owed")
}
