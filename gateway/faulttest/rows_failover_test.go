package faulttest_test

import (
	"context"
	"testing"
	"time"

	"parley/gateway/faulttest"
)

// Redis is killed and a replica takes its place that lacks what was written last.
// What was lost there and is told by the log comes back. (F8)
func TestAReplicaWithoutTheLastWritesTakesThePlaceOfRedis(t *testing.T) {
	t.Parallel()
	shape := faulttest.Shape{}
	if !faulttest.IsLong() {
		shape = faulttest.Shape{Conversations: 10, Messages: 9, Fastest: 50 * time.Millisecond, Slowest: 500 * time.Millisecond}
	}
	run := faulttest.Open(t, faulttest.Options{Engine: faulttest.Cluster(), Shape: shape})
	replica := run.Base.Redis.Replica(t)
	run.Start()
	failovers, forgotten := max(faulttest.ScaledSize(20), 2), 0
	run.Pace.SetRounds(2 * failovers)
	run.Drive(func(ctx context.Context) {
		for n := range failovers {
			if !run.AwaitSent(ctx, 5+run.Rand.IntN(10)) {
				t.Errorf("the load was over after %d of %d failovers", n, failovers)
				return
			}
			replica.CatchUp()
			replica.CutOff()
			before := run.Telegram.Totals().Sent
			run.AwaitSent(ctx, 1+run.Rand.IntN(10)) // what is noted of these is lost
			run.NoteFaultAll("redis killed")
			run.Base.Redis.Kill()
			forgotten += run.Telegram.Totals().Sent - before
			replica.Promote()
			run.Base.FailOver(replica)
			// Until here a process may have sent what it could not note.
			run.NoteFaultAll("redis failed over")
			replica = replica.Replica(t)
		}
	})
	report := run.Finish()
	paused(t, report)
	t.Logf("%d failovers forgot what was noted of %d messages; %d repeats", failovers, forgotten, report.Repeats)
	if forgotten == 0 {
		t.Error("nothing was written while the replica was cut off, so nothing was forgotten")
	}
}
