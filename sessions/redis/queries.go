package redis

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// directory finds and lists what there is.
type directory struct{ *connection }

// Sessions implements [sessions.Queries]. A question for an instance, or for the
// dearest of those that changed lately, may look at all root sessions to find few.
func (dir directory) Sessions(ctx context.Context, q sessions.SessionQuery) ([]sessions.Session, error) {
	if q.Limit <= 0 {
		return nil, nil
	}
	var found []sessions.Session
	err := retryChanged(ctx, func() (err error) {
		found, err = dir.roots(ctx, q)
		return err
	})
	return found, rules.While(err, "list sessions")
}

// roots are the root sessions that a question means. It reads the first of them by
// their order, and when among these are too few that are meant, more of them.
func (dir directory) roots(ctx context.Context, q sessions.SessionQuery) (found []sessions.Session, err error) {
	came, origins, err := dir.originReads(ctx, q.Channel)
	if err != nil || q.Channel != "" && len(came) == 0 {
		return nil, err
	}
	const more = 8 // times as many
	for limit := q.Limit; ; limit *= more {
		names := dir.rootNames(q, limit)
		names.Any = came
		a, err := dir.query(ctx, names.each(newRead("HGETALL", dir.key("sess:")).at(2)), newRead("SCARD", dir.key("active")))
		if err != nil {
			return nil, err
		}
		if q.Channel != "" && a.text(1) != strconv.Itoa(origins) {
			return nil, errChanged
		}
		found, err := foundSessions(a.list(0))
		if err != nil {
			return nil, err
		}
		lately := q.ByCost && !q.Since.IsZero()
		if lately {
			slices.SortStableFunc(found, func(a, b sessions.Session) int {
				return cmp.Or(cmp.Compare(b.Subtree, a.Subtree), cmp.Compare(b.ID, a.ID))
			})
		}
		if lately || len(found) >= q.Limit || len(a.list(0).list(0)) < limit {
			return found[:min(len(found), q.Limit)], nil
		}
	}
}

// foundSessions are the sessions of those names that count.
func foundSessions(a answer) (found []sessions.Session, err error) {
	err = a.eachName(func(_ string, row answer) error {
		if len(row) == 0 {
			return nil
		}
		one, err := sessionOf(row.row(0))
		found = append(found, one)
		return err
	})
	return found, err
}

// rootNames reads the first of all root sessions by the order of a question; all that
// changed lately, in another order, for the dearest of these.
func (ks keyspace) rootNames(q sessions.SessionQuery, limit int) read {
	last := strconv.Itoa(limit - 1)
	switch since := strconv.FormatInt(micros(q.Since), 10); {
	case q.ByCost && q.Since.IsZero():
		names := newRead("ZRANGE", ks.key("dear"), "0", last, "REV")
		names.Cut = amountWidth
		return names
	case q.ByCost:
		return newRead("ZRANGE", ks.key("roots"), since, "+inf", "BYSCORE")
	case q.Since.IsZero():
		return newRead("ZRANGE", ks.key("roots"), "0", last, "REV")
	default:
		return newRead("ZRANGE", ks.key("roots"), "+inf", since, "BYSCORE", "REV", "LIMIT", "0", strconv.Itoa(limit))
	}
}

// originReads reads whether a session had a turn by an instance: one of these finds it.
// origins is how many were looked at, of all instances.
func (dir directory) originReads(ctx context.Context, channel string) (came []read, origins int, err error) {
	if channel == "" {
		return nil, 0, nil
	}
	where, err := dir.origins(ctx)
	for _, o := range where {
		if o.channel == channel {
			came = append(came, newRead("ZSCORE", dir.activeKey(o), "").at(3))
		}
	}
	return came, len(where), err
}

// Find implements [sessions.Queries].
func (dir directory) Find(ctx context.Context, prefix string, limit int) (ids []sessionkeys.SessionID, err error) {
	if prefix == "" || limit <= 0 {
		return nil, nil
	}
	a, err := dir.query(ctx, newRead("ZRANGE", dir.key("ids"), "["+prefix, "+", "BYLEX", "LIMIT", "0", strconv.Itoa(limit)))
	for _, id := range a.texts(0) {
		if !strings.HasPrefix(id, prefix) {
			break
		}
		ids = append(ids, sessionkeys.SessionID(id))
	}
	return ids, rules.While(err, "find sessions")
}

// TurnsOf implements [sessions.Turns].
func (dir directory) TurnsOf(ctx context.Context, id sessionkeys.SessionID) (ts []sessions.Turn, err error) {
	a, err := dir.query(ctx, newRead("ZRANGE", dir.key("turnsof:"+string(id)), "0", "-1").each(newRead("HGETALL", dir.key("turn:")).at(2)))
	if err == nil {
		var joined []string // ids of messages, by which rows of the version before are completed
		err = a.list(0).eachName(func(_ string, found answer) error {
			f, err := found.row(0), error(nil)
			if lacksJoined(f) && joined == nil {
				ids, err := dir.query(ctx, dir.messageIDs(string(id)))
				if err != nil {
					return err
				}
				joined = append([]string{}, ids.texts(0)...)
			}
			if lacksJoined(f) {
				f, err = withJoined(f, joined)
			}
			t, bad := turnOf(f)
			ts = append(ts, t.Turn)
			return cmp.Or(err, bad)
		})
	}
	rules.SortTurns(ts)
	return ts, rules.While(err, "list the turns of session %s", id)
}
