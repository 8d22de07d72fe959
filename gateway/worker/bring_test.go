package worker_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/gateway/attachments"
	"parley/gateway/policy"
	"parley/gateway/worker"
)

// porter brings files as it is told to.
type porter struct {
	mu    sync.Mutex
	asked []attachments.Request
	ends  int           // requests whose context ended
	hold  chan struct{} // not nil: files come when it is closed
	came  chan struct{} // has room; one for each request
	told  func()
	lost  map[string]string // by Ref, of what does not come
}

func newPorter(r *fixture, hold bool) *porter {
	p := &porter{came: make(chan struct{}, 100), told: r.poke}
	if hold {
		p.hold = make(chan struct{})
	}
	return p
}

func (p *porter) with(o *worker.Options) { o.Settings.Attachments = p }

func (p *porter) Import(ctx context.Context, r attachments.Request) ([][]attachments.Result, error) {
	p.mu.Lock()
	p.asked = append(p.asked, r)
	hold := p.hold
	p.mu.Unlock()
	p.came <- struct{}{}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			p.mu.Lock()
			p.ends++
			p.mu.Unlock()
			p.told()
			return nil, context.Cause(ctx)
		}
	}
	said := make([][]attachments.Result, len(r.Files))
	for i, fs := range r.Files {
		for _, f := range fs {
			said[i] = append(said[i], attachments.Result{Line: "(file " + f.Message + " " + f.Ref + " in " + f.In.Peer + ")", Unusable: p.lost[f.Ref]})
		}
	}
	return said, nil
}

func (p *porter) ended() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ends
}

// send brings a message of the first person in, with files.
func (r *fixture) send(text string, refs ...string) {
	r.t.Helper()
	m := r.message(1, text)
	for _, ref := range refs {
		m.Attachments = append(m.Attachments, channels.Attachment{Kind: "photo", Name: "cat.jpg", Ref: ref})
	}
	if err := r.intake.Accept(context.Background(), m); err != nil {
		r.t.Fatalf("accept %q: %v", text, err)
	}
}

func TestFilesAreBroughtBeforeTheTurnBegins(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := newPorter(r, false)
		r.start("w", p.with)
		r.send("look", "a", "b")
		r.wantAnswers(1, "re: look\n(file m1 a in 1)\n(file m1 b in 1)")
		r.send("", "c")
		r.say(1, "and this")
		r.idle()
		want := []string{"re: look\n(file m1 a in 1)\n(file m1 b in 1)", "re: (file m2 c in 1)", "re: and this"}
		r.wantAnswers(1, want...)
		if len(p.asked) != 2 || p.asked[0].Workspace != r.space || p.asked[0].ID == p.asked[1].ID {
			t.Errorf("asked %+v", p.asked)
		}
	})
}

// While files come others are answered, with one slot for all.
func TestWhoWaitsForFilesHoldsNoSlot(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(_ *testing.T, r *fixture) {
		p := newPorter(r, true)
		r.start("w", p.with, turns(1))
		r.send("look", "a")
		<-p.came
		r.say(2, "hello")
		r.wantAnswers(2, "re: hello")
		close(p.hold)
		r.wantAnswers(1, "re: look\n(file m1 a in 1)")
		r.idle()
	})
}

func TestStopDoesNotWaitForFiles(t *testing.T) {
	t.Parallel()
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprint("signals get lost ", deaf), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				r.log.deaf = deaf
				p := newPorter(r, true)
				r.start("w", p.with)
				r.send("look", "a")
				<-p.came
				r.say(1, "/stop")
				r.wantAnswers(1, "Nothing was running. One waiting message was dropped.")
				if p.ended() != 1 {
					t.Errorf("%d ended", p.ended())
				}
				r.say(1, "hello")
				r.wantAnswers(1, "Nothing was running. One waiting message was dropped.", "re: hello")
				r.idle()
			})
		})
	}
}

// A process that ends waits for no file, and one that dies brings none twice into
// the transcript: whoever follows answers, with no attempt counted for the first.
func TestAnotherWorkerBringsTheFilesAgain(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprint("dies ", dies), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				p := newPorter(r, true)
				first := r.start("first", p.with)
				r.send("look", "a")
				<-p.came
				began := time.Now()
				if dies {
					first.die()
				} else {
					first.end(t)
				}
				if took := time.Since(began); took > time.Second && !dies {
					t.Errorf("the end took %s", took)
				}
				if p.ended() != 1 {
					t.Errorf("%d ended", p.ended())
				}
				second := newPorter(r, false)
				r.start("second", second.with)
				r.wantAnswers(1, "re: look\n(file m1 a in 1)")
				r.idle()
				if p.asked[0].ID != second.asked[0].ID {
					t.Errorf("the message was %s, and is %s", p.asked[0].ID, second.asked[0].ID)
				}
			})
		})
	}
}

// The store takes a mailbox from a worker while files come for it, as it does when its database may
// have forgotten fences, and the same worker takes the mailbox again. The new actor waits for the old
// one with the only slot, which the old one would wait for when its files have come.
func TestAnActorThatIsReplacedWhileFilesComeNeedsNoSlotToEnd(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := newPorter(r, true)
		w := r.start("w", p.with, turns(1))
		r.send("look", "a")
		<-p.came
		if err := r.store.Handover(t.Context(), r.mailbox(1).Fence()); err != nil {
			t.Fatal(err)
		}
		r.await("the mailbox to be taken again", func() bool { return r.takes(1) == 2 })
		close(p.hold)
		r.wantAnswers(1, "re: look\n(file m1 a in 1)")
		r.idle()
		if busy, _ := w.Slots(); busy != 0 {
			t.Errorf("%d slots are taken", busy)
		}
	})
}

// A file that comes while the turn runs joins it, and a stop does not wait for it.
func TestAFileJoinsTheTurnThatRuns(t *testing.T) {
	t.Parallel()
	for _, stop := range []bool{false, true} {
		t.Run(fmt.Sprint("stopped ", stop), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				p := newPorter(r, true)
				r.start("w", p.with, waits(policy.Waiting{WhileBusy: policy.Steer}))
				r.say(1, "wait x")
				r.atGate("x")
				r.send("see", "a")
				synctest.Wait() // the turn has heard of it
				r.open("x")
				<-p.came
				if stop {
					r.say(1, "/stop")
					r.await("the stop", func() bool {
						return slices.ContainsFunc(r.answers(1), func(s string) bool { return s != "re: wait x" })
					})
					if p.ended() != 1 {
						t.Errorf("%d ended", p.ended())
					}
					r.idle()
					return
				}
				close(p.hold)
				r.await("the answer", func() bool { return slices.Contains(r.answers(1), "re: see\n(file m2 a in 1)") })
				r.idle()
				if p.asked[0].ID == "" {
					t.Errorf("asked %+v", p.asked)
				}
			})
		})
	}
}
