package worker_test

import (
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server/ats"

	"parley/gateway/worker"
)

// inBubble is set in the process of a test that runs in fake time.
const inBubble = "PARLEY_TEST_BUBBLE"

// bubble runs f in fake time, in a process of its own: the NATS client keeps
// timers for the whole process, and one from another bubble is fatal.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if os.Getenv(inBubble) == "" {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=60s", "-test.v")
		cmd.Env = append(os.Environ(), inBubble+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	// The server's clock for access times makes a channel when its package is
	// loaded, so it must run before the bubble begins.
	ats.Register()
	defer ats.Unregister()
	synctest.Test(t, f)
}

// The real log and the real store live in the bubble.
func TestWhateverHappensInFakeTime(t *testing.T) { // bubble does
	dir := t.TempDir()
	bubble(t, func(t *testing.T) { newSchedule(realRig(t, dir), seed(t)).run(100) })
}

// What a killed worker was at goes on as soon as one of its name starts: not at its first look a
// second later.
func TestAWorkerThatStartsGoesOnAtOnceWithWhatIsOwed(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		a := r.start("a")
		r.say(1, "wait x")
		r.atGate("x")
		a.die()
		r.open("x")
		died := time.Now()
		r.start("a")
		r.wantAnswers(1, "re: wait x")
		if d := time.Since(died); d >= time.Second {
			t.Errorf("went on after %s", d)
		}
		r.idle()
	})
}

func TestALeaseOfAnHourPassesInFakeTime(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		hour := func(o *worker.Options) { o.Config.Lease, o.Config.TurnTimeout = time.Hour, 5*time.Hour }
		a := r.start("a", hour)
		r.say(1, "wait x")
		r.atGate("x")
		a.die()
		died := time.Now()
		r.open("x")
		r.start("b", hour)
		r.wantAnswers(1, "re: wait x")
		if d := time.Since(died); d < 50*time.Minute || d > time.Hour+time.Minute {
			t.Errorf("taken over after %s", d)
		}
		r.idle()
	})
}

func TestAStoreThatIsAwayIsNotAskedWithoutAPause(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w")
		r.say(1, "hello")
		r.wantAnswers(1, "re: hello")
		p.store.arm(0, false)
		p.store.set(func(f *faults) { f.dead = true })
		time.Sleep(10 * time.Minute)
		// A heartbeat each 0.4 s and a look each second.
		if n := p.store.count(); n < 10*60 || n > 10*60*6 {
			t.Errorf("a store that is away was asked %d times in ten minutes", n)
		}
		p.store.set(func(f *faults) { f.dead = false })
		r.say(1, "again")
		r.wantAnswers(1, "re: hello", "re: again")
	})
}

func TestWhatCannotBeDoneAtPresentIsTriedEverMoreRarely(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w", func(o *worker.Options) { o.Settings.Agents, o.Config.Turns = nil, 1 })
		r.say(1, "hello")
		r.say(2, "hello")
		r.await("both to be taken up", func() bool { return r.takes(1) > 0 && r.takes(2) > 0 })
		p.store.arm(0, false)
		time.Sleep(10 * time.Minute)
		// Looking for work and the lease take about five operations a second.
		if n := p.store.count(); n > 10*60*6 {
			t.Errorf("%d operations in ten minutes in which nothing could be done", n)
		}
		if n := r.takes(1) + r.takes(2); n < 20 || n > 200 {
			t.Errorf("the two messages were tried %d times in ten minutes", n)
		}
		r.say(1, "/stop")
		r.wantAnswers(1, "Nothing was running. One waiting message was dropped.")
	})
}
