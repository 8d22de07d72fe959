package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

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
