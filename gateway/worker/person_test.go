package worker_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/worker"
	"parley/sessionkeys"
	"parley/sessions"
)

// inThread is what person says in a thread of their own, to a bot on Slack.
func (s *speech) inThread(person, thread int, text string) channels.Message {
	m := s.message(person, text)
	m.Address = sessionkeys.Address{
		Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: strconv.Itoa(person), Thread: strconv.Itoa(thread),
	}
	return m
}

func personTurns(turns, person int) func(*worker.Options) {
	return func(o *worker.Options) { o.Config.Turns, o.Config.PersonTurns = turns, person }
}

// waitBehind waits until so many turns wait for others of their own person.
func (r *fixture) waitBehind(n int) {
	r.t.Helper()
	r.await(fmt.Sprint(n, " turns behind their person's"), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.behind == n
	})
}

// threadsAnswered lists the threads that were answered, in order.
func (r *fixture) threadsAnswered() (threads []string) {
	r.t.Helper()
	ds, err := r.store.Pending(context.Background(), "tg", 0, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, d := range ds {
		if d.To.Thread != "" {
			threads = append(threads, d.To.Thread)
		}
	}
	return threads
}

// abuse M6: forty threads of one person held all slots, and somebody else had no
// answer in 100 s.
func TestOnePersonsConversationsDoNotHoldAllSlots(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w", turns(8))
		for thread := range 40 {
			r.bring(r.inThread(1, thread, "wait x"))
		}
		r.waitBehind(38)
		for i := range 3 {
			r.say(2, fmt.Sprint("hello ", i))
			r.say(3, fmt.Sprint("hello ", i))
		}
		r.wantAnswers(2, "re: hello 0", "re: hello 1", "re: hello 2")
		r.wantAnswers(3, "re: hello 0", "re: hello 1", "re: hello 2")
		r.mu.Lock()
		if r.limit > 4 {
			t.Errorf("%d turns ran at once, of a person who may have two and two who say one thing after the other", r.limit)
		}
		r.mu.Unlock()
		r.open("x")
		r.await("all threads to be answered", func() bool { return len(r.threadsAnswered()) == 40 })
		r.idle()
		r.waitBehind(0)
	})
}

func TestTurnsAreCountedByPerson(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		r.start("w", personTurns(8, 1))
		for p := range 5 {
			r.bring(r.inThread(p+1, p, "wait x"))
		}
		r.await("five turns", func() bool { return r.counted("started") == 5 })
		r.waitBehind(0)
		r.open("x")
		r.idle()
	})
}

// lineUp has the first person's turn in thread 1 wait at the gate x, and their turns in
// the threads up to last wait behind it, in their order.
func (r *fixture) lineUp(last int) {
	r.t.Helper()
	r.bring(r.inThread(1, 1, "wait x"))
	r.atGate("x")
	for thread := 2; thread <= last; thread++ {
		r.bring(r.inThread(1, thread, "hello"))
		r.waitBehind(thread - 1)
	}
}

func TestAPersonsTurnsComeInTheirOrder(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w", personTurns(8, 1))
		r.lineUp(9)
		r.open("x")
		r.idle()
		if got := r.threadsAnswered(); !slices.Equal(got, strings.Fields("1 2 3 4 5 6 7 8 9")) {
			t.Errorf("answered %q", got)
		}
	})
}

// Who waits behind their own turns and who waits for a slot take turns, so that
// neither keeps the other out.
func TestWhoWaitsBehindThemselvesAndWhoWaitsForASlotTakeTurns(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w", personTurns(2, 1))
		r.lineUp(4)
		r.bring(r.inThread(2, 20, "wait y"))
		r.atGate("y") // no slot is free any more
		for p := 3; p <= 5; p++ {
			r.bring(r.inThread(p, 10*p, "hello"))
			time.Sleep(time.Millisecond) // in their order
		}
		r.open("x")
		r.await("the answers", func() bool { return len(r.threadsAnswered()) == 7 })
		r.open("y")
		r.idle()
		if got := r.threadsAnswered(); !slices.Equal(got, strings.Fields("1 2 30 3 40 4 50 20")) {
			t.Errorf("answered %q", got)
		}
	})
}

func TestStopIsHeardWhileATurnWaitsBehindItsPersons(t *testing.T) {
	t.Parallel()
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprint("signals get lost ", deaf), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				r.log.deaf = deaf
				r.start("w", personTurns(8, 1))
				r.lineUp(2)
				r.bring(r.inThread(1, 2, "/stop"))
				r.await("the stop", func() bool { return slices.Equal(r.threadsAnswered(), []string{"2"}) })
				r.waitBehind(0)
				r.open("x")
				r.idle()
				if got := r.threadsAnswered(); !slices.Equal(got, []string{"2", "1"}) {
					t.Errorf("answered %q", got)
				}
			})
		})
	}
}

// What waits behind its person is another process's at once when this one ends,
// without an attempt; and of what one left open, as much runs as one person may.
func TestWhatWaitsBehindItsPersonGoesToTheNextProcess(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("a", personTurns(8, 2), grace(0))
		for thread := 1; thread <= 5; thread++ {
			r.bring(r.inThread(1, thread, "wait x"))
		}
		r.waitBehind(3)
		p.end(t)
		r.waitBehind(0)
		err := r.store.Mailboxes(t.Context(), func(m sessions.Mailbox) bool {
			if m.Attempts > 1 {
				t.Errorf("%s counts %d attempts", m.Key, m.Attempts)
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		r.start("b", personTurns(8, 1)) // less than what was left open
		r.waitBehind(4)
		r.open("x")
		r.await("the answers", func() bool { return len(r.threadsAnswered()) == 5 })
		r.idle()
	})
}
