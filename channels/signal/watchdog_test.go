package signal_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/signal"
	sim "parley/simulators/signal"
)

// G26.
func TestADaemonThatHangsIsNoticedAndReplaced(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]func(r *fixture) error{
		"by itself":   func(r *fixture) error { _, err := r.Hang(number); return err },
		"from a call": func(r *fixture) error { return r.Plan(sim.Fault{Trouble: sim.Hung, Method: "version", Next: 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			got := take(t, r.open(t, func(o *signal.Options) { o.Health = 150 * time.Millisecond }), nil)
			r.seen.await(t, "it is up", func(w *watched) bool { return w.up })
			noError(t, hang(r))
			r.seen.await(t, "it is down, and again up", func(w *watched) bool { return w.up && w.again > 0 })
			r.say(t, sim.Chat{}, ann, "to the next one", sim.SayOptions{})
			if m := got.next(); m.Text != "to the next one" {
				t.Errorf("came %+v", m)
			}
			r.await(t, "the first has ended", func(b sim.Book) bool { return !b.Daemons[0].Ended.IsZero() })
		})
	}
}

func TestADaemonThatDiesAtOnceIsReportedAndPausedFor(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	synctest.Test(t, func(t *testing.T) {
		seen := &watched{}
		var log page
		o := signal.Options{Common: channels.Common{Name: "sig", Observer: seen, Jitter: func() float64 { return 1 }}, Account: number, Command: []string{"/bin/false"}, Dir: dir}
		logged(&log)(&o)
		ch, err := signal.New(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		ch.Run(ctx)
		// 7 times within about a minute, and then each minute.
		lives := strings.Count(log.String(), "restarting it")
		if lives < 60 || lives > 70 || seen.downs < lives || seen.ups != 0 || seen.events != 0 {
			t.Errorf("in an hour it was started %d times, and reported down %d times and up %d times", lives, seen.downs, seen.ups)
		}
		left, err := filepath.Glob(filepath.Join(dir, "journal-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("%d files are left of daemons that wrote nothing, %v", len(left), err)
		}
		log.await(t, "signal-cli ended: exit status 1")
	})
}
