package faulttest_test

import (
	"testing"
	"time"

	"parley/gateway/faulttest"
)

// A process is killed while a model's answer streams, each time at another
// piece, while the load goes on and conversations are summarised. (F1)
func TestKilledInTheMiddleOfAnAnswerItIsAskedForAgainAndGivenOnce(t *testing.T) {
	t.Parallel()
	faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
		run := faulttest.Open(t, faulttest.Options{Engine: e, Shape: faulttest.Shape{}.Compacting()})
		kills := faulttest.ScaledSize(100)
		limit := 200
		if faulttest.IsLong() { // five times as many answers stream at a time
			limit = 800
		}
		shape := run.Workload.Shape
		limit *= shape.Words / faulttest.DefaultWords // each of so many more pieces
		run.Plans.KillAt(kills, 1, limit, "agent.delta")
		if report := killed(t, run, kills); report.Summaries < shape.Conversations {
			t.Errorf("%d summaries in %d conversations: the load does not fill the window", report.Summaries, shape.Conversations)
		}
	})
}

// A process is killed before a tool's effect, which is noted to have begun, and
// after it, before its result is noted. No call runs twice, and the model is told
// that the outcome is unknown. Every second conversation's tool is bash. (F2)
func TestKilledInTheMiddleOfAToolItsEffectIsThereOnceAtMost(t *testing.T) {
	t.Parallel()
	faulttest.SkipUnlessLong(t, "F1 and F5 kill the process, and TestATurnThatDiesAnywhereIsTakenOverWithoutPayingOrActingTwice (agent) stops at each tool's begin and effect")
	faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
		run := faulttest.Open(t, faulttest.Options{Engine: e, Shape: faulttest.Shape{Tools: 0.6, Scripts: true}.Compacting()})
		kills := faulttest.ScaledSize(100)
		run.Plans.KillAt(kills, 1, 30, "agent.tool.begun", "agent.tool.effect[edit_file]", "agent.tool.effect[bash]") // what only reads runs again
		report := killed(t, run, kills)
		if report.Unknown < report.Faults {
			t.Errorf("the model was told of %d calls with an unknown outcome; %d were cut off", report.Unknown, report.Faults)
		}
	})
}

// A process is killed when the network has accepted an answer and nothing here
// says so yet. It is sent once more, marked. Its conversations are summarised for the length of
// what people say: a long answer may stand in a preview already, and an edit is no repeat. (F3)
func TestKilledBetweenSendAndReceiptTheAnswerIsRepeatedOnceAndMarked(t *testing.T) {
	t.Parallel()
	faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
		run := faulttest.Open(t, faulttest.Options{Engine: e, Shape: faulttest.Shape{}.CompactingQuestions()})
		kills := faulttest.ScaledSize(100)
		run.Plans.KillAt(kills, 8, 20, "delivery.accepted") // not the repeat itself
		report := killed(t, run, kills)
		if report.Summaries < run.Workload.Shape.Conversations {
			t.Errorf("%d summaries in %d conversations: the load does not fill the window", report.Summaries, run.Workload.Shape.Conversations)
		}
		if report.Repeats < report.Faults {
			t.Errorf("%d answers were repeated, and %d were in doubt for certain", report.Repeats, report.Faults)
		}
	})
}

// A process is killed between the final text and the commit that ends the turn.
// Nothing was sent, so nothing is repeated. (F4)
func TestKilledBeforeTheEndOfATurnIsStoredNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	faulttest.SkipUnlessLong(t, "F1, F3 and F5 kill the process, and gateway/simtest stops it before each commit")
	faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
		run := faulttest.Open(t, faulttest.Options{Engine: e, Shape: faulttest.Shape{}.Compacting()})
		kills := faulttest.ScaledSize(100)
		run.Plans.KillAt(kills, 1, 30, "worker.finish.before")
		killed(t, run, kills)
	})
}

// Processes are killed whatever they are doing, and each message takes its time
// until it is stored, so that some are always on their way. Conversations are summarised, have
// titles and reach goals, people are asked for permission, jobs run every minute, and the chats show what turns do. (F5)
func TestKilledAtAnyMomentNothingAcceptedIsLost(t *testing.T) {
	t.Parallel()
	faulttest.RunOn(t, faulttest.Cluster(), func(t *testing.T, e faulttest.Engine) {
		shape := faulttest.Shape{Spawns: 0.2, Asks: 0.2, Jobs: 10, Titles: true, Activity: true, Goals: true}.Compacting()
		if !faulttest.IsLong() {
			shape.Conversations, shape.Messages = 10, 10 // enough for the kills, however long it takes to start again
			shape.Fastest, shape.Slowest = 50*time.Millisecond, 700*time.Millisecond
		}
		run := faulttest.Open(t, faulttest.Options{Engine: e, Shape: shape})
		kills := max(faulttest.ScaledSize(25), 3)
		run.Plans.Always("intake.publish.before=delay:50ms")
		run.Start()
		run.Drive(run.KillRandomly(kills, 30))
		run.AwaitJobs()
		run.EndJobs()
		for i := range run.Processes() { // what operators are shown afterwards survives that, too
			run.Kill(i)
		}
		run.Await("all processes to be there again", run.IsUp)
		report := run.Finish()
		if report.Faults != kills+run.Processes() || report.Told > 0 {
			t.Errorf("%d kills, not %d; %d questions were only told of", report.Faults, kills, report.Told)
		}
		if faulttest.IsLong() && report.Runs == 0 { // else it may be over within a minute
			t.Error("no job has run")
		}
		if report.Summaries < len(run.Workload.Conversations) || report.Goals == 0 || report.Shown == 0 {
			t.Errorf("%d summaries, %d goals, and %d times it was shown what a turn does: too little to go wrong", report.Summaries, report.Goals, report.Shown)
		}
	})
}

// A process is killed when a summary is there and not stored, and when it is stored and the
// turn has not gone on. It is asked for again, or used; no conversation loses what it was said.
// (F1 to F4 with compaction in the load)
func TestKilledAroundASummaryTheConversationGoesOn(t *testing.T) {
	t.Parallel()
	faulttest.SkipUnlessLong(t, "F1 kills the process while conversations are summarised, and TestACompactionThatDiesAnywhereIsPaidOnce (agent) stops at each commit of one")
	faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
		run := faulttest.Open(t, faulttest.Options{Engine: e, Shape: faulttest.Shape{Tools: 0.2}.Compacting()})
		kills := faulttest.ScaledSize(60)
		run.Plans.KillAt(kills, 1, 6, "agent.summary.answered", "agent.summary.settled")
		if report := killed(t, run, kills); report.Summaries < kills/2 {
			t.Errorf("%d summaries, and %d kills around them", report.Summaries, kills)
		}
	})
}

// Each named point of the code, in turn. (F1 to F5)
func TestKilledAtEveryPointNothingIsLostAndNothingTwice(t *testing.T) {
	t.Parallel()
	faulttest.SkipUnlessLong(t, "F5 kills processes of a cluster at any moment")
	points := []string{
		"intake.publish.before", "intake.publish.after", "worker.touch.after", "worker.open.before", "worker.open.after",
		"agent.reserve.after", "agent.settle.before", "agent.settle.after", "agent.tool.begun", "agent.tool.effect",
		"subagents.open.after", "subagents.ended", "worker.decided", "worker.permission.before", "worker.permission.after",
		"worker.finish.before", "worker.finish.after",
		"delivery.marked", "delivery.accepted", "delivery.receipt.after",
	}
	faulttest.RunOn(t, faulttest.Cluster(), func(t *testing.T, e faulttest.Engine) {
		shape := faulttest.Shape{Tools: 0.4, Spawns: 0.2, Asks: 0.2, Titles: true, Activity: true, Goals: true}.Compacting()
		if !faulttest.IsLong() {
			shape.Messages = 10 // there are many points to come to
		}
		run := faulttest.Open(t, faulttest.Options{Engine: e, Shape: shape})
		kills := len(points)
		if faulttest.IsLong() {
			kills *= 6
		}
		// A title is looked for in the first turns only.
		titles := []string{"worker.title.asking", "worker.title.reserved", "worker.title.answered", "worker.title.settled"}
		run.Plans.KillAt(len(titles), 1, 3, titles...)
		// Some points come once in ten messages of a process: with more hits before each kill the
		// load may be over first.
		run.Plans.KillAt(kills, 1, 8, points...)
		killed(t, run, len(titles)+kills)
	})
}

// killed runs the load through the kills that are planned.
func killed(t *testing.T, run *faulttest.Run, kills int) *faulttest.Report {
	t.Helper()
	run.Start()
	run.Drive()
	report := run.Finish()
	// Of several processes one may wait to the end at a point to which only
	// another comes: one at a time receives.
	if report.Faults <= kills-run.Processes() {
		t.Errorf("%d kills, not %d: the load was over before", report.Faults, kills)
	}
	if report.Told > 0 {
		t.Errorf("%d questions were only told of", report.Told)
	}
	return report
}
