package faulttest_test

import (
	"context"
	"testing"
	"time"

	"parley/gateway/faulttest"
)

// The clock is set forward and back by an hour and by a day, over midnight, and
// jumps as after a sleep, while everybody talks: longer than leases, time-outs and
// waits last. No turn ends early, none waits for ever, and nothing is paid, done or
// said twice. (F16)
func TestAClockThatJumpsEndsNothingAndHoldsUpNothing(t *testing.T) {
	t.Parallel()
	faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
		shape := fewer()
		if !faulttest.IsLong() {
			shape.Messages = 15
		}
		run := faulttest.Open(t, faulttest.Options{
			Engine: e, Shape: shape, Clock: true,
			// Limits that are counted, and far from reached.
			Config: map[string]string{"limits": "{person_per_minute: 6000, person_burst: 600, group_per_minute: 6000, queue: 1000}"},
		})
		midnight := time.Until(time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour))
		jumps := []time.Duration{time.Hour, 0, -time.Hour, -24 * time.Hour, 0, midnight, 20 * time.Minute, -24 * time.Hour, 8 * 24 * time.Hour, 0}
		run.Pace.SetRounds(faulttest.ScaledSize(10) * len(jumps))
		run.Start()
		run.Drive(func(ctx context.Context) {
			for round := range faulttest.ScaledSize(10) {
				for i, off := range jumps {
					if !run.AwaitSent(ctx, 8) {
						if round == 0 && i < len(jumps)-1 {
							t.Errorf("the load ended after %d jumps", i)
						}
						return
					}
					run.SetClock(off)
				}
			}
		})
		report := run.Finish()
		if report.Repeats > 0 || report.Told > 0 || report.Extra != 0 {
			t.Errorf("%d repeats, %d told, %d extra calls", report.Repeats, report.Told, report.Extra)
		}
	})
}
