package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/agent"
	"parley/channels"
	"parley/costs"
	"parley/gateway/policy"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessionkeys"
	"parley/tools"
	"parley/transcript"
)

// hold is a tool that waits until a gate is opened, or until it is cancelled.
type hold struct {
	r        *fixture
	category tools.Category
}

func (hold) Definition() llm.Definition {
	return llm.Definition{Name: "hold", Description: "waits", Schema: json.RawMessage(`{"type":"object","properties":{"gate":{"type":"string"}}}`)}
}

func (h hold) Category(tools.Call) tools.Category { return h.category }

func (h hold) Run(ctx context.Context, c tools.Call) (tools.Result, error) {
	var in struct{ Gate string }
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return tools.Result{}, err
	}
	h.r.count("held")
	reached, open := h.r.gate(in.Gate)
	h.r.reach(reached)
	select {
	case <-open:
		return tools.Result{Content: "held"}, nil
	case <-ctx.Done():
		h.r.count("hold cancelled")
		return tools.Result{}, ctx.Err()
	}
}

// talk answers all that was asked since the last answer: "hold x" calls the
// tool first, "wait x" waits when nothing else was asked, "panic" panics.
func (r *fixture) talk(_ int, q llm.Request) llmtest.Turn {
	var asked []string
	tool := false
	for _, m := range q.Messages {
		switch {
		case m.Role == transcript.User:
			asked = append(asked, m.Text())
		case m.Role == transcript.Tool:
			tool = true
		case len(m.Calls()) == 0:
			asked, tool = nil, false
		}
	}
	first := asked[0]
	if strings.HasPrefix(first, "[") { // in a group
		_, first, _ = strings.Cut(first, "] ")
	}
	verb, arg, _ := strings.Cut(first, " ")
	answer := llmtest.Text("re: " + strings.Join(asked, " | "))
	switch {
	case asked[len(asked)-1] == "panic":
		r.count("panic")
		panic("this message is poison")
	case verb == "hold" && !tool:
		return llmtest.Turn{llmtest.Call{ID: "c1", Name: "hold", Input: `{"gate":"` + arg + `"}`}}
	case verb == "wait" && len(asked) == 1:
		reached, open := r.gate(arg)
		r.reach(reached)
		r.count("asked to wait")
		return llmtest.Turn{llmtest.Text("half an ans"), llmtest.Wait(open), answer}
	}
	return llmtest.Turn{answer}
}

// talking has a worker's agent talk, with the tool hold.
func (r *fixture) talking(category tools.Category) func(*worker.Options) {
	r.t.Helper()
	set, err := tools.NewSet(hold{r, category})
	if err != nil {
		r.t.Fatal(err)
	}
	return func(o *worker.Options) {
		ag := o.Settings.Agents["main"]
		ag.Model, ag.Tools = &llmtest.Script{Reply: r.talk}, set
		o.Settings.Agents = map[string]worker.Agent{"main": ag}
	}
}

// known waits until the owner of m's conversation knows of all that was said.
func (r *fixture) known(p *process, m channels.Message) {
	r.t.Helper()
	k := r.keyOf(m)
	last, err := r.log.Last(context.Background(), k.Token())
	if err != nil {
		r.t.Fatal(err)
	}
	r.soon("the owner to hear of the messages", func() bool { return p.Heard(k.Token()) >= last })
}

// soon asks again and again until done.
func (r *fixture) soon(what string, done func() bool) {
	r.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !done(); <-tick.C {
		if time.Now().After(end) {
			r.t.Fatalf("waited in vain for %s; counted %v", what, r.counts)
		}
	}
}

// during says first to person 1, which calls the tool, and the rest while it
// waits; then lets the tool go on.
func (r *fixture) during(p *process, first channels.Message, rest ...channels.Message) {
	r.t.Helper()
	r.bring(first)
	r.atGate("x")
	r.bring(rest...)
	r.known(p, first)
	r.open("x")
}

func (r *fixture) wantStarted(n int) {
	r.t.Helper()
	if got := r.counted("started"); got != n {
		r.t.Errorf("%d turns, want %d", got, n)
	}
}

func TestWhatIsSaidWhileATurnRunsJoinsItBeforeItsNextModelCall(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		p := r.start("w", r.talking(tools.Write))
		first := r.old(1, "hold x")
		copied := r.old(1, "second")
		r.during(p, first, copied, copied, r.old(1, "third"))
		r.wantAnswers(1, "re: hold x | second | third")
		r.wantHeard(first, "hold x", "second", "third")
		r.wantStarted(1)
		// What comes behind the last model call is a turn of its own.
		r.say(1, "wait y")
		r.atGate("y")
		r.say(1, "later")
		r.known(p, first)
		r.open("y")
		r.wantAnswers(1, "re: hold x | second | third", "half an ans\nre: wait y", "re: later")
		r.idle()
	})
}

func TestNobodyWhoSaysNothingReadsMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		count := func(rules policy.Waiting) int {
			r := newRig(t)
			r.open("x")
			p := r.start("w", r.talking(tools.Write), waits(rules))
			r.say(1, "hold x")
			r.wantAnswers(1, "re: hold x")
			r.idle()
			p.end(t)
			return r.counted("read of the log")
		}
		if steer, queue := count(policy.Waiting{}), count(policy.Waiting{WhileBusy: policy.Queue}); steer != queue || queue == 0 {
			t.Errorf("a turn reads the log %d times, and %d when nothing may join it", steer, queue)
		}
	})
}

func TestWhatWaitsIsTakenUpAsItsChannelSays(t *testing.T) {
	t.Parallel()
	for mode, want := range map[policy.WhileBusy][]string{
		policy.Queue:   {"re: hold x", "re: second", "re: third", worker.FreshText, "re: fourth"},
		policy.Collect: {"re: hold x", "re: second\nthird", worker.FreshText, "re: fourth"},
		policy.Steer:   {"re: hold x | second | third", worker.FreshText, "re: fourth"},
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(_ *testing.T, r *fixture) {
				p := r.start("w", r.talking(tools.Write), waits(policy.Waiting{WhileBusy: mode}))
				r.during(p, r.old(1, "hold x"), r.old(1, "second"), r.old(1, "third"), r.old(1, "/new"), r.old(1, "fourth"))
				r.wantAnswers(1, want...)
				r.idle()
			})
		})
	}
}

func TestATurnIsOfOnePersonWhateverTheMode(t *testing.T) {
	t.Parallel()
	for mode, started := range map[policy.WhileBusy]int{policy.Steer: 3, policy.Interrupt: 3, policy.Collect: 4, policy.Queue: 5} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				p := r.start("w", r.talking(tools.Write), waits(policy.Waiting{WhileBusy: mode, Debounce: time.Nanosecond}))
				first := inKitchen(r.old(1, "hold x"))
				r.during(p, first, inKitchen(r.old(1, "more")), inKitchen(r.old(2, "ben's")), inKitchen(r.old(1, "behind")), inKitchen(r.old(1, "it")))
				r.done(first)
				r.idle()
				asked := r.heard(first)
				if text := strings.Join(asked, "\n"); text != "[1] hold x\n[1] more\n[2] ben's\n[1] behind\n[1] it" {
					t.Errorf("asked %q", asked)
				}
				if mode == policy.Steer || mode == policy.Interrupt {
					started++ // "it" is a turn of its own: the one before has a single call
				}
				r.wantStarted(started)
			})
		})
	}
}

func TestAnEditOfWhatIsBeingAnsweredJoinsAsACorrection(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		p := r.start("w", r.talking(tools.Write))
		first := r.old(1, "hold x")
		r.during(p, first, r.edit(first, "hold x"), r.edit(first, "hold on"))
		r.wantHeard(first, "hold x", "(I have edited what I wrote before. It now reads:)\nhold on")
		r.wantStarted(1)
	})
}

func TestWhatIsNotForTheBotJoinsNothingAndHoldsNothingBack(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		p := r.start("w", r.talking(tools.Write))
		first := inKitchen(r.old(1, "hold x"))
		r.during(p, first, photo(quiet(inKitchen(r.old(2, "look"))), "a"), inKitchen(r.old(1, "more")))
		r.wantHeard(first, "[1] hold x", "[1] more")
		r.wantStarted(1)
	})
}

func TestANewMessageInterruptsTheModelCallAndOneAnswerServesBoth(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w", r.talking(tools.Write), waits(policy.Waiting{WhileBusy: policy.Interrupt}))
		r.say(1, "wait x")
		r.atGate("x")
		r.say(1, "no, this")
		r.wantAnswers(1, "re: wait x | no, this")
		r.idle()
		var states []costs.State
		err := r.store.Ledger(t.Context(), r.mailbox(1).Session, func(_ sessionkeys.SessionID, e costs.Entry) bool {
			states = append(states, e.State)
			return true
		})
		if err != nil || len(states) != 2 || states[0] != costs.Interrupted {
			t.Errorf("ledger %v, %v", states, err)
		}
		r.wantStarted(1)
	})
}

func TestAnInterruptionLeavesToolsWithSideEffectsAlone(t *testing.T) {
	t.Parallel()
	for category, cancelled := range map[tools.Category]int{tools.Read: 1, tools.Write: 0} {
		t.Run(string(category), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				p := r.start("w", r.talking(category), waits(policy.Waiting{WhileBusy: policy.Interrupt}))
				first := r.old(1, "hold x")
				r.bring(first)
				r.atGate("x")
				r.bring(r.old(1, "second"))
				if cancelled == 0 {
					r.known(p, first)
					r.open("x")
				}
				r.wantAnswers(1, "re: hold x | second")
				r.idle()
				if n := r.counted("hold cancelled"); n != cancelled {
					t.Errorf("the tool was cancelled %d times", n)
				}
			})
		})
	}
}

func TestNobodyElseAndNoCopyInterrupts(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w", r.talking(tools.Write), waits(policy.Waiting{WhileBusy: policy.Interrupt}))
		first := inKitchen(r.old(1, "wait x"))
		r.bring(first)
		r.atGate("x")
		r.publishIn(first) // a copy, outside of the log's window
		r.bring(r.edit(first, first.Text), inKitchen(r.old(2, "ben's")), inKitchen(r.old(1, "behind")))
		r.known(p, first)
		r.open("x")
		r.done(first)
		r.idle()
		if n := r.counted("called"); n != 3 {
			t.Errorf("%d model calls for three turns", n)
		}
		r.wantHeard(first, "[1] wait x", "[2] ben's", "[1] behind")
	})
}

func TestWhatJoinedATurnThatIsPoisonIsBuriedWithItAndNothingElse(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w", r.talking(tools.Read))
		first := r.old(1, "hold x")
		r.during(p, first, r.old(1, "panic"))
		r.await("the first panic", func() bool { return r.counted("panic") > 0 })
		r.say(1, "after it")
		r.await("two answers", func() bool { return len(r.answers(1)) >= 2 })
		r.idle()
		if got := r.answers(1); len(got) != 2 || !strings.Contains(got[0], "failed every time") || !strings.HasSuffix(got[1], "after it") {
			t.Errorf("told %q", got)
		}
		letters, err := r.log.DeadLetters(t.Context(), 0, 10)
		var texts []string
		for _, l := range letters {
			var m channels.Message
			if err := json.Unmarshal(l.Body, &m); err != nil {
				t.Error(err)
			}
			texts = append(texts, m.Text)
		}
		if err != nil || !slices.Equal(texts, []string{"hold x", "panic"}) {
			t.Errorf("dead letters %q, %v", texts, err)
		}
	})
}

// Each operation of the store fails once, before or after it was performed.
func TestWhateverFailsWhatJoinsIsAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, lost := range []bool{false, true} {
			r := newRig(t)
			p := r.start("w", r.talking(tools.Read))
			for n := 1; n <= 20; n++ {
				gate := "x" + strings.Repeat("x", n)
				first := r.old(n, "hold "+gate)
				r.bring(first)
				r.atGate(gate)
				r.bring(r.old(n, "second"))
				r.known(p, first)
				p.store.arm(n, lost)
				r.open(gate)
				r.wantHeard(first, "hold "+gate, "second")
			}
			r.idle()
		}
	})
}

// beginning is a watcher that keeps the turns of each chat at a gate, before their first call.
type beginning struct{ r *fixture }

func (b beginning) Begin(k worker.Work) worker.TurnWatcher {
	reached, open := b.r.gate(k.Turn.From.Peer)
	b.r.reach(reached)
	<-open
	return nil
}

func (beginning) Titled(string, agent.CallReport) {}

// A message interrupts a turn before its first call, and one with which nothing is done stands
// between. Each operation of the store fails once then, before or after it was performed.
func TestWhatIsPassedOverBeforeTheFirstCallTakesNoMessageWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, lost := range []bool{false, true} {
			r := newRig(t)
			p := r.start("w", waits(policy.Waiting{WhileBusy: policy.Interrupt}), func(o *worker.Options) { o.Watcher = beginning{r} })
			for n := 1; n <= 16; n++ {
				in := func(m channels.Message) channels.Message {
					m = inKitchen(m)
					m.Address.Peer += fmt.Sprint(n)
					return m
				}
				first := in(r.old(1, "first"))
				r.bring(first)
				r.atGate(first.Address.Peer)
				r.bring(photo(quiet(in(r.old(2, "look"))), "a"), in(r.old(1, "second")))
				r.known(p, first)
				synctest.Wait() // it is interrupted
				p.store.arm(n, lost)
				r.open(first.Address.Peer)
				r.wantHeard(first, "[1] first", "[1] second")
			}
			r.idle()
		}
	})
}

func TestAPersonWhoIsQuietForAMomentIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		m := r.old(1, "one")
		at := func(d time.Duration, text string) channels.Message {
			n := r.old(1, text)
			n.ReceivedAt = m.ReceivedAt.Add(d)
			return n
		}
		r.bring(m, at(time.Second, "two"), at(3*time.Second, "three"), at(4500*time.Millisecond, "four"), at(10*time.Second, "five"))
		r.start("w", waits(policy.Waiting{WhileBusy: policy.Queue, Debounce: 2 * time.Second, DebounceMax: 4 * time.Second}))
		r.wantHeard(m, "one\ntwo\nthree", "four", "five")
	})
}

func TestNobodyWaitsLongerThanTheDebounceSays(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w", waits(policy.Waiting{Debounce: 2 * time.Second, DebounceMax: 5 * time.Second}))
		began := time.Now()
		for range 8 {
			r.say(1, "and")
			time.Sleep(1100 * time.Millisecond) // none falls into the moment in which the wait ends
		}
		r.wantAnswers(1, "re: "+strings.TrimSpace(strings.Repeat("and\n", 5)), "re: "+strings.TrimSpace(strings.Repeat("and\n", 3)))
		if d := time.Since(began); d < 9*time.Second || d > 10*time.Second {
			t.Errorf("the last was answered after %s", d)
		}
		for i, turn := range r.turnsOf(1) {
			if waited := turn.OpenedAt.Sub(turn.ReceivedAt); waited > 6*time.Second {
				t.Errorf("turn %d waited for %s", i, waited)
			}
		}
	})
}

func TestRulesThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for _, ok := range []policy.Waiting{{}, {WhileBusy: policy.Interrupt, Debounce: time.Second}, {Debounce: 1, DebounceMax: 1}} {
		if err := ok.Validate(); err != nil {
			t.Errorf("%+v: %v", ok, err)
		}
	}
	for _, bad := range []policy.Waiting{{WhileBusy: "drop"}, {Debounce: -1}, {DebounceMax: 1}, {Debounce: 2, DebounceMax: 1}, {DebounceMax: -1}} {
		if bad.Validate() == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}
