package faulttest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/gateway/faulttest"
)

// steady is a load that goes on for long enough to have servers come and go in it.
func steady() faulttest.Shape {
	if faulttest.IsLong() {
		return faulttest.Shape{}
	}
	return faulttest.Shape{Conversations: 16, Messages: 14, Fastest: 200 * time.Millisecond, Slowest: 1200 * time.Millisecond}
}

// The servers of the message log end and come back one after another, as in a
// rolling update, and then the one that leads the inbound stream is killed. (F7)
func TestServersOfTheLogComeAndGoUnderLoad(t *testing.T) {
	t.Parallel()
	faulttest.SkipUnlessLong(t, "TestSeveralProcessesAnswerAsOne (gateway) and TestALeaderThatIsKilledCostsTimeAndNothingElse (broker) kill servers of the log")
	run := faulttest.Open(t, faulttest.Options{Engine: faulttest.Cluster(), Shape: steady()})
	nodes := run.Base.Nodes
	run.Start()
	rounds := faulttest.ScaledSize(10)
	run.Pace.SetRounds(rounds * 2 * (nodes.Len() + 1))
	run.Drive(func(ctx context.Context) {
		for round := range rounds {
			for i := range nodes.Len() + 1 {
				if !run.AwaitSent(ctx, 5) {
					t.Errorf("the load was over in round %d, after %d servers", round, i)
					return
				}
				down := i
				if i < nodes.Len() {
					run.NoteFaultAll("server of the log ended")
					nodes.Stop(down)
				} else {
					down = nodes.Leader("INBOUND")
					run.NoteFaultAll("leader of the inbound stream killed")
					nodes.Kill(down)
				}
				run.AwaitSent(ctx, 10) // two of three go on
				run.NoteFaultAll("server of the log is back")
				nodes.Restart(down)
				nodes.AwaitHealthy()
			}
		}
	})
	paused(t, run.Finish())
}

// One process can reach neither the log nor Redis for longer than its leases
// last, while Telegram and the model still answer it. Its conversations go on
// elsewhere; what it held back, and what comes through late when the way is free
// again, changes nothing. (F7)
func TestAPartedProcessIsTakenOverFromAndChangesNothing(t *testing.T) {
	t.Parallel()
	const lease = 10 * time.Second
	run := faulttest.Open(t, faulttest.Options{
		Engine: faulttest.Cluster(), Shape: steady(), Lease: lease,
	})
	run.Start()
	parts := max(faulttest.ScaledSize(20), 2)
	run.Pace.SetRounds(parts)
	run.Drive(func(ctx context.Context) {
		for n := range parts {
			if !run.AwaitSent(ctx, 10) {
				t.Errorf("the load was over after %d of %d times", n, parts)
				return
			}
			i := run.LastAtWork() // on a busy machine one process may have all there is to do
			run.NoteFault(i, "parted")
			for _, line := range run.Base.Links[i].All() {
				if n%2 == 0 {
					line.HalfOpen() // what is written meanwhile comes through late
				} else {
					line.Cut()
				}
			}
			last(ctx, 3*lease/2)
			// Its conversations are taken over when something is said in them.
			for !run.HasSuccessor(run.Process(i).Incarnation) && ctx.Err() == nil {
				run.Pace.SayMore(4)
				last(ctx, time.Second)
			}
			// Until here it may have sent what it could not note.
			run.NoteFault(i, "parted no more")
			for _, line := range run.Base.Links[i].All() {
				line.Mend()
			}
		}
	})
	report := run.Finish()
	paused(t, report)
	refused := 0
	for _, text := range logs(t, run) {
		refused += strings.Count(text, "session taken over by another worker")
	}
	t.Logf("%d calls were made again elsewhere; %d turns ended because a late write was refused", report.Extra, refused)
	if report.Extra == 0 {
		t.Error("no call was made again, so nothing was taken over from a worker at work")
	}
}

// paused shows how long people waited, and wants nobody to be put off with words.
func paused(t *testing.T, report *faulttest.Report) {
	t.Helper()
	t.Logf("nobody was answered for %s at most, one question waited %s", report.Pause.Round(10*time.Millisecond), report.Waited.Round(10*time.Millisecond))
	if report.Told > 0 {
		t.Errorf("%d questions were only told of", report.Told)
	}
}

// last lets a fault last for d.
func last(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// logs is what the processes of all lives said.
func logs(t *testing.T, run *faulttest.Run) (all []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(run.Dir, "process-*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(b))
	}
	return all
}
