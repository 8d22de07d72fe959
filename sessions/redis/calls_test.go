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
	count := func() int {
		info, err := c.Info(t.Context(), "commandstats").Result()
		d.ok(err)
		n, err := strconv.Atoi(evals.FindStringSubmatch(info)[1])
		d.ok(err)
		return n
	}
	d.turn("first")
	before := count()
	d.turn("second")
	if got := count() - before; got != 5 {
		t.Errorf("%d calls, not 5", got)
	}
}
