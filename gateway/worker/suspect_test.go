package worker_test

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// firstday T10. Three deaths of the process, of which no turn is guilty, cost one
// turn its last attempt and not six.
func TestOfSuspectsOneRunsAtATime(t *testing.T) {
	t.Parallel()
	const people = 6
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := 1; i <= people; i++ {
			r.say(i, fmt.Sprint("wait x", i))
		}
		taken := func(times int) (n int) {
			for i := 1; i <= people; i++ {
				m, err := r.store.Mailbox(t.Context(), key(t, i).Token()) // none before it is taken up
				if err == nil && m.Turn != nil && m.Attempts == times {
					n++
				}
			}
			return n
		}
		for death := 1; death <= 2; death++ {
			p := r.start("w")
			r.await("all turns to run", func() bool { return taken(death) == people })
			p.die()
		}
		p := r.start("w")
		for left := people; left > 0; left-- {
			r.await("a suspect", func() bool { return taken(3) > 0 })
			synctest.Wait()
			if last, waiting := taken(3), taken(2); last != 1 || waiting != left-1 {
				t.Fatalf("%d run for the last time and %d wait, want 1 and %d", last, waiting, left-1)
			}
			if left == people-1 { // a death costs this one, and no other
				p.die()
				p = r.start("w")
				r.await("one to be given up", func() bool { return r.counted("dead attempts") == 1 })
				continue
			}
			for i := 1; i <= people; i++ {
				if r.mailbox(i).Attempts == 3 {
					r.open(fmt.Sprint("x", i))
				}
			}
			r.await("its end", func() bool { return taken(3)+taken(2) < left })
		}
		r.idle()
		if n := r.counted("dead attempts"); n != 1 {
			t.Errorf("%d dead letters, want 1", n)
		}
	})
}
