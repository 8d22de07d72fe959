package worker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/costs"
	"parley/gateway/policy"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
	"parley/transcript"
)

// part is the log of a worker that hears only some of it.
type part struct {
	worker.Log
	deliveries, signals bool
}

func (l part) Consume(ctx context.Context, h func(context.Context, broker.WakeUp) error) error {
	if !l.deliveries {
		<-ctx.Done()
		return ctx.Err()
	}
	return l.Log.Consume(ctx, h)
}

func (l part) Signals(ctx context.Context, topic string, h func(broker.Signal)) error {
	if !l.signals {
		<-ctx.Done()
		return ctx.Err()
	}
	return l.Log.Signals(ctx, topic, h)
}

func hears(deliveries, signals bool) func(*worker.Options) {
	return func(o *worker.Options) { o.Log = part{o.Log, deliveries, signals} }
}

// working starts worker a, which hears no deliveries and comes to the gate of
// first all the same, and then b, which hears them all.
func (r *fixture) working(first channels.Message, signals bool, change ...func(*worker.Options)) (a, b *process) {
	r.t.Helper()
	r.bring(first)
	a = r.start("a", append(change, hears(false, signals))...)
	k := r.keyOf(first)
	// Nobody hears of the message yet; somebody noted it.
	seq, err := r.log.Last(r.t.Context(), k.Token())
	if err == nil {
		_, _, err = r.store.Touch(r.t.Context(), sessions.Touch{Token: k.Token(), Key: k, Seq: seq, Now: time.Now()})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.atGate("x")
	b = r.start("b", append(change, hears(true, signals))...)
	return a, b
}

func TestWhatAnotherWorkerHearsJoinsTheTurnThatRunsHere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, signals := range []bool{true, false} { // a lost signal costs two seconds
			r := newRig(t)
			first := r.old(1, "hold x")
			a, b := r.working(first, signals, r.talking(tools.Write))
			r.say(1, "second")
			r.known(a, first)
			r.open("x")
			r.wantAnswers(1, "re: hold x | second")
			r.idle()
			if b.store.count() == 0 {
				t.Error("b did nothing")
			}
		}
	})
}

func TestAStopReachesATurnOnAnotherWorkerAndItsTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, signals := range []bool{true, false} {
			r := newRig(t)
			first := r.old(1, "hold x")
			r.working(first, signals, r.talking(tools.Write), waits(policy.Waiting{WhileBusy: policy.Queue}))
			r.say(1, "waiting")
			r.touched(first)
			r.say(1, "/stop")
			r.wantAnswers(1, "Stopped. One waiting message was dropped.")
			r.idle()
			if n := r.counted("hold cancelled"); n != 1 {
				t.Errorf("the tool was cancelled %d times", n)
			}
		}
	})
}

// Whatever a paused worker was at, it stops by itself when it goes on, although
// nothing that it waits for comes, and has changed nothing.
func TestAWorkerThatWasPausedForTooLongStopsByItself(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"wait", "hold"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				a := r.start("a", r.talking(tools.Read))
				synctest.Wait() // it said that it lives
				a.store.set(func(f *faults) { f.frozen = true })
				r.say(1, at+" x")
				r.atGate("x")
				r.start("b", func(o *worker.Options) {
					ag := o.Settings.Agents["main"]
					ag.Model = &llmtest.Script{Reply: func(int, llm.Request) llmtest.Turn { return llmtest.Turn{llmtest.Text("from b")} }}
					o.Settings.Agents = map[string]worker.Agent{"main": ag}
				}, turns(1))
				r.await("a to stop", func() bool {
					r.mu.Lock()
					defer r.mu.Unlock()
					return r.running == 0 && r.counts["ended "+string(transcript.EndTurn)] == 1
				})
				r.wantAnswers(1, "from b")
				r.idle()
				ms, err := r.store.Messages(t.Context(), r.mailbox(1).Session)
				if err != nil || len(ms) == 0 || ms[len(ms)-1].Text() != "from b" {
					t.Errorf("the history is %v, %v", ms, err)
				}
			})
		})
	}
}

// A worker is paused right before it commits its end.
func TestAWorkerThatWasPausedBeforeItsLastCommitChangesNothing(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		a := r.start("a")
		paused, on := make(chan struct{}), make(chan struct{})
		synctest.Wait() // it said that it lives
		a.store.set(func(f *faults) {
			f.frozen = true
			f.finish = func() { close(paused); <-on }
		})
		r.say(1, "hello")
		<-paused
		r.start("b")
		r.wantAnswers(1, "re: hello")
		close(on)
		r.await("a to be refused", func() bool { return a.store.refused() > 0 })
		r.idle()
		r.wantAnswers(1, "re: hello")
		ms, err := r.store.Messages(t.Context(), r.mailbox(1).Session)
		if err != nil || len(ms) != 2 {
			t.Errorf("the history has %d messages, %v", len(ms), err)
		}
	})
}

// In fake time: the lease is an hour, and workers look for work every second.
func TestATurnThatIsHandedOverGoesOnAtOnceFromItsLastStep(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		hour := func(o *worker.Options) {
			o.Config.Lease, o.Config.TurnTimeout, o.Config.Grace = time.Hour, time.Hour, 20*time.Second
		}
		a := r.start("a", hour, r.talking(tools.Read))
		r.say(1, "hold x")
		r.say(2, "wait z")
		r.atGate("x")
		r.atGate("z")
		r.start("b", hour, r.talking(tools.Read))
		time.Sleep(300 * time.Millisecond) // between two looks
		asked := time.Now()
		a.end(t)
		if d := time.Since(asked); d < 20*time.Second || d > 21*time.Second {
			t.Errorf("the turns were left after %s", d)
		}
		left := time.Now()
		r.open("x")
		r.open("z")
		r.wantAnswers(1, "re: hold x")
		r.wantAnswers(2, "half an ans\nre: wait z")
		if d := time.Since(left); d > 100*time.Millisecond {
			t.Errorf("they went on after %s", d)
		}
		r.idle()
		// The first model call of the one is not made again; that of the other was
		// cut, is booked as interrupted, and made again.
		for person, want := range map[int][]costs.State{1: {costs.Settled, costs.Settled}, 2: {costs.Interrupted, costs.Settled}} {
			var got []costs.State
			if err := r.store.Ledger(t.Context(), r.mailbox(person).Session, func(_ sessionkeys.SessionID, e costs.Entry) bool {
				got = append(got, e.State)
				return true
			}); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("the ledger of %d: %v, want %v; %v", person, got, want, err)
			}
			if turn := r.turnsOf(person)[0]; turn.Attempts != 1 {
				t.Errorf("%d attempts: a handover counts none", turn.Attempts)
			}
		}
	})
}

func TestAStopIsHeardDuringTheGracePeriod(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		a := r.start("a", grace(patience))
		r.say(1, "wait x")
		r.atGate("x")
		a.stop()
		time.Sleep(time.Second) // the turn goes on
		asked := time.Now()
		r.say(1, "/stop")
		a.end(t)
		if d := time.Since(asked); d > 100*time.Millisecond {
			t.Errorf("the turn was stopped after %s", d)
		}
		r.start("b")
		r.wantAnswers(1, "Stopped.")
		r.idle()
	})
}

// Workers come and go one after another while people talk, with a store that
// takes up to a moment for everything: no lease ends, so no attempt is counted.
func TestARestartOfAllWorkersIsInvisible(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		random := rand.New(rand.NewPCG(seed(t), 1)) // a schedule
		next := 0
		begin := func() *process {
			next++
			p := r.start(fmt.Sprint("w", next), grace(time.Millisecond), turns(4), waits(policy.Waiting{WhileBusy: policy.Queue}))
			p.store.set(func(f *faults) { f.takes = time.Duration(1+random.IntN(100)) * time.Millisecond })
			r.soon("the worker to register", func() bool { return p.store.count() > 0 })
			return p
		}
		const people, rounds = 12, 6
		workers := []*process{begin(), begin(), begin()}
		want := map[int][]string{}
		for round := range rounds {
			for person := 1; person <= people; person++ {
				text := fmt.Sprint("message ", round)
				r.say(person, text)
				want[person] = append(want[person], "re: "+text)
			}
			fresh := begin()
			workers[0].end(t)
			workers = append(workers[1:], fresh)
		}
		for person := range want {
			r.wantAnswers(person, want[person]...)
			for _, turn := range r.turnsOf(person) {
				if turn.Attempts != 1 {
					t.Errorf("a turn of %d was taken up %d times", person, turn.Attempts)
				}
			}
		}
		r.idle()
	})
}

// F20
func TestAMessageThatKillsThreeWorkersGoesToTheDeadLettersAndOthersAreAnswered(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		said := r.old(1, "wait x")
		r.bring(said)
		for i := range 3 {
			p := r.start(fmt.Sprint("victim ", i), grace(time.Millisecond), r.talking(tools.Read))
			r.await("the message to be taken up", func() bool { return r.counted("asked to wait") == i+1 })
			p.die()
		}
		r.say(1, "after it")
		r.say(2, "another's")
		r.start("last", r.talking(tools.Read))
		r.await("two answers", func() bool { return len(r.answers(1)) >= 2 && len(r.answers(2)) >= 1 })
		r.idle()
		if got := r.answers(1); len(got) != 2 || !strings.Contains(got[0], "failed every time") || !strings.HasSuffix(got[1], "after it") {
			t.Errorf("told %q", got)
		}
		r.wantAnswers(2, "re: another's")
		letters, err := r.log.DeadLetters(t.Context(), 0, 10)
		if err != nil || len(letters) != 1 || !strings.Contains(string(letters[0].Body), "wait x") {
			t.Errorf("dead letters %v, %v", letters, err)
		}
		if n := r.counted("asked to wait"); n != 3 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}

// An outage of the store is nobody's attempt, also when it outlasts the lease.
func TestAnOutageThatOutlastsTheLeaseCountsNoAttempt(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		a := r.start("a", r.talking(tools.Read))
		r.say(1, "hold x")
		r.atGate("x")
		a.store.set(func(f *faults) { f.dead = true })
		r.await("the turn to be left, in vain", func() bool { return a.store.handovers() >= 2 })
		a.store.set(func(f *faults) { f.dead = false })
		r.open("x")
		r.wantAnswers(1, "re: hold x")
		if turn := r.turnsOf(1)[0]; turn.Attempts != 1 {
			t.Errorf("%d attempts", turn.Attempts)
		}
		r.idle()
	})
}
