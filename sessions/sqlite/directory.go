package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"parley/costs"
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

const staleSessions = "SELECT id FROM sessions WHERE parent = '' AND updated_at < ? AND messages > 0 ORDER BY updated_at"

// Stale implements [sessions.Queries].
func (dir directory) Stale(ctx context.Context, before time.Time, limit int) (ids []sessionkeys.SessionID, err error) {
	err = dir.queryRows(ctx, staleSessions, args(before.UnixMicro()), func(r scanner) error {
		if len(ids) >= limit {
			return errEnough
		}
		var id sessionkeys.SessionID
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, rules.While(err, "list sessions that did not change")
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
			_, err = v.queryRow("SELECT count(*), coalesce(min(at), 0) FROM outbox WHERE done = 0", nil, &b.Pending, &b.PendingSince)
		}
		if err == nil {
			_, err = v.queryRow("SELECT count(*) FROM outbox AS o JOIN outbox_parts AS p ON p.outbox = o.no WHERE o.done = 0 AND p.state = 'ambiguous'", nil, &b.Ambiguous)
		}
		return err
	})
	return b, rules.While(err, "count what is owed")
}

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

func scanSession(r scanner) (s sessions.Session, err error) {
	return s, r.Scan(rules.SessionPlaces(&s)...)
}

// loadSession returns ErrNotFound when there is none.
func loadSession(s source, id sessionkeys.SessionID) (row sessions.Session, err error) {
	found, err := s.queryRow("SELECT "+rules.SessionColumns+" FROM sessions WHERE id = ?", args(id), rules.SessionPlaces(&row)...)
	if err == nil && !found {
		err = sessions.ErrNotFound
	}
	return row, rules.While(err, "read session %s", id)
}

var insertSession = insertOf("sessions", rules.SessionColumns+", token")

// insertSession makes a session.
func (t *tx) insertSession(r rules.Session) error {
	token := "" // of a child's mailbox
	if r.Parent != "" {
		token = r.ID.MailboxToken()
	}
	made := r.Session
	made.UpdatedAt = r.CreatedAt
	err := t.exec(insertSession, append(rules.SessionPlaces(&made), token)...)
	if err != nil {
		return fmt.Errorf("make session %s: %w", r.ID, err)
	}
	t.learn(r)
	t.sessions.learn(r.ID, account{id: r.ID, updated: r.CreatedAt.UnixMicro()})
	return nil
}

// loadImmutableSession reads what of a session never changes.
func loadImmutableSession(s source, id sessionkeys.SessionID) (r rules.Session, found bool, err error) {
	r.Session, err = loadSession(s, id)
	if errors.Is(err, sessions.ErrNotFound) {
		return r, false, nil
	}
	return r, err == nil, err
}

// loadChild reads which session a child's mailbox feeds.
func loadChild(s source, token string) (c rules.Child, found bool, err error) {
	c.Token = token
	if token == "" {
		return c, false, nil
	}
	found, err = s.queryRow("SELECT id FROM sessions WHERE token = ?", args(token), &c.Session)
	return c, found, err
}

// Session implements [sessions.Turns].
func (dir directory) Session(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error) {
	return loadSession(dir.direct(ctx), id)
}

// Tree implements [sessions.Turns]: level by level, oldest first in each.
func (dir directory) Tree(ctx context.Context, id sessionkeys.SessionID) (tree []sessions.Session, err error) {
	err = dir.queryRows(ctx, `WITH RECURSIVE below (n) AS (
			SELECT id FROM sessions WHERE id = ?
			UNION ALL SELECT sessions.id FROM below JOIN sessions ON sessions.parent = below.n AND sessions.parent <> '')
		SELECT `+rules.SessionColumns+` FROM below JOIN sessions ON id = n ORDER BY depth, created_at, sessions.rowid`,
		args(id), func(r scanner) error {
			row, err := scanSession(r)
			tree = append(tree, row)
			return err
		})
	if err == nil && len(tree) == 0 {
		err = sessions.ErrNotFound
	}
	return tree, rules.While(err, "read the tree of session %s", id)
}
