package ops

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxDepth is how many levels of sub-agents have a label value of their own.
const MaxDepth = 5

// Why a sub-agent is not started: label values of SubagentDenied.
const (
	DeniedDepth       = "depth"
	DeniedFanout      = "fanout"
	DeniedConcurrency = "concurrency"
	DeniedBudget      = "budget"
	DeniedPolicy      = "policy"
)

// What a budget did to the work: label values of BudgetDenied.
const (
	BudgetRefused = "refused"
	BudgetStopped = "stopped"
)

var (
	denials      = []string{DeniedDepth, DeniedFanout, DeniedConcurrency, DeniedBudget, DeniedPolicy}
	budgetScopes = []string{"global", "channel", "peer", "session", "turn"}
	budgetEnds   = []string{BudgetRefused, BudgetStopped}
)

// limits counts what limits did, and the sub-agents they are for.
type limits struct {
	spawns, spawnsDenied, budgetDenials *prometheus.CounterVec
	running                             *prometheus.GaugeVec
	reloadOK, reloadAt                  prometheus.Gauge
	depth                               atomic.Int64 // the deepest that has series of its own
}

func newLimits(f factory, depth int) *limits {
	l := &limits{}
	l.spawns = f.counter("subagent_spawns_total", "Sub-agents started.", "depth")
	l.spawnsDenied = f.counter("subagent_spawns_denied_total", "Starts refused.", "reason")
	l.running = f.gauge("subagents_active", "Sub-agents running.", "depth")
	l.budgetDenials = f.counter("budget_denials_total", "Work refused or cut short.", "scope", "action")
	l.reloadOK = f.gauge("config_last_reload_successful", "1 if the last reload of the configuration succeeded.").WithLabelValues()
	l.reloadAt = f.gauge("config_last_reload_success_timestamp_seconds", "Unix time of the last successful reload of the configuration.").WithLabelValues()
	l.admitDepth(depth)
	for _, r := range denials {
		l.spawnsDenied.WithLabelValues(r)
	}
	for _, s := range budgetScopes {
		for _, a := range budgetEnds {
			l.budgetDenials.WithLabelValues(s, a)
		}
	}
	return l
}

// admitDepth gives sub-agents down to a depth series of their own; 0: down to MaxDepth.
func (l *limits) admitDepth(depth int) {
	if depth == 0 {
		depth = MaxDepth
	}
	for d := int(l.depth.Load()) + 1; d <= min(max(depth, 1), MaxDepth); d++ {
		l.spawns.WithLabelValues(strconv.Itoa(d))
		l.running.WithLabelValues(strconv.Itoa(d))
		l.depth.Store(int64(d))
	}
}

// depthLabel is depth as a label value; what is deeper than any limit allows is
// counted at the deepest.
func (l *limits) depthLabel(depth int) string {
	return strconv.Itoa(min(max(depth, 1), int(l.depth.Load())))
}

// SubagentSpawned counts a sub-agent that was started. A child of the
// conversation has depth 1.
func (l *limits) SubagentSpawned(depth int) {
	l.spawns.WithLabelValues(l.depthLabel(depth)).Inc()
}

// SubagentDenied counts a start that was refused, by one of the Denied reasons.
func (l *limits) SubagentDenied(reason string) { l.spawnsDenied.WithLabelValues(reason).Inc() }

// SubagentRunning adds delta to the sub-agents that run now.
func (l *limits) SubagentRunning(depth, delta int) {
	l.running.WithLabelValues(l.depthLabel(depth)).Add(float64(delta))
}

// BudgetDenied counts work that a budget did not allow: scope is global,
// channel, peer, session or turn, action BudgetRefused (before it began) or
// BudgetStopped (cut short).
func (l *limits) BudgetDenied(scope, action string) {
	l.budgetDenials.WithLabelValues(scope, action).Inc()
}

// CountReload notes that the configuration, or a file that it names, was read
// again at a time. The start is the first success.
func (l *limits) CountReload(ok bool, at time.Time) {
	v := 0.0
	if ok {
		v = 1
		l.reloadAt.Set(float64(at.UnixMilli()) / 1000)
	}
	l.reloadOK.Set(v)
}
