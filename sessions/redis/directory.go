package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// Tree implements [sessions.Turns]: level by level, oldest first in each.
func (dir directory) Tree(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Session, error) {
	tree, err := dir.tree(ctx, id)
	return tree, rules.While(err, "read the tree of session %s", id)
}

func (dir directory) tree(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Session, error) {
	rows := func(id string) []read { return []read{newRead("HGETALL", dir.key("sess:"+id)).at(2)} }
	a, err := dir.query(ctx, dir.below(string(id), sessionkeys.MaxDepth, rows)...)
	if err != nil {
		return nil, err
	}
	var tree []sessions.Session
	err = eachBelow(string(id), a, func(_ string, found answer) error {
		one, err := sessionOf(found.row(0))
		tree = append(tree, one)
		return err
	})
	slices.SortStableFunc(tree, func(a, b sessions.Session) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), a.CreatedAt.Compare(b.CreatedAt))
	})
	return tree, err
}

// below reads a session, or without an id each name, and all below it to so many
// levels: what reads says of each, and its children.
func (ks keyspace) below(id string, levels int, reads func(id string) []read) []read {
	kids := newRead("LRANGE", ks.key("kids:"+id), "0", "-1").at(2)
	if levels > 0 {
		kids = kids.each(ks.below("", levels-1, reads)...)
	}
	return append(reads(id), kids)
}

// eachBelow calls f for each session that below has read, parents first.
func eachBelow(id string, a answer, f func(id string, found answer) error) error {
	if err := f(id, a); err != nil || len(a) == 0 {
		return err
	}
	return a.list(len(a) - 1).eachName(func(kid string, found answer) error { return eachBelow(kid, found, f) })
}

// sessionOf is a session as it is stored; no row is ErrNotFound.
func sessionOf(stored row) (s sessions.Session, err error) {
	if len(stored) == 0 {
		return s, sessions.ErrNotFound
	}
	if err := stored.read(sessionFields, rules.SessionPlaces(&s)); err != nil {
		return sessions.Session{}, fmt.Errorf("session %s: %w", stored["id"], err)
	}
	return s, nil
}

// Session implements [sessions.Turns].
func (dir directory) Session(ctx context.Context, id sessionkeys.SessionID) (found sessions.Session, err error) {
	a, err := dir.query(ctx, newRead("HGETALL", dir.key("sess:"+string(id))))
	if err == nil {
		found, err = sessionOf(a.row(0))
	}
	return found, rules.While(err, "read session %s", id)
}

// Backlog implements [sessions.Queries].
func (dir directory) Backlog(ctx context.Context) (b sessions.Backlog, err error) {
	// when is the time that stands first in a sorted set.
	when := func(set string) read { return newRead("ZRANGE", dir.key(set), "0", "0", "WITHSCORES") }
	a, err := dir.query(ctx,
		newRead("ZCARD", dir.key("running")), newRead("ZCARD", dir.key("waits")), when("waits"), newRead("ZCARD", dir.key("unsent")), when("unsent"), newRead("SCARD", dir.key("ambiguous")))
	if err == nil {
		b, err = backlogOf(a)
	}
	return b, rules.While(err, "count what is owed")
}

func backlogOf(a answer) (b sessions.Backlog, err error) {
	since := func(i int) any { return a.list(i).text(1) }
	counts := answer{a.at(0), a.at(1), since(2), a.at(3), since(4), a.at(5)}
	return b, counts.load(&b.Running, &b.Waiting, &b.WaitsSince, &b.Pending, &b.PendingSince, &b.Ambiguous)
}

// amountWidth is how long an amount is in what sorts by amounts.
const amountWidth = 19

// Dearest implements [sessions.Survey].
func (lg ledger) Dearest(ctx context.Context, at time.Time, n int) (as []costs.Amount, err error) {
	if n <= 0 {
		return nil, nil
	}
	a, err := lg.query(ctx, newRead("ZRANGE", lg.key("dearest:"+costs.Day.Name(at)), "+", "-", "BYLEX", "REV", "LIMIT", "0", strconv.Itoa(n)))
	for _, m := range a.texts(0) {
		var spent costs.Amount
		if spent, err = readAmount(m[:min(amountWidth, len(m))]); err != nil {
			break
		}
		as = append(as, spent)
	}
	return as, rules.While(err, "read the dearest sessions")
}

// Active implements [sessions.Survey].
func (dir directory) Active(ctx context.Context, since time.Time) (as []sessions.Activity, err error) {
	where, err := dir.origins(ctx)
	if err != nil {
		return nil, fmt.Errorf("count active sessions: %w", err)
	}
	reads := make([]read, len(where))
	for i, o := range where {
		reads[i] = newRead("ZCOUNT", dir.activeKey(o), strconv.FormatInt(micros(since), 10), "+inf")
	}
	a, err := dir.query(ctx, reads...)
	for i, o := range where {
		n, bad := a.int(i)
		err = cmp.Or(err, bad)
		if n > 0 {
			as = append(as, sessions.Activity{Channel: o.channel, Kind: o.kind, Sessions: int(n)})
		}
	}
	return as, rules.While(err, "count active sessions")
}

// origin is an instance and a kind of its chats.
type origin struct {
	channel string
	kind    sessionkeys.Kind
}

// activeKey is the root sessions that had turns from there, by their last one. They
// are never taken out.
func (ks keyspace) activeKey(o origin) string {
	return ks.key("active:" + id(o.channel, string(o.kind)))
}

// origins are all where turns came from. None ever ends.
func (dir directory) origins(ctx context.Context) ([]origin, error) {
	a, err := dir.query(ctx, newRead("SMEMBERS", dir.key("active")))
	if err != nil {
		return nil, err
	}
	var all []origin
	for _, name := range a.texts(0) {
		var where [2]string
		if err := json.Unmarshal([]byte(name), &where); err != nil {
			return nil, fmt.Errorf("where turns came from: %w", err)
		}
		all = append(all, origin{where[0], sessionkeys.Kind(where[1])})
	}
	return all, nil
}

// Queues implements [sessions.Survey].
func (dir directory) Queues(ctx context.Context, limit int) ([]sessions.Queue, int, error) {
	qs, total, err := dir.queues(ctx, limit)
	return qs, total, rules.While(err, "list what waits")
}

func (dir directory) queues(ctx context.Context, limit int) (qs []sessions.Queue, total int, err error) {
	reads := []read{newRead("ZCARD", dir.key("queued"))}
	if limit > 0 {
		reads = append(reads, newRead("ZRANGE", dir.key("queued"), "0", strconv.Itoa(limit-1)).
			each(newRead("HMGET", dir.key("box:"), "key", "touched", "read").at(2)))
	}
	a, err := dir.query(ctx, reads...)
	if err != nil {
		return nil, 0, err
	}
	if err := a.load(&total); err != nil {
		return nil, 0, fmt.Errorf("how many: %w", err)
	}
	err = a.list(1).eachName(func(token string, found answer) error {
		var k sessionkeys.Key
		q := sessions.Queue{Token: token}
		err := found.list(0).load(&k, &q.LastSeen, &q.LastRead)
		q.Address = k.Address()
		qs = append(qs, q)
		return rules.While(err, "mailbox %s", token)
	})
	return qs, total, err
}
