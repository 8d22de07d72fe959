package redis

import (
	"cmp"
	"context"
	"time"

	"parley/sessions"
	"parley/sessions/rules"
)

// Backlog implements [sessions.Queries].
func (dir directory) Backlog(ctx context.Context) (b sessions.Backlog, err error) {
	// when is the time that stands first in a sorted set.
	when := func(set string) read { return newRead("ZRANGE", dir.key(set), "0", "0", "WITHSCORES") }
	a, err := dir.query(ctx,
		newRead("ZRANGE", dir.key("running"), "0", "-1").each(
			newRead("HGET", dir.key("box:"), "turn").at(2).each(newRead("HGET", dir.key("turn:"), "state").at(2))),
		newRead("ZCARD", dir.key("waits")), when("waits"), newRead("ZCARD", dir.key("unsent")), when("unsent"), newRead("SCARD", dir.key("ambiguous")))
	if err == nil {
		b, err = backlogOf(a)
	}
	return b, rules.While(err, "count what is owed")
}

func backlogOf(a answer) (b sessions.Backlog, err error) {
	err = a.list(0).eachName(func(_ string, found answer) error {
		b.Running++
		if rules.IsParked(sessions.TurnState(found.list(0).below().text(0))) {
			b.Parked++
		}
		return nil
	})
	var failed error
	count := func(i int) int {
		n, err := a.int(i)
		failed = cmp.Or(failed, err)
		return int(n)
	}
	since := func(i int) (t time.Time) {
		if l := a.list(i); len(l) > 1 {
			n, err := l.int(1)
			failed = cmp.Or(failed, err)
			t = instant(n)
		}
		return t
	}
	b.Waiting, b.WaitsSince = count(1), since(2)
	b.Pending, b.PendingSince, b.Ambiguous = count(3), since(4), count(5)
	return b, cmp.Or(err, failed)
}
