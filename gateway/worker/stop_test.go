package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"parley/broker"
	"parley/gateway/policy"
	"parley/gateway/signals"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// requirements A02, L01, L10, B25: what was stopped has left its place when the next message comes.
func TestStopEndsWhatRunsDropsWhatWaitsAndSaysHowMuch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for dropped, want := range []string{
			"Stopped.", "Stopped. One waiting message was dropped.", "Stopped. 2 waiting messages were dropped.",
		} {
			r := newRig(t)
			r.start("w")
			r.say(1, "wait x")
			r.atGate("x")
			for i := range dropped {
				r.say(1, fmt.Sprint("waiting ", i))
			}
			r.say(1, "/stop")
			r.wantAnswers(1, want)
			r.say(1, "hello")
			r.wantAnswers(1, want, "re: hello")
			r.idle()
			if r.counted("ended "+string(transcript.Canceled)) != 1 {
				t.Errorf("counted %v", r.counts)
			}
		}
	})
}

// An answer ends what was shown of its turn; a turn that is stopped has none.
func TestTheLastSignOfAStoppedTurnIsThatItIsOver(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		signs := make(chan signals.Preview, 64)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			_ = r.log.Signals(ctx, signals.PreviewTopic, func(s broker.Signal) {
				var p signals.Preview
				if err := json.Unmarshal(s.Body, &p); err != nil {
					t.Error(err)
				}
				signs <- p
			})
		}()
		r.start("w")
		for i, stopped := range []bool{false, true} {
			gate := fmt.Sprint("g", i)
			r.say(1, "wait "+gate)
			r.atGate(gate)
			first := <-signs
			if first.Turn == "" || first.Over {
				t.Errorf("the first sign is %+v", first)
			}
			if stopped {
				r.say(1, "/stop")
				r.wantAnswers(1, "re: wait g0", "Stopped.")
			} else {
				r.open(gate)
				r.wantAnswers(1, "re: wait g0")
			}
			r.idle()
			synctest.Wait()
			last := first
			for len(signs) > 0 {
				last = <-signs
			}
			if last.Turn != first.Turn || last.To != first.To || last.Over != stopped {
				t.Errorf("stopped %v: the last sign is %+v", stopped, last)
			}
		}
	})
}

func TestStopWhenNothingRunsSaysSo(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		r.start("w")
		r.say(1, "/stop")
		r.wantAnswers(1, "Nothing was running.")
		r.say(1, "hello")
		r.wantAnswers(1, "Nothing was running.", "re: hello")
		r.say(1, "/stop")
		r.wantAnswers(1, "Nothing was running.", "re: hello", "Nothing was running.")
		r.idle()
	})
}

func TestAStopWhoseSignalIsLostIsFoundByLooking(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		r.log.deaf = true
		r.start("w")
		r.say(1, "wait x")
		r.atGate("x")
		r.say(1, "/stop")
		r.say(2, "/stop")
		r.wantAnswers(1, "Stopped.")
		r.wantAnswers(2, "Nothing was running.")
		r.idle()
	})
}

func TestTwoStopsAreAnsweredOnceEach(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		r.say(1, "hello")
		r.say(1, "/stop")
		r.say(1, "/stop")
		r.say(1, "after")
		r.start("w")
		r.wantAnswers(1, "Nothing was running. One waiting message was dropped.", "Nothing was running.", "re: after")
		r.idle()
	})
}

// The process dies after the turn was ended and before that was said.
func TestAStopThatAnotherWorkerCarriesOutToItsEndSaysThatItStopped(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		p := r.start("a")
		r.say(1, "wait x")
		r.atGate("x")
		p.store.set(func(f *faults) { f.noComply = true })
		r.say(1, "waiting")
		r.say(1, "/stop")
		r.await("the turn to end", func() bool { return r.counted("ended "+string(transcript.Canceled)) == 1 })
		p.die()
		r.start("b")
		r.wantAnswers(1, "Stopped. One waiting message was dropped.")
		r.idle()
	})
}

func TestAnAgentThatIsNotConfiguredAnyMoreKeepsItsMessagesAndWaits(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		none := func(o *worker.Options) { o.Settings.Agents, o.Config.Turns = nil, 1 }
		p := r.start("w", none)
		r.say(1, "hello")
		r.say(2, "hello")
		r.await("both to be taken up", func() bool { return r.takes(1) > 0 && r.takes(2) > 0 })
		p.store.arm(0, false)
		// It is not a matter of one conversation: a stop still works, and takes the
		// time in which the other one could spin.
		r.say(1, "/stop")
		r.wantAnswers(1, "Nothing was running. One waiting message was dropped.")
		if n := p.store.count(); n > 200 {
			t.Errorf("%d operations while there was nothing that could be done", n)
		}
		p.end(t)
		r.start("w")
		r.wantAnswers(2, "re: hello")
		r.say(1, "again")
		r.wantAnswers(1, "Nothing was running. One waiting message was dropped.", "re: again")
		r.idle()
	})
}

// slow returns the replies of a model whose calls take longer than a lost signal to stop costs.
func slow(reply func(int, llm.Request) llmtest.Turn) func(int, llm.Request) llmtest.Turn {
	return func(n int, q llm.Request) llmtest.Turn {
		over := make(chan struct{})
		time.AfterFunc(3*time.Second, func() { close(over) })
		return append(llmtest.Turn{llmtest.Wait(over)}, reply(n, q)...)
	}
}

// A stop ends what was said before it, and nothing that was said after it, also when the worker
// hears of the later message first.
func TestAStopHoldsForNothingThatIsSaidAfterIt(t *testing.T) {
	t.Parallel()
	t.Run("what could join the turn that it stops", func(t *testing.T) {
		t.Parallel()
		for _, mode := range []policy.WhileBusy{policy.Steer, policy.Interrupt} {
			inFakeTime(t, func(_ *testing.T, r *fixture) {
				r.log.deaf = true
				p := r.start("w", r.talking(tools.Write), waits(policy.Waiting{WhileBusy: mode}), func(o *worker.Options) {
					o.Settings.Agents["main"].Model.(*llmtest.Script).Reply = slow(r.talk)
				})
				first := r.message(1, "hold x")
				r.bring(first)
				r.atGate("x")
				r.say(1, "/stop")
				r.say(1, "instead")
				r.known(p, first)
				r.open("x")
				r.idle()
				r.wantAnswers(1, "Stopped.", "re: instead")
				r.wantStarted(2)
			})
		}
	})
	t.Run("what could be taken up with what it drops", func(t *testing.T) {
		t.Parallel()
		inFakeTime(t, func(_ *testing.T, r *fixture) {
			r.log.deaf = true
			r.model.Reply = slow(r.reply)
			r.start("w", waits(policy.Waiting{Debounce: 2 * time.Second}))
			r.say(1, "first")
			synctest.Wait() // it waits for more
			r.say(1, "/stop")
			r.say(1, "instead")
			r.idle()
			r.wantAnswers(1, "Nothing was running. One waiting message was dropped.", "re: instead")
			r.wantStarted(1)
		})
	})
}
