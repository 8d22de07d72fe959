package signal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"parley/channels/signal"
	"parley/disks/diskstest"
	sim "parley/simulators/signal"
)

// another is a channel on the same folder, as of a second parley, while the first
// goes on.
func (r *fixture) another(t testing.TB, log *page) *signal.Channel {
	t.Helper()
	o := r.options()
	o.Observer = &watched{}
	logged(log)(&o)
	ch, err := signal.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func TestAnAccountsFolderIsOneParleysAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := take(t, r.open(t), nil)
	var log page
	second := take(t, r.another(t, &log), nil)
	log.await(t, fmt.Sprintf("another parley has the folder of this account: process %d", os.Getpid()))
	r.say(t, sim.Chat{}, ann, "one", sim.SayOptions{})
	if m := first.next(); m.Text != "one" {
		t.Errorf("first came %+v", m)
	}
	noError(t, r.AwaitAcknowledged(t.Context(), 1))
	first.stop()
	r.stop()
	r.say(t, sim.Chat{}, ann, "two", sim.SayOptions{})
	if m := second.next(); m.Text != "two" {
		t.Errorf("to the other one came %+v", m)
	}
}

// Who cannot be ended is said, and not waited for in secret.
func TestADaemonThatCannotBeEndedIsGivenUpForAWhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	state := filepath.Join(r.dir, "state")
	noError(t, os.MkdirAll(state, 0o700))
	lock, err := os.OpenFile(filepath.Join(state, "daemon.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	noError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	var log page
	r.start(t, r.options(), []func(*signal.Options){logged(&log), func(o *signal.Options) { o.StopWithin = 10 * time.Millisecond }})
	log.await(t, "a signal-cli that an earlier parley started still runs and does not end")
	noError(t, lock.Close())
	r.runs(t, 0)
}

// F9. signal-cli would confirm to the service what it cannot write down.
func TestOnAFullDiskNothingIsConfirmedAndItGoesOnByItself(t *testing.T) {
	t.Parallel()
	diskstest.Run(t, func(t *testing.T, mount func(int) *diskstest.Disk) {
		r := newRig(t)
		small := mount(8 << 20)
		noError(t, os.Symlink(small.Dir, filepath.Join(r.dir, "state")))
		got := take(t, r.open(t), nil)
		r.say(t, sim.Chat{}, ann, "one", sim.SayOptions{})
		got.next()
		noError(t, r.AwaitAcknowledged(t.Context(), 1))
		// A line may be taken before the daemon says that it wrote it down.
		r.await(t, "it is confirmed", func(b sim.Book) bool { return b.Totals.Acked == 1 })
		small.Fill()
		r.seen.await(t, "the channel is down", func(w *watched) bool { return !w.up })
		r.await(t, "signal-cli has ended", func(b sim.Book) bool {
			return !slices.ContainsFunc(b.Daemons, func(d sim.DaemonEntry) bool { return d.Ended.IsZero() })
		})
		r.say(t, sim.Chat{}, ann, "two", sim.SayOptions{})
		if b := r.Books(); b.Totals.Acked != 1 || b.Pending[number] != 1 {
			t.Errorf("it was confirmed: %+v", b.Totals)
		}
		small.Free()
		if m := got.next(); m.Text != "two" {
			t.Errorf("then came %+v", m)
		}
		noError(t, r.AwaitAcknowledged(t.Context(), 2))
	})
}
