package redis

import (
	"cmp"
	"context"

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
	since := func(i int) any { return a.list(i).text(1) }
	counts := answer{a.at(1), since(2), a.at(3), since(4), a.at(5)}
	return b, cmp.Or(err, counts.load(&b.Waiting, &b.WaitsSince, &b.Pending, &b.PendingSince, &b.Ambiguous))
}
