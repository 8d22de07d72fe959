package redis_test

import (
	"regexp"
	"strconv"
	"testing"

	"parley/sessions/redis"
	"parley/sessions/redis/redistest"
)

var evals = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`)

// TestATurnTakesFewCalls: an operation of a worker that is alone with its mailbox is
// one call of the commit script; what it reads it knows already.
func TestATurnTakesFewCalls(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	s := openAt(t, redis.Options{URL: server.URL})
	d := newDesk(t, s, "chat")
	c := raw(t, server)
	count := func(what string, want int, do func()) {
		t.Helper()
		calls := func() int {
			info, err := c.Info(t.Context(), "commandstats").Result()
			d.ok(err)
			n, err := strconv.Atoi(evals.FindStringSubmatch(info)[1])
			d.ok(err)
			return n
		}
		before := calls()
		do()
		if got := calls() - before; got != want {
			t.Errorf("%s: %d calls, not %d", what, got, want)
		}
	}
	d.turn("first")
	count("alone", 5, func() { d.turn("second") })

	// Another worker had it meanwhile: the call that finds out, and one that reads all that
	// this one takes for known.
	other := newDesk(t, openAt(t, redis.Options{URL: server.URL}), "chat")
	other.seq = d.seq
	other.turn("third")
	d.seq = other.seq
	count("after another", 7, func() { d.turn("fourth") })
}
