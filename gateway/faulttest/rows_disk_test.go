package faulttest_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley/disks/diskstest"
	"parley/gateway/faulttest"
)

// The disk that holds everything fills up under load, again and again. Each time
// the process says that it is not ready, and it goes on by itself once there is
// room. (F9)
func TestAFullDiskUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	diskstest.Run(t, func(t *testing.T, mount func(int) *diskstest.Disk) {
		disk := mount(128 << 20)
		shape := fewer()
		if !faulttest.IsLong() {
			shape.Messages = 15
		}
		run := faulttest.Open(t, faulttest.Options{Engine: faulttest.Embedded(), Shape: shape})
		if err := os.Symlink(disk.Dir, filepath.Join(run.Dir, "state")); err != nil {
			t.Fatal(err)
		}
		last := ""
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("readiness was last %s", last)
			}
		})
		ready := func() bool {
			is, page, err := run.Process(0).IsReady(t.Context())
			last = page
			return err == nil && is
		}
		wait := func(what string, done func() bool) {
			ctx, cancel := context.WithTimeout(t.Context(), faulttest.Patience)
			defer cancel()
			if !run.WaitUntil(ctx, done) {
				t.Errorf("the process is not %s", what)
			}
		}
		rounds := max(faulttest.ScaledSize(10), 3)
		var noticed, slowest time.Duration
		run.Pace.SetRounds(rounds)
		run.Start()
		run.Drive(func(ctx context.Context) {
			for round := range rounds {
				if !run.AwaitSent(ctx, 5) {
					t.Errorf("the load ended after %d of %d rounds", round, rounds)
					return
				}
				run.NoteFault(0, "disk full")
				disk.Fill()
				full := time.Now()
				wait("not ready", func() bool { return !ready() })
				noticed = max(noticed, time.Since(full))
				confirmed := run.Telegram.Totals().Confirmed
				run.NoteFault(0, "room again")
				disk.Free()
				free := time.Now()
				wait("ready", ready)
				wait("at work", func() bool {
					return run.Telegram.Totals().Confirmed > confirmed || run.Telegram.Books().Pending[faulttest.Username] == 0
				})
				slowest = max(slowest, time.Since(free))
			}
		})
		report := run.Finish()
		if report.Told > 0 || report.Repeats > 0 {
			t.Errorf("%d told, %d repeats", report.Told, report.Repeats)
		}
		t.Logf("%d times full; not ready %s later at most, and back %s after there was room", rounds, noticed.Round(10*time.Millisecond), slowest.Round(10*time.Millisecond))
	})
}
