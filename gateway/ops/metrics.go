package ops

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"parley/agent/pressure"
	"parley/channels"
	"parley/gateway/outcomes"
	"parley/transcript"
)

var _ channels.Observer = (*Metrics)(nil)

// Metrics counts what happens. All methods may be called concurrently and none
// blocks. Money is not counted here: it is read from the ledger's totals, see
// [Costs]; and what the store and the log know better is read from them, see
// [Shared]. docs/metrics.md lists every metric.
type Metrics struct {
	*traffic
	*turns
	*calls
	*limits
	registry  *prometheus.Registry
	channels  channelSet
	admitting sync.Mutex // held while other models are let in
	recent    *recorder  // for who asks, see Recent

	jobRuns, spans, compactions, goals, approvals, access, erased *prometheus.CounterVec
	lost, ledgerErrors, tokensBefore, tokensAfter                 prometheus.Counter
	workersEnded, takenOver                                       prometheus.Counter
	compactedBefore, compactedAfter, compactedAt                  prometheus.Gauge
}

// NewMetrics makes them, all label sets started at zero.
func NewMetrics(s LabelSets) *Metrics {
	s = s.withCaps()
	m := &Metrics{registry: prometheus.NewRegistry(), channels: channelSet{}, recent: &recorder{}}
	for _, c := range s.Channels {
		m.channels[c] = true
	}
	f := factory{m.registry}
	m.traffic, m.turns = newTraffic(f, m.channels), newTurns(f, m.channels, m.recent)
	m.calls, m.limits = newCalls(f, s, m.recent), newLimits(f, s.Depth)

	m.lost = f.counter("messages_lost_total", "Accepted messages that the log does not have any more; anything above 0 means damage.").WithLabelValues()
	m.workersEnded = f.counter("workers_ended_total", "Other workers whose process has ended without a word, as this one was the first to notice.").WithLabelValues()
	m.takenOver = f.counter("conversations_taken_over_total", "Conversations with work that those left, and that were taken over before their lease ended.").WithLabelValues()
	m.compactions = f.counter("compactions_total", "Conversations made shorter for the model, by how; summary: a model was asked, trim: results of tools were cut.", "kind", "trigger", "outcome")
	m.tokensBefore = f.counter("compaction_tokens_before_total", "Estimated tokens of the next request before each successful compaction, summed.").WithLabelValues()
	m.tokensAfter = f.counter("compaction_tokens_after_total", "The same after it.").WithLabelValues()
	m.compactedBefore = f.gauge("compaction_last_tokens_before", "Tokens before the last summary of this process; 0: there was none.").WithLabelValues()
	m.compactedAfter = f.gauge("compaction_last_tokens_after", "Tokens after the last summary of this process.").WithLabelValues()
	m.compactedAt = f.gauge("compaction_last_timestamp_seconds", "Unix time of the last summary of this process; 0: there was none.").WithLabelValues()
	m.jobRuns = f.counter("cron_runs_total", "Slots of scheduled jobs, by what became of them.", "outcome")
	m.approvals = f.counter("approvals_total", "Requests for permission that people decided.", "decision")
	m.access = f.counter("access_changes_total", "Codes given to strangers who ask to be let in (asked), and decisions about people that are not in the configuration.", "change")
	m.erased = f.counter("sessions_deleted_total", "Sessions whose content was deleted, by why: an operator named them, nobody went on with them for long, or a person was forgotten.", "reason")
	m.goals = f.counter("goals_completed_total", "Goals of conversations that were reached, as the agent (phrase) or a person (command) said.", "how")
	m.spans = f.counter("trace_spans_total", "Spans of traces, by what became of them: exported, or why they were dropped.", "outcome")
	m.ledgerErrors = f.counter("ledger_write_errors_total", "Usage records not written at once.").WithLabelValues()
	info := f.gauge("build_info", "Always 1.", "version", "revision", "goversion")
	info.WithLabelValues(s.Version, revision(), runtime.Version()).Set(1)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.startAtZero()
	return m
}

func (m *Metrics) startAtZero() {
	for _, trigger := range []string{pressure.TriggerAuto, pressure.TriggerOverflow, pressure.TriggerManual} {
		m.compactions.WithLabelValues(string(transcript.Summarised), trigger, "ok")
		m.compactions.WithLabelValues(string(transcript.Summarised), trigger, "error")
	}
	for _, outcome := range outcomes.JobSlots() {
		m.jobRuns.WithLabelValues(outcome)
	}
	for _, outcome := range outcomes.Spans() {
		m.spans.WithLabelValues(outcome)
	}
	m.approvals.WithLabelValues("approved")
	m.approvals.WithLabelValues("denied")
	for _, change := range []string{"asked", "allowed", "denied", "revoked"} {
		m.access.WithLabelValues(change)
	}
	for _, why := range []string{"operator", "retention", "forget"} {
		m.erased.WithLabelValues(why)
	}
	m.goals.WithLabelValues("phrase")
	m.goals.WithLabelValues("command")
	m.compactions.WithLabelValues(string(transcript.Trimmed), pressure.TriggerAuto, "ok")
	m.compactions.WithLabelValues(string(transcript.Trimmed), pressure.TriggerOverflow, "ok")
}

// Admit gives the models of s series of their own, as long as there is room for them, and
// notes their windows; the depth of sub-agents may become greater. What had series keeps
// them: a counter that goes away and comes back would count twice. So however often an
// operator changes models, there are at most MaxModels; further ones are counted as Other
// until the next start.
func (m *Metrics) Admit(s LabelSets) {
	m.admitting.Lock()
	defer m.admitting.Unlock()
	m.admit(s)
	m.admitDepth(s.Depth)
}

// CountLost counts accepted messages that are gone.
func (m *Metrics) CountLost(n int) {
	m.lost.Add(float64(n))
	m.recent.recordLost(n)
}

// WorkerEnded counts another worker whose process has ended, and the conversations with
// work that it left.
func (m *Metrics) WorkerEnded(conversations int) {
	m.workersEnded.Inc()
	m.takenOver.Add(float64(conversations))
}

// LedgerWriteFailed counts a booking that has to be repeated.
func (m *Metrics) LedgerWriteFailed() {
	m.ledgerErrors.Inc()
	m.recent.recordLedgerError()
}

// CountJobRuns implements schedule.Observer.
func (m *Metrics) CountJobRuns(outcome string, n int) {
	m.jobRuns.WithLabelValues(outcome).Add(float64(n))
}

// CountSpans implements tracing.Observer.
func (m *Metrics) CountSpans(outcome string, n int) { m.spans.WithLabelValues(outcome).Add(float64(n)) }

// AccessChanged counts a change to who may talk to the bot that is not one of the configuration.
func (m *Metrics) AccessChanged(change string) { m.access.WithLabelValues(change).Inc() }

// SessionErased counts a session whose content was deleted.
func (m *Metrics) SessionErased(why string) { m.erased.WithLabelValues(why).Inc() }

// ApprovalDecided counts a request for permission that a person decided.
func (m *Metrics) ApprovalDecided(decision string) { m.approvals.WithLabelValues(decision).Inc() }

// GoalCompleted counts a goal that was reached.
func (m *Metrics) GoalCompleted(how string) { m.goals.WithLabelValues(how).Inc() }

// Compacted counts an overlay of a history.
func (m *Metrics) Compacted(o transcript.Overlay, at time.Time) {
	kind, outcome := string(transcript.Summarised), "ok"
	switch o.Kind {
	case transcript.Trimmed:
		kind = string(transcript.Trimmed)
	case transcript.NoSummary:
		outcome = "error"
	case transcript.Summarised:
		m.compactedBefore.Set(float64(o.Before))
		m.compactedAfter.Set(float64(o.After))
		m.compactedAt.Set(float64(at.UnixMilli()) / 1000)
	default:
		return
	}
	m.compactions.WithLabelValues(kind, o.Trigger, outcome).Inc()
	if outcome == "ok" {
		m.tokensBefore.Add(float64(o.Before))
		m.tokensAfter.Add(float64(o.After))
	}
}

// Handler serves the metrics, money included once Costs was registered.
// Scrapers that come at the same time share one reading.
func (m *Metrics) Handler() http.Handler {
	return promhttp.InstrumentMetricHandler(m.registry, promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: 4, CoalesceGather: true,
		ErrorHandling: promhttp.ContinueOnError, Registry: m.registry,
	}))
}

// Register adds a collector, such as Costs.
func (m *Metrics) Register(c prometheus.Collector) error { return m.registry.Register(c) }

// Describe names all metrics that are registered, Costs included.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) { m.registry.Describe(ch) }

// Gatherer reads the metrics, for tests.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

func revision() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}
