package signal_test

import (
	"testing"

	"parley/channels"
	"parley/channels/signal"
	sim "parley/simulators/signal"
)

// firstday G1. A signal-cli that would confirm what it cannot read confirms nothing:
// what people write waits at Signal until a newer one runs.
func TestASignalCLIThatLosesMessagesIsRefusedAndNothingIsLost(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]string{"0.13": sim.Version013, "0.14.4.1": sim.Version0144} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(o *sim.Options) { o.Version = version })
			var log page
			got := take(t, r.start(t, r.options(), []func(*signal.Options){logged(&log)}), nil)
			r.say(t, sim.Chat{}, ann, "hello", sim.SayOptions{})
			log.await(t, "signal-cli "+version+" is too old")
			log.await(t, "0.14.5")
			r.seen.await(t, "the channel is down", func(w *watched) bool { return !w.up && w.downs > 0 })
			if b := r.Books(); b.Totals.Acked != 0 || r.seen.ups != 0 {
				t.Errorf("it was confirmed to Signal: %+v, and the channel was up %d times", b.Totals, r.seen.ups)
			}
			// The operator installs another one, which the next start finds.
			noError(t, r.SetVersion(sim.Version014))
			if m := got.next(); m.Kind != channels.Said || m.Text != "hello" {
				t.Errorf("came %+v", m)
			}
		})
	}
}

// firstday G1.
func TestAnAttachedSignalCLIThatLosesMessagesIsNotListenedTo(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"http", "unix"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			a := newAttached(t, by, func(o *sim.Options) { o.Version = sim.Version0144 })
			var log page
			take(t, a.start(t, a.options(), []func(*signal.Options){logged(&log)}), nil)
			a.say(t, sim.Chat{}, ann, "hello", sim.SayOptions{})
			log.await(t, "signal-cli 0.14.4.1 is too old")
			log.await(t, "0.14.5")
			if b := a.Books(); b.Totals.Acked != 0 || a.seen.ups != 0 {
				t.Errorf("it was confirmed to Signal: %+v, and the channel was up %d times", b.Totals, a.seen.ups)
			}
		})
	}
}
