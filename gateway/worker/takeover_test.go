package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/gateway/policy"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessions"
)

// F20, TX18, AH05: what panics frees its place, or its next attempt would find the session busy,
// and so would the message after it.
func TestAMessageThatPanicsGoesToTheDeadLettersAndItsSenderIsToldOnce(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w")
		r.say(1, "panic")
		r.say(1, "after it")
		for i := range 5 {
			r.say(2, fmt.Sprint("other ", i))
		}
		r.await("two answers", func() bool { return len(r.answers(1)) >= 2 })
		r.idle()
		got := r.answers(1)
		if len(got) != 2 || !strings.Contains(got[0], "failed every time") || got[1] != "re: after it" {
			t.Errorf("told %q", got)
		}
		if n := r.counted("panic"); n != 3 {
			t.Errorf("the message was tried %d times", n)
		}
		letters, err := r.log.DeadLetters(t.Context(), 0, 10)
		if err != nil || len(letters) != 1 || letters[0].Reason != "attempts" || !strings.Contains(string(letters[0].Body), `"panic"`) {
			t.Errorf("dead letters %v, %v", letters, err)
		}
		if n := len(r.answers(2)); n != 5 {
			t.Errorf("the other conversation has %d answers", n)
		}
		if r.counted("ended failed")+r.counted("ended error") != 1 {
			t.Errorf("counted %v", r.counts)
		}
	})
}

func TestAToolThatPanicsIsAResultForTheModel(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w")
		r.say(1, "tool x")
		r.wantAnswers(1, "re: tool x")
		if r.counted("tool") != 1 || r.counted("tool noted error") != 1 {
			t.Errorf("counted %v", r.counts)
		}
	})
}

// Each operation of a worker's store fails once, before or after it was
// performed; whichever it is, everything is answered once and in order.
func TestAnOperationThatFailsOrLosesItsAnswerCostsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost=%v", lost), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				p := r.start("w")
				r.say(0, "it has begun")
				r.wantAnswers(0, "re: it has begun")
				for n := 1; n <= 30; n++ {
					p.store.arm(n, lost)
					r.say(n, "tool a")
					r.say(n, "/new")
					r.say(n, "second")
					r.await(fmt.Sprint("answers with operation ", n, " failing"), func() bool { return len(r.answers(n)) >= 3 })
					if got := r.answers(n); len(got) != 3 || got[0] != "re: tool a" || got[2] != "re: second" {
						t.Errorf("operation %d: told %q", n, got)
					}
				}
				r.idle()
				if r.counted("dead attempts") != 0 {
					t.Error("an outage was counted as an attempt")
				}
			})
		})
	}
}

func TestAStopIsAnsweredOnceWhicheverOperationFails(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost=%v", lost), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(_ *testing.T, r *fixture) {
				p := r.start("w")
				for n := 1; n <= 18; n++ {
					gate := fmt.Sprint("gate", n)
					r.say(n, "wait "+gate)
					r.atGate(gate)
					r.say(n, "waiting")
					p.store.arm(n, lost)
					r.say(n, "/stop")
					r.wantAnswers(n, "Stopped. One waiting message was dropped.")
				}
				r.idle()
			})
		})
	}
}

func TestAnotherWorkerTakesOverWhenTheLeaseOfADeadOneHasPassed(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		a := r.start("a")
		r.say(1, "wait x")
		r.say(1, "second")
		r.atGate("x")
		b := r.start("b")
		a.die()
		r.open("x")
		r.wantAnswers(1, "re: wait x", "re: second")
		r.idle()
		if n := b.store.count(); n == 0 {
			t.Error("b did nothing")
		}
		turn := r.turnsOf(1)
		if turn[0].Attempts != 2 {
			t.Errorf("the turn was taken up %d times, a death counts", turn[0].Attempts)
		}
	})
}

// A paused process finds, when it goes on, that everything it had is another's.
func TestAWorkerThatWakesUpAfterItsLeaseWritesNothing(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		a := r.start("a")
		synctest.Wait() // it said that it lives
		a.store.set(func(f *faults) { f.frozen = true })
		r.say(1, "wait first")
		r.atGate("first")
		r.start("b", func(o *worker.Options) {
			other := &llmtest.Script{Reply: func(int, llm.Request) llmtest.Turn { return llmtest.Turn{llmtest.Text("from b")} }}
			ag := o.Settings.Agents["main"]
			ag.Model = other
			o.Settings.Agents = map[string]worker.Agent{"main": ag}
		})
		r.wantAnswers(1, "from b") // after the lease
		r.open("first")
		r.await("a to be refused", func() bool {
			a.store.mu.Lock()
			defer a.store.mu.Unlock()
			return a.store.fenced > 0
		})
		r.wantAnswers(1, "from b")
		r.idle()
		ms, err := r.store.Messages(t.Context(), r.mailbox(1).Session)
		if err != nil || len(ms) != 2 {
			t.Errorf("the history has %d messages, %v", len(ms), err)
		}
	})
}

func TestAWorkerWhosePlaceWasTakenByOneOfItsNameEnds(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		a := r.start("w")
		r.say(1, "wait x")
		r.atGate("x")
		r.start("w")
		err := <-a.ended
		close(a.ended)
		if !errors.Is(err, sessions.ErrFenced) {
			t.Errorf("it ended with %v", err)
		}
		r.open("x")
		r.wantAnswers(1, "re: wait x")
	})
}

func TestAWorkerThatCannotKeepItsLeaseStopsItsTurnsByItself(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		a := r.start("a")
		r.say(1, "wait x")
		r.atGate("x")
		a.store.set(func(f *faults) { f.dead = true })
		r.awaitRunning(0)
		a.die()
	})
}

// The call under way cannot be booked when the turn is given up, and the mailbox cannot be given
// back before the store answers again.
func TestAnOutageOfTheStoreDuringAModelCallIsNoAttempt(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		a := r.start("a")
		r.say(1, "wait x")
		r.atGate("x")
		a.store.set(func(f *faults) { f.dead = true })
		r.awaitRunning(0)
		time.Sleep(30 * time.Second) // of the outage
		a.store.set(func(f *faults) { f.dead = false })
		r.awaitRunning(1)
		if turn := r.mailbox(1).Turn; turn == nil || turn.Attempts != 1 {
			t.Errorf("the turn that goes on is %+v, want one attempt", turn)
		}
		r.open("x")
		r.wantAnswers(1, "re: wait x")
		r.idle()
	})
}

// awaitRunning waits until n turns run.
func (r *fixture) awaitRunning(n int) {
	r.t.Helper()
	r.await(fmt.Sprint(n, " turns to run"), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.running == n
	})
}

func TestAtTheEndRunningTurnsFinishWithinTheGracePeriod(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w", grace(patience))
		r.say(1, "wait x")
		r.say(1, "left for the next")
		r.atGate("x")
		r.queued(1, 1)
		p.stop()
		synctest.Wait() // the worker has heard of it
		r.open("x")
		p.end(t)
		if got := r.answers(1); len(got) != 1 || got[0] != "re: wait x" {
			t.Errorf("told %q", got)
		}
		if m := r.mailbox(1); m.Owner != (sessions.Worker{}) || m.Attempts != 0 || !m.HasWork() {
			t.Errorf("left %+v", m)
		}
		r.start("w")
		r.wantAnswers(1, "re: wait x", "re: left for the next")
		r.idle()
	})
}

// What a stop woke up is taken in the last moment.
func TestAWorkerLeavesAfterAllThatItWasAboutToTake(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w", hears(false, true))
		asked, goOn := make(chan struct{}), make(chan struct{})
		p.store.set(func(f *faults) { f.touch = func() { close(asked); <-goOn } })
		synctest.Wait() // it listens
		r.say(1, "/stop")
		<-asked
		p.stop()
		synctest.Wait() // it has done all that it can
		close(goOn)
		p.end(t)
		if n := p.store.tardy; n != 0 {
			t.Errorf("%d operations after it left", n)
		}
		if m := r.mailbox(1); m.Owner != (sessions.Worker{}) || m.Attempts != 0 || m.Controls != 1 {
			t.Errorf("left %+v", m)
		}
	})
}

func TestWhatOutlastsTheGracePeriodIsHandedOverAndCountsNoAttempt(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w", grace(time.Millisecond))
		for i := range 4 {
			r.say(i, "wait x")
		}
		r.atGate("x")
		r.await("turns", func() bool { return r.counted("started") == 4 })
		p.end(t)
		for i := range 4 {
			m := r.mailbox(i)
			if m.Owner != (sessions.Worker{}) || m.Turn == nil || m.Turn.Attempts != 0 || m.Attempts != 0 {
				t.Errorf("left %+v with turn %+v", m, m.Turn)
			}
			if got := r.answers(i); len(got) != 0 {
				t.Errorf("told %q", got)
			}
		}
		r.open("x")
		r.start("w")
		for i := range 4 {
			r.wantAnswers(i, "re: wait x")
		}
		r.idle()
	})
}

func TestLimitsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	if err := (policy.Turns{}).Defaults().Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []policy.Turns{
		{Turns: -1}, {Attempts: -1}, {Lease: time.Millisecond}, {TurnTimeout: time.Millisecond}, {Grace: -1},
	} {
		if _, err := worker.New(worker.Options{Config: c}); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

// turnsOf are person's turns, by the answers that they gave.
func (r *fixture) turnsOf(person int) (ts []sessions.Turn) {
	r.t.Helper()
	ds, err := r.store.Pending(context.Background(), "tg", 0, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, d := range ds {
		if d.To != address(person) || d.Turn == "" {
			continue
		}
		turn, err := r.store.Turn(context.Background(), d.Turn)
		if err != nil {
			r.t.Fatal(err)
		}
		ts = append(ts, turn)
	}
	return ts
}

// Between the answer of Held and its use an actor of the mailbox may come and go. What
// Held said would be taken up under the old fence, and that attempt not be counted.
func TestAnOldListOfMailboxesAddsNoAttempt(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w")
		listed, goOn := make(chan struct{}), make(chan struct{})
		lists := 0
		p.store.set(func(f *faults) {
			f.listed = func() {
				if r.counted("panic") == 0 {
					return
				}
				if lists++; lists == 2 { // the first notes who has no actor, the second takes it up
					close(listed)
					<-goOn
				}
			}
		})
		r.say(1, "panic")
		<-listed
		r.say(1, "hello")
		r.await("the second panic", func() bool { return r.counted("panic") == 2 })
		synctest.Wait()
		close(goOn)
		r.await("it to be given up", func() bool { return r.counted("dead attempts") == 1 })
		if n := r.counted("panic"); n != 3 {
			t.Errorf("it was taken up %d times", n)
		}
	})
}
