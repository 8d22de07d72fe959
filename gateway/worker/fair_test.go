package worker_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/gateway/worker"
	"parley/sessions"
)

// order is all answers, in the order in which they were given.
func (r *fixture) order() (all []string) {
	r.t.Helper()
	ds, err := r.store.Pending(r.t.Context(), "tg", 0, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, d := range ds {
		all = append(all, d.To.Peer+" "+d.Text)
	}
	return all
}

func (r *fixture) wantOrder(want ...string) {
	r.t.Helper()
	r.await("the answers", func() bool { return len(r.order()) >= len(want) })
	if got := r.order(); !slices.Equal(got, want) {
		r.t.Errorf("answered\n%q, want\n%q", got, want)
	}
}

// queued waits until the mailbox of person is owed n messages.
func (r *fixture) queued(person, n int) {
	r.t.Helper()
	token := key(r.t, person).Token()
	r.await("messages in the mailbox", func() bool {
		m, err := r.store.Mailbox(r.t.Context(), token)
		if err != nil {
			return false
		}
		waiting := 0
		for at := m.LastRead; at < m.LastSeen; waiting++ {
			e, err := r.log.messageLog.NextAtLeast(r.t.Context(), token, at, m.LastSeen)
			if err != nil {
				r.t.Fatal(err)
			}
			at = e.Seq
		}
		return waiting == n
	})
}

// flood has two conversations that never fall silent and a third that says one
// thing, behind all that they said, while the first turn runs.
func (r *fixture) flood() (answers []string) {
	r.say(1, "wait x")
	r.atGate("x")
	for i := range 4 {
		r.say(1, fmt.Sprint("a", i))
		r.queued(1, i+1)
		r.say(2, fmt.Sprint("b", i))
		r.queued(2, i+1)
	}
	r.say(3, "hello")
	r.queued(3, 1)
	return []string{
		"1 re: wait x", "2 re: b0", "3 re: hello", "1 re: a0", "2 re: b1", "1 re: a1", "2 re: b2", "1 re: a2", "2 re: b3", "1 re: a3",
	}
}

func TestAConversationThatNeverFallsSilentLetsOthersGoFirst(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w", turns(1))
		want := r.flood()
		r.open("x")
		r.wantOrder(want...)
		r.idle()
		if n := p.store.read(); n != 3 {
			t.Errorf("histories were read %d times; each once is enough", n)
		}
		if n := r.counted("lost") + r.counted("deduplicated") + r.counted("dead attempts"); n != 0 {
			t.Errorf("counted %v", r.counts)
		}
	})
}

func TestACommandLetsOthersGoFirstToo(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		r.start("w", turns(1))
		r.say(1, "wait x")
		r.atGate("x")
		for n := range 2 {
			r.say(1, "/new")
			r.queued(1, n+1)
		}
		r.say(2, "one")
		r.queued(2, 1)
		r.say(2, "two")
		r.queued(2, 2)
		r.open("x")
		fresh := "1 " + worker.FreshText
		r.wantOrder("1 re: wait x", "2 re: one", fresh, "2 re: two", fresh)
	})
}

func TestALookForWorkLeavesSlotsToMessagesThatComeMeanwhile(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		p := r.start("w", turns(2))
		time.Sleep(2 * time.Second) // the first look is for all that is there
		looks, goOn := make(chan struct{}), make(chan struct{})
		var once sync.Once
		proceed := sync.OnceFunc(func() { close(goOn) })
		defer proceed()
		p.store.set(func(f *faults) {
			f.recover = func() {
				once.Do(func() { close(looks) })
				<-goOn
			}
		})
		<-looks
		r.say(1, "hello")
		r.wantAnswers(1, "re: hello")
		proceed()
		r.idle()
	})
}

func TestWhoComesLastDoesNotTakeTheSlotOfWhoWaits(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w", turns(1))
		busy, goOn := make(chan struct{}), make(chan struct{})
		var once sync.Once
		p.store.set(func(f *faults) {
			f.held = func() { // the one who looks for work is somewhere else
				once.Do(func() { close(busy) })
				<-goOn
			}
		})
		r.say(1, "wait x")
		r.atGate("x")
		<-busy
		r.say(2, "I wait")
		r.queued(2, 1)
		r.open("x")
		r.await("the first to be done", func() bool { return !r.mailbox(1).HasWork() })
		r.say(3, "I come last")
		r.await("the last one's message", func() bool {
			m, err := r.store.Mailbox(t.Context(), key(t, 3).Token())
			return err == nil && m.LastSeen > 0
		})
		close(goOn)
		r.wantOrder("1 re: wait x", "2 re: I wait", "3 re: I come last")
	})
}

func TestNobodyIsLetGoFirstWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w", turns(2))
		asked := 0
		p.store.set(func(f *faults) {
			f.yield = func(perform func() error) error {
				asked++
				return perform()
			}
		})
		r.say(1, "wait x")
		r.atGate("x")
		for i := range 5 {
			r.say(1, fmt.Sprint("a", i))
			r.queued(1, i+1)
		}
		r.open("x")
		r.wantAnswers(1, "re: wait x", "re: a0", "re: a1", "re: a2", "re: a3", "re: a4")
		r.idle()
		p.end(t)
		if asked != 0 {
			t.Errorf("the store was asked %d times", asked)
		}
	})
}

func TestADeathWhileOthersAreLetGoFirstLosesNothing(t *testing.T) {
	t.Parallel()
	for name, performed := range map[string]bool{"before the commit": false, "after the commit": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				p := r.start("w", turns(1))
				yields, died := 0, make(chan struct{})
				p.store.set(func(f *faults) {
					f.yield = func(perform func() error) error {
						if yields++; yields != 3 {
							return perform()
						}
						defer close(died)
						if performed {
							err := errors.Join(perform(), r.store.Mailboxes(t.Context(), func(m sessions.Mailbox) bool {
								if m.Owner != (sessions.Worker{}) {
									t.Errorf("not yielded: %+v", m)
								}
								return true
							}))
							if err != nil {
								t.Error(err)
							}
						}
						p.store.set(func(f *faults) { f.dead = true })
						return errDead
					}
				})
				want := r.flood()
				r.open("x")
				<-died
				p.die()
				r.start("w", turns(1))
				for person := 1; person <= 3; person++ {
					var own []string
					for _, a := range want {
						if peer := fmt.Sprint(person, " "); a[:2] == peer {
							own = append(own, a[2:])
						}
					}
					r.wantAnswers(person, own...)
				}
				r.idle()
			})
		})
	}
}

// In fake time, so that the one who gathers surely waits for its slot.
func TestAGatheringConversationGetsItsSlotBackAfterOneTurn(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w", turns(1))
		r.bring(now(photo(r.message(2, ""), "album")))
		time.Sleep(100 * time.Millisecond)
		r.say(1, "wait x")
		r.atGate("x")
		r.say(1, "a")
		r.say(1, "b")
		time.Sleep(3 * time.Second)
		r.open("x")
		r.await("the answers", func() bool { return len(r.order()) == 4 })
		var peers []string
		for _, a := range r.order() {
			peers = append(peers, a[:1])
		}
		if !slices.Equal(peers, []string{"1", "2", "1", "1"}) {
			t.Errorf("answered %q", r.order())
		}
	})
}
