package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/delivery"
	"parley/sessions"
)

func kind(k channels.ErrorKind) *channels.Error { return &channels.Error{Kind: k, Op: "send"} }

// first makes the first calls for a chat fail with these, one after the other.
func first(errs ...error) func(int, call) error {
	return func(n int, _ call) error {
		if n <= len(errs) {
			return errs[n-1]
		}
		return nil
	}
}

func TestAnswersOfOneChatGoOutInOrderAndChatsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gate := make(chan struct{})
	r.net.script = func(n int, c call) error {
		if c.chat == "slow" && n == 1 {
			<-gate
		}
		return nil
	}
	p := r.start()
	for i := range 5 {
		for _, chat := range []string{"slow", "a", "b"} {
			r.queue(chat, fmt.Sprintf("%d\nend", i))
		}
	}
	p.wake()
	r.await("the quick chats", func() bool { return len(r.net.chat()) == 20 })
	close(gate)
	r.delivered()
	next := map[string]int{}
	for _, c := range r.net.calls {
		want := fmt.Sprint(next[c.chat] / 2)
		if next[c.chat]%2 == 1 {
			want = "end"
		} else if c.replyTo != "q" {
			t.Errorf("the first part hangs on %q", c.replyTo)
		}
		if c.text != want {
			t.Errorf("%s got %q, not %q", c.chat, c.text, want)
		}
		next[c.chat]++
	}
	if r.net.overlap {
		t.Error("two calls for one chat at once")
	}
	r.await("all to be counted as sent", func() bool { return r.counted("sent ok") == 30 })
}

func TestThePartsAreStoredBeforeTheFirstIsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var states []string
	r.net.script = func(int, call) error {
		for _, d := range r.pending() {
			s := ""
			for _, p := range d.Parts {
				s += string(p.State) + ","
			}
			states = append(states, s)
		}
		return nil
	}
	r.queue("a", "1\n2\n3")
	r.start().wake()
	r.delivered()
	if want := []string{"sending,pending,pending,", "sent,sending,pending,", "sent,sent,sending,"}; !slices.Equal(states, want) {
		t.Errorf("while sending stood %q", states)
	}
}

func TestEachKindOfErrorIsDealtWithAsItMustBe(t *testing.T) {
	t.Parallel()
	limited := kind(channels.RateLimit)
	limited.RetryAfter = 7 * time.Second
	briefly := kind(channels.RateLimit)
	briefly.RetryAfter = 300 * time.Millisecond
	moved := kind(channels.Moved)
	moved.MovedTo = "b"
	movedBack := kind(channels.Moved)
	movedBack.MovedTo = "a"
	within := func(d time.Duration) [2]time.Duration { return [2]time.Duration{d, d + d/5} }
	exactly := func(d time.Duration) [2]time.Duration { return [2]time.Duration{d, d} }
	for _, c := range []struct {
		name   string
		errs   []error
		calls  []string
		waits  [][2]time.Duration
		counts map[string]int
		state  sessions.SendState
	}{
		{
			"unsent is tried again, ever later",
			[]error{kind(channels.Unsent), kind(channels.Unsent), kind(channels.Unsent)},
			[]string{"send a x", "send a x", "send a x", "send a x"},
			[][2]time.Duration{within(time.Second), within(2 * time.Second), within(4 * time.Second)},
			map[string]int{"retried network": 3, "sent ok": 1, "attempted ok": 1},
			sessions.Sent,
		},
		{
			"a rate limit is waited out exactly, and one that names no time for a second",
			[]error{limited, briefly, kind(channels.RateLimit)},
			[]string{"send a x", "send a x", "send a x", "send a x"},
			[][2]time.Duration{exactly(7 * time.Second), exactly(300 * time.Millisecond), exactly(time.Second)},
			map[string]int{"retried rate_limited": 3, "sent ok": 1, "attempted ok": 1},
			sessions.Sent,
		},
		{"what is refused fails", []error{kind(channels.Refused)}, []string{"send a x"}, nil, map[string]int{"sent rejected": 1, "attempted rejected": 1}, sessions.Failed},
		{"a chat that is gone drops it", []error{kind(channels.Gone)}, []string{"send a x"}, nil, map[string]int{"sent dropped": 1, "attempted dropped": 1}, sessions.Failed},
		{"a chat that moved gets it", []error{moved}, []string{"send a x", "send b x"}, nil, map[string]int{"sent ok": 1, "attempted ok": 1}, sessions.Sent},
		{
			"an unauthorised account keeps it",
			[]error{kind(channels.Unauthorized)},
			[]string{"send a x", "send a x"},
			[][2]time.Duration{within(time.Minute)},
			map[string]int{"sent ok": 1, "attempted ok": 1},
			sessions.Sent,
		},
		{
			"in doubt it is repeated once, marked",
			[]error{kind(channels.Ambiguous)},
			[]string{"send a x", "send a x again"},
			nil,
			map[string]int{"sent ambiguous": 1, "attempted ambiguous": 1},
			sessions.Sent,
		},
		{
			"an unknown error is a doubt",
			[]error{errors.New("what")},
			[]string{"send a x", "send a x again"},
			nil,
			map[string]int{"sent ambiguous": 1, "attempted ambiguous": 1},
			sessions.Sent,
		},
		{
			"in doubt ever again it is given up",
			slices.Repeat([]error{kind(channels.Ambiguous)}, 9),
			append([]string{"send a x"}, slices.Repeat([]string{"send a x again"}, 5)...),
			[][2]time.Duration{exactly(2 * time.Second), exactly(8 * time.Second), exactly(32 * time.Second), exactly(time.Minute)},
			map[string]int{"sent ambiguous": 1, "attempted ambiguous": 1},
			sessions.Failed,
		},
		{
			"a repeat that was not sent stays one",
			[]error{kind(channels.Ambiguous), kind(channels.Unsent), limited, kind(channels.Ambiguous)},
			[]string{"send a x", "send a x again", "send a x again", "send a x again", "send a x again"},
			[][2]time.Duration{within(2 * time.Second), exactly(7 * time.Second), exactly(2 * time.Second)},
			map[string]int{"sent ambiguous": 1, "attempted ambiguous": 1},
			sessions.Sent,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			fails := first(c.errs...)
			r.net.script = func(n int, to call) error {
				if to.chat != "a" {
					return nil
				}
				return fails(n, to)
			}
			id := r.queue("a", "x")
			r.start().wake()
			r.delivered()
			r.wantCalls(c.calls...)
			d, err := r.store.Delivery(t.Context(), id)
			if err != nil || d.Parts[0].State != c.state {
				t.Errorf("it ended as %+v, %v", d.Parts, err)
			}
			if len(r.waits) != len(c.waits) {
				t.Fatalf("waited %v", r.waits)
			}
			for i, w := range r.waits {
				if w < c.waits[i][0] || w > c.waits[i][1] {
					t.Errorf("wait %d was %s, not within %v", i, w, c.waits[i])
				}
			}
			for what, n := range c.counts {
				r.await(what, func() bool { return r.counted(what) == n })
			}
		})
	}
	t.Run("what was given up says so, how often it was sent, and what happened last", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.net.script = func(n int, _ call) error {
			return &channels.Error{Kind: channels.Ambiguous, Op: "send", Message: fmt.Sprint("reset ", n)}
		}
		id := r.queue("a", "x")
		r.start().wake()
		r.delivered()
		d, err := r.store.Delivery(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		p := d.Parts[0]
		if p.State != sessions.Failed || p.Reason != sessions.Unconfirmed || p.Repeats != 5 || p.Attempts != 6 || !strings.HasSuffix(p.Problem, "reset 6") {
			t.Errorf("it ended as %+v", p)
		}
	})
	t.Run("a chat that moves to and fro is given up", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.net.script = func(_ int, c call) error {
			if c.chat == "a" {
				return moved
			}
			return movedBack
		}
		r.queue("a", "x")
		r.start().wake()
		r.delivered()
		r.wantCalls("send a x", "send b x")
	})
}

func TestAnEmptyAnswerIsDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.queue("a", "")
	r.start().wake()
	r.delivered()
	r.wantCalls()
	r.await("it to be counted", func() bool { return r.counted("sent dropped") == 1 && r.counted("delivered ") == 1 })
}

func TestALostSignalCostsAMoment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.queue("a", "x")
	r.delivered()
	r.wantCalls("send a x")
}

// A process dies at each of its writes, before or after it was made, and
// another goes on.
func TestACrashLosesNothingAndEachFurtherCopyIsMarked(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		for die := 1; die <= 5; die++ {
			t.Run(fmt.Sprintf("write %d lost=%v", die, lost), func(t *testing.T) {
				t.Parallel()
				open := newRig
				if lost {
					open = realStore
				}
				r := open(t)
				r.queue("a", "1\n2")
				r.queue("a", "3\n4")
				for range 2 { // the next one may die as well
					r.die, r.lost = die, lost
					p := r.start(func(o *delivery.Options) { o.Grace = time.Millisecond })
					p.wake()
					r.await("it to die", func() bool {
						p.store.mu.Lock()
						defer p.store.mu.Unlock()
						return p.store.n >= die || len(r.pending()) == 0
					})
					p.end()
				}
				r.die = 0
				r.start().wake()
				r.delivered()
				copies := map[string]int{}
				last := ""
				for _, c := range r.net.calls {
					copies[c.text]++
					if copies[c.text] > 1 && !c.repeat || copies[c.text] > 3 { // it died twice
						t.Errorf("copy %d of %s, marked %v: %q", copies[c.text], c.text, c.repeat, r.net.log())
					}
					if c.text < last {
						t.Errorf("out of order: %q", r.net.log())
					}
					last = c.text
				}
				if len(copies) != 4 {
					t.Errorf("the chat got %q", r.net.log())
				}
			})
		}
	}
}

func TestAReceiptIsNotForgottenWhenTheStoreFailsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fail = 2
	p := r.start()
	r.queue("a", "x")
	p.wake()
	r.delivered()
	r.wantCalls("send a x")
}

func TestAnAnswerDoesNotOvertakeOneThatCouldNotBeWrittenDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fail = 1
	p := r.start()
	for i := range 4 {
		r.queue("a", fmt.Sprint(i))
	}
	p.wake()
	r.delivered()
	r.wantCalls("send a 0", "send a 1", "send a 2", "send a 3")
}

func TestAtTheEndWhatIsQueuedIsSentWithinTheGracePeriod(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start()
	for i := range 3 {
		r.queue("a", fmt.Sprint(i))
	}
	p.end()
	if n := len(r.pending()); n != 0 {
		t.Errorf("%d answers were left", n)
	}
}

func TestWhatMustWaitLongerThanTheGracePeriodIsLeftForTheNext(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	limited := kind(channels.RateLimit)
	limited.RetryAfter = time.Hour
	r.net.script = first(limited)
	p := r.start(func(o *delivery.Options) {
		o.Grace = time.Millisecond
		o.Wait = func(ctx context.Context, _ time.Duration) error {
			r.count("waiting")
			<-ctx.Done()
			return ctx.Err()
		}
	})
	r.queue("a", "x")
	p.wake()
	r.await("the wait", func() bool { return r.counted("waiting") == 1 })
	p.end()
	if ds := r.pending(); len(ds) != 1 || ds[0].Parts[0].State != sessions.Queued {
		t.Fatalf("left %+v", ds)
	}
	r.start().wake()
	r.delivered()
	r.wantCalls("send a x", "send a x")
}

// Who lost the right to send ends the call that is under way, and leaves the other parts to the
// next process.
func TestAnAnswerStopsAtThePartThatIsSentWhenTheLeaseIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		sends, stop := context.WithCancelCause(t.Context())
		defer stop(nil)
		r.net.script = func(n int, _ call) error {
			if n == 1 {
				stop(broker.ErrLeaseLost)
				synctest.Wait()
			}
			return nil
		}
		id := r.queue("a", "one\ntwo\nthree")
		r.runUntil(sends).end()
		r.wantCalls("send a one")
		if got, want := r.states(id), []sessions.SendState{sessions.Sent, sessions.Queued, sessions.Queued}; !slices.Equal(got, want) {
			t.Errorf("its parts are %q, want %q", got, want)
		}
	})
}

func TestOneChatWithManyWaitingAnswersKeepsNoneFromTheOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gate := make(chan struct{})
	r.net.script = func(_ int, c call) error {
		if c.chat == "slow" {
			<-gate
		}
		return nil
	}
	for i := range 600 {
		r.queue("slow", fmt.Sprint(i))
	}
	r.queue("a", "x")
	p := r.start()
	p.wake()
	r.await("the other chat", func() bool { return slices.Contains(r.net.chat(), "x") })
	close(gate)
	r.delivered()
}

// What a lane gave back is older than what is signalled next.
func TestASignalledAnswerDoesNotOvertakeThoseThatWereGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			r := newRig(t)
			r.fail = 1
			p := r.start()
			for i := range 8 {
				r.queue("a", fmt.Sprint(i))
				p.wake()
			}
			r.delivered()
			var want []string
			for i := range 8 {
				want = append(want, fmt.Sprint("send a ", i))
			}
			r.wantCalls(want...)
		}
	})
}
