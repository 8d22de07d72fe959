package worker_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// twiceDead is six people whose turns were run by two processes that died.
func twiceDead(t *testing.T) (r *fixture, taken func(times int) []int) {
	t.Helper()
	r = newRig(t)
	for i := 1; i <= suspects; i++ {
		r.say(i, fmt.Sprint("wait x", i))
	}
	taken = func(times int) (people []int) {
		for i := 1; i <= suspects; i++ {
			m, err := r.store.Mailbox(t.Context(), key(t, i).Token()) // none before it is taken up
			if err == nil && m.Turn != nil && m.Attempts == times {
				people = append(people, i)
			}
		}
		return people
	}
	for death := 1; death <= 2; death++ {
		p := r.start("w")
		r.await("all turns to run", func() bool { return len(taken(death)) == suspects })
		p.die()
	}
	return r, taken
}

const suspects = 6

// firstday T10. Three deaths of the process, of which no turn is guilty, cost one
// turn its last attempt and not six.
func TestOfSuspectsOneRunsAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, taken := twiceDead(t)
		p := r.start("w")
		for left := suspects; left > 0; left-- {
			r.await("a suspect", func() bool { return len(taken(3)) > 0 })
			synctest.Wait()
			last := taken(3)
			if waiting := len(taken(2)); len(last) != 1 || waiting != left-1 {
				t.Fatalf("%v run for the last time and %d wait, want one and %d", last, waiting, left-1)
			}
			if left == suspects-1 { // a death costs this one, and no other
				p.die()
				p = r.start("w")
				r.await("one to be given up", func() bool { return r.counted("dead attempts") == 1 })
				continue
			}
			r.open(fmt.Sprint("x", last[0]))
			r.await("its end", func() bool { return len(taken(3))+len(taken(2)) < left })
		}
		r.idle()
		if n := r.counted("dead attempts"); n != 1 {
			t.Errorf("%d dead letters, want 1", n)
		}
	})
}

func TestASuspectThatWaitsCanBeStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, taken := twiceDead(t)
		r.start("w")
		r.await("a suspect", func() bool { return len(taken(3)) == 1 && len(taken(2)) == suspects-1 })
		waiting := taken(2)[0]
		began := time.Now()
		r.say(waiting, "/stop")
		r.wantAnswers(waiting, "Stopped.")
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it stopped after %s", took)
		}
		for i := 1; i <= suspects; i++ {
			r.open(fmt.Sprint("x", i))
		}
		r.idle()
		if n := r.counted("dead attempts"); n != 0 {
			t.Errorf("%d dead letters, want none", n)
		}
	})
}
