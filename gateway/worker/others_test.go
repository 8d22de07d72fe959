package worker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/broker"
	"parley/gateway/presence"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessions"
)

var errCutOff = errors.New("no connection")

// town is where the processes of workers are seen, and hear each other.
type town struct {
	mu     sync.Mutex
	hidden map[string]bool // by nonce: cut off, or dead
	there  map[string]bool // by name of a sign
}

// hide cuts a process off from the others, who do not see it any more; or not.
func (c *town) hide(p *process, yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hidden[strings.ToLower(p.Identity.Nonce)] = yes
}

func (c *town) isHidden(nonce string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hidden[strings.ToLower(nonce)]
}

// seen lets a worker see, and be seen.
func (c *town) seen(o *worker.Options) {
	o.Log = &heardLog{o.Log, c, o.Identity}
	o.Signs = []presence.Sign{&seenSign{c, o.Identity}, &seenSign{c, o.Identity}}
}

// seenSign is a sign, by which one process sees the others.
type seenSign struct {
	c  *town
	by sessions.Worker
}

func (s *seenSign) Attend(ctx context.Context, name string) error {
	s.c.mu.Lock()
	s.c.there[name] = true
	s.c.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

func (s *seenSign) IsAttended(_ context.Context, name string) (bool, error) {
	_, nonce, _ := strings.Cut(name, ".")
	if s.c.isHidden(s.by.Nonce) {
		return false, errCutOff
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.c.there[name] && !s.c.hidden[nonce], nil
}

func (*seenSign) Era() uint64 { return 1 }

// heardLog is the log of a worker whose signals may be cut off.
type heardLog struct {
	worker.Log
	c  *town
	by sessions.Worker
}

func (l *heardLog) Signal(ctx context.Context, s broker.Signal) error {
	if l.c.isHidden(l.by.Nonce) {
		return errCutOff
	}
	return l.Log.Signal(ctx, s)
}

func forAnHour(o *worker.Options) { o.Config.Lease, o.Config.TurnTimeout = time.Hour, 5*time.Hour }

// withHeartbeats has a worker renew its lease every two seconds, so between most looks at its
// signs it has not.
func withHeartbeats(o *worker.Options) { o.Config.Lease = 10 * time.Second }

func answering(text string) func(*worker.Options) {
	return func(o *worker.Options) {
		ag := o.Settings.Agents["main"]
		ag.Model = &llmtest.Script{Reply: func(int, llm.Request) llmtest.Turn { return llmtest.Turn{llmtest.Text(text)} }}
		o.Settings.Agents = map[string]worker.Agent{"main": ag}
	}
}

func newTown() *town { return &town{hidden: map[string]bool{}, there: map[string]bool{}} }

func TestAWorkerTakesOverAtOnceFromOneWhoseProcessHasEnded(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		c := newTown()
		a := r.start("a", c.seen, forAnHour)
		r.say(1, "wait x")
		r.atGate("x")
		r.start("b", c.seen, forAnHour)
		time.Sleep(10 * time.Minute) // they know each other
		if m := r.mailbox(1); m.Owner != a.Identity {
			t.Fatalf("the mailbox is %+v", m)
		}
		c.hide(a, true)
		a.store.set(func(f *faults) { f.dead = true })
		died := time.Now()
		r.open("x")
		r.wantAnswers(1, "re: wait x")
		if d := time.Since(died); d > time.Second {
			t.Errorf("taken over after %s", d)
		}
		r.idle()
		if turn := r.turnsOf(1); turn[0].Attempts != 2 || r.counted("worker ended 1") != 1 {
			t.Errorf("the turn was taken up %d times; counted %v", turn[0].Attempts, r.counts)
		}
		a.die()
	})
}

// A wrong guess costs a call of the model, and no more: what the worker writes that was taken for
// dead is refused, and it lives on.
func TestAWorkerThatIsWronglyTakenForDeadChangesNothingAndLivesOn(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		c := newTown()
		a := r.start("a", c.seen, withHeartbeats)
		r.say(1, "wait first")
		r.atGate("first")
		b := r.start("b", c.seen, withHeartbeats, answering("from b"))
		time.Sleep(1500 * time.Millisecond) // they have looked, once a second, and know each other
		c.hide(a, true)
		r.wantAnswers(1, "from b")
		if n := r.counted("worker ended 1"); n != 1 {
			t.Errorf("%d workers were taken for dead: %v", n, r.counts)
		}
		r.open("first")
		r.await("a to be refused", func() bool { return a.store.refused() > 0 })
		r.wantAnswers(1, "from b")
		r.idle()
		ms, err := r.store.Messages(t.Context(), r.mailbox(1).Session)
		if err != nil || len(ms) != 2 {
			t.Errorf("the history has %d messages, %v", len(ms), err)
		}
		b.end(t)
		r.say(2, "hello")
		r.wantAnswers(2, "re: hello")
		r.idle()
	})
}
