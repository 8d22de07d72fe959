package worker_test

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/gateway/outcomes"
	"parley/llm"
	"parley/transcript"
)

// counter observes all that is observed, and counts it. Its methods may be called
// concurrently.
type counter struct {
	changed chan struct{} // something was counted, or stored

	mu      sync.Mutex // guards what follows
	counts  map[string]int
	running int
	limit   int
	behind  int // turns that wait for their own person
}

func newCounter() *counter {
	return &counter{changed: make(chan struct{}, 1), counts: map[string]int{}}
}

func (o *counter) count(words ...string) {
	o.mu.Lock()
	o.counts[strings.Join(words, " ")]++
	o.mu.Unlock()
	o.poke()
}

func (o *counter) counted(what string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counts[what]
}

func (o *counter) poke() {
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

func (o *counter) CountReceived(string, bool)                   { o.count("received") }
func (o *counter) CountIgnored(_, why string)                   { o.count("ignored", why) }
func (o *counter) CountDuplicate(_, _ string)                   { o.count("deduplicated") }
func (o *counter) CountDeadLetter(_, reason string)             { o.count("dead", reason) }
func (o *counter) CountLost(int)                                { o.count("lost") }
func (o *counter) CountSent(_, outcome string, _ time.Duration) { o.count("sent", outcome) }
func (o *counter) TurnStarted(string, time.Duration)            { o.count("started") }
func (o *counter) ModelCalled(agent.CallReport)                 { o.count("called") }
func (o *counter) ApprovalDecided(decision string)              { o.count("approval", decision) }
func (o *counter) GoalCompleted(how string)                     { o.count("goal", how) }
func (o *counter) Compacted(transcript.Overlay, time.Time)      {}
func (o *counter) ModelRetried(costs.Labels, llm.Kind)          {}
func (o *counter) ModelFellBack(agent.FallbackReport)           {}
func (o *counter) ToolCalled(tool string, _ costs.Purpose, status string, _ time.Duration) {
	o.count("tool", tool, status)
}

func (o *counter) WorkerEnded(conversations int) {
	o.count("worker ended", fmt.Sprint(conversations))
}
func (o *counter) BudgetDenied(scope, action string) { o.count("budget", scope, action) }
func (o *counter) TurnEnded(t outcomes.Turn) {
	o.count("ended", string(t.Outcome))
	if t.TimedOut {
		o.count("timed out")
	}
}

func (o *counter) TurnRunning(_ string, delta int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running += delta
	o.limit = max(o.limit, o.running)
	o.poke()
}

func (o *counter) TurnWaiting(_ string, delta int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.behind += delta
	o.poke()
}

func (o *counter) SubagentSpawned(int)       { o.count("spawned") }
func (o *counter) SubagentDenied(why string) { o.count("denied", why) }
func (o *counter) SubagentRunning(_, n int)  { o.count(fmt.Sprint("children ", n)) }
