package worker_test

import (
	"fmt"
	"testing"

	"parley/gateway/worker"
)

// Each operation of a worker's store fails once, before or after it was performed: a command that
// changes something is carried out once, and answered once.
func TestCommandIsCarriedOutOnceWhicheverOperationFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, command, want string
		after, holds          string // what is said then, and how it is answered if the command was carried out once
	}{
		"a goal is set":     {"one", "/goal paint it", "That is our goal now: `paint it`", "/done", "✓ Goal completed: `paint it`"},
		"a goal is changed": {"/goal wash it", "/goal paint it", "That is our goal now: `paint it`", "/done", "✓ Goal completed: `paint it`"},
		"a goal is reached": {"/goal paint it", "/done", "✓ Goal completed: `paint it`", "/done", "There is no goal that could be reached."},
		"plan mode begins": {
			"one", "/plan", "Plan mode is on: from your next message on I look around and propose, but change nothing. /plan ends it.",
			"/plan", "Plan mode is over: from your next message on I may change things again.",
		},
		"a title is given":      {"one", "/title Pears", "This conversation is now called `Pears`.", "two", "re: two"},
		"a conversation is new": {"one", "/new", worker.FreshText, "two", "re: two"},
	} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/lost=%v", name, lost), func(t *testing.T) {
				t.Parallel()
				inFakeTime(t, func(t *testing.T, r *fixture) {
					p := r.start("w")
					for n := 1; n <= 14; n++ {
						r.say(n, c.before)
						r.idle()
						p.store.arm(n, lost)
						r.say(n, c.command)
						r.await(fmt.Sprint("an answer with operation ", n, " failing"), func() bool { return len(r.answers(n)) >= 2 })
						r.idle()
						r.say(n, c.after)
						r.idle()
						if got := r.answers(n); len(got) != 3 || got[1] != c.want || got[2] != c.holds {
							t.Errorf("operation %d: told %q", n, got)
						}
					}
				})
			})
		}
	}
}
