package worker_test

import (
	"strings"
	"testing"
	"time"

	"parley/channels"
)

// now is m received at this moment.
func now(m channels.Message) channels.Message { m.ReceivedAt = time.Now(); return m }

// In fake time, so that what comes within the time is exact.
func TestOnlyWhatMayHaveMorePiecesWaitsForThem(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w")
		begin := time.Now()
		took := func(what string, minimum, limit time.Duration) {
			t.Helper()
			if d := time.Since(begin); d < minimum || d > limit {
				t.Errorf("%s took %s", what, d)
			}
			begin = time.Now()
		}
		const ms, s = time.Millisecond, time.Second

		m := r.message(1, "hello")
		r.bring(m)
		r.wantHeard(m, "hello")
		took("an ordinary message", 0, 50*ms)

		for range 3 { // an album whose messages take their time
			r.bring(now(photo(r.message(2, ""), "a")))
			time.Sleep(700 * ms)
		}
		r.wantHeard(r.message(2, ""), strings.TrimSpace(strings.Repeat(attached, 3)))
		took("an album", 2100*ms, 3*s)

		for range 10 { // more than ten are never one
			r.bring(now(photo(r.message(3, ""), "b")))
		}
		r.wantHeard(r.message(3, ""), strings.TrimSpace(strings.Repeat(attached, 10)))
		took("a full album", 0, 100*ms)

		r.bring(now(photo(r.message(4, ""), "c")), now(r.message(4, "what is it?")))
		r.wantHeard(r.message(4, ""), strings.TrimSpace(attached), "what is it?")
		took("an album that its sender went on from", 0, 100*ms)

		long := strings.Repeat("x", 4000)
		r.bring(now(r.message(5, long)))
		time.Sleep(1400 * ms)
		r.bring(now(r.message(5, "end")))
		r.wantHeard(r.message(5, ""), long+"\nend")
		took("a paste", 1400*ms, 1500*ms)

		for range 8 { // nobody waits for ever
			r.bring(now(photo(r.message(6, ""), "d")))
			time.Sleep(700 * ms)
		}
		r.wantHeard(r.message(6, ""), strings.TrimSpace(strings.Repeat(attached, 8)))
		took("a slow album", 5*s, 7*s)

		ahead := photo(r.message(7, ""), "e")
		ahead.ReceivedAt = time.Now().Add(time.Hour) // by another clock
		r.bring(ahead)
		r.wantHeard(ahead, strings.TrimSpace(attached))
		took("an album from the future", 700*ms, 800*ms)

		// A stop does not wait, and drops what waits for more.
		r.bring(now(photo(r.message(8, ""), "f")))
		time.Sleep(100 * ms)
		r.bring(r.message(8, "/stop"))
		r.wantAnswers(8, "Nothing was running. One waiting message was dropped.")
		took("a stop", 100*ms, 150*ms)

		// Nor does the end of the process. The next one gathers what there is.
		first := now(photo(r.message(9, ""), "g"))
		r.bring(first)
		time.Sleep(100 * ms)
		p.end(t)
		took("the end", 100*ms, 150*ms)
		if n := r.mailbox(9).Attempts; n != 0 {
			t.Errorf("waiting counts as %d attempts", n)
		}
		r.bring(now(photo(r.message(9, ""), "g")))
		r.start("w2")
		r.wantHeard(first, strings.TrimSpace(strings.Repeat(attached, 2)))
	})
}
