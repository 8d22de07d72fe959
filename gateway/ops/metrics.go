package ops

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"parley/channels"
)

var _ channels.Observer = (*Metrics)(nil)

// Metrics counts what happens. All methods may be called concurrently and none
// blocks. Money is not counted here: it is read from the ledger's totals, see
// [Costs]; and what the store and the log know better is read from them, see
// [Shared]. docs/metrics.md lists every metric.
type Metrics struct {
	registry  *prometheus.Registry
	channels  map[string]bool
	tools     map[string]bool
	admitting sync.Mutex // held while other models are let in
	known     atomic.Pointer[knownModels]
	hash      hasher   // of sessions, in exemplars
	recent    recorder // for who asks, see Recent

	received, ignored, deduplicated, deadLettered                       *prometheus.CounterVec
	attached, sent, sendRetries, reconnects, turns                      *prometheus.CounterVec
	requests, errors, retries, tokens, unpriced, overruns               *prometheus.CounterVec
	jobRuns, fallbacks, spans                                           *prometheus.CounterVec
	circuits                                                            *prometheus.GaugeVec
	toolCalls, overflows, compactions, goals, approvals, access, erased *prometheus.CounterVec
	lost, ledgerErrors, tokensBefore, tokensAfter                       prometheus.Counter
	workersEnded, takenOver                                             prometheus.Counter
	windows, up, lastEvent, inFlight, waiting                           *prometheus.GaugeVec
	priceTable, compactedBefore, compactedAfter                         prometheus.Gauge
	compactedAt                                                         prometheus.Gauge
	sendTook, queueWait, turnTook, firstReply                           *prometheus.HistogramVec
	turnCost, callTook, firstToken, toolTook                            *prometheus.HistogramVec
	reserved                                                            prometheus.Observer
	limits                                                              limits
}

// NewMetrics makes them, all label sets started at zero.
func NewMetrics(s LabelSets) *Metrics {
	s = s.withCaps()
	m := &Metrics{
		registry: prometheus.NewRegistry(), hash: newHasher(),
		channels: map[string]bool{}, tools: map[string]bool{},
	}
	m.known.Store(&knownModels{models: map[ModelName]bool{}, providers: map[string]*atomic.Bool{}})
	f := factory{m.registry}
	counter, gauge, histogram := f.counter, f.gauge, f.histogram
	m.limits = newLimits(f, s.Depth)

	m.received = counter("messages_received_total", "Messages received, before deduplication.", "channel", "chat")
	m.ignored = counter("messages_ignored_total", "Received messages not answered.", "channel", "reason")
	m.deduplicated = counter("messages_deduplicated_total", "Received messages dropped as duplicates.", "channel", "reason")
	m.deadLettered = counter("messages_dead_lettered_total", "Received messages given up and kept as dead letters.", "channel", "reason")
	m.lost = counter("messages_lost_total", "Accepted messages that the log does not have any more; anything above 0 means damage.").WithLabelValues()
	m.workersEnded = counter("workers_ended_total", "Other workers whose process has ended without a word, as this one was the first to notice.").WithLabelValues()
	m.takenOver = counter("conversations_taken_over_total", "Conversations with work that those left, and that were taken over before their lease ended.").WithLabelValues()
	m.attached = counter("attachments_total", "Files that came with messages, by what became of them.", "channel", "outcome")
	m.sent = counter("messages_sent_total", "Messages sent by final outcome; ambiguous: the platform may or may not have delivered it.", "channel", "outcome")
	m.sendRetries = counter("message_send_retries_total", "Send attempts after the first.", "channel", "reason")
	m.sendTook = histogram("message_send_duration_seconds", "Time to send one message, retries included.", stepBuckets, "channel")
	m.up = gauge("channel_up", "1 if connected.", "channel")
	m.reconnects = counter("channel_reconnects_total", "Connections re-established.", "channel")
	m.lastEvent = gauge("channel_last_event_timestamp_seconds", "Unix time of the last event.", "channel")
	m.queueWait = histogram("queue_wait_seconds", "From receipt to start of the turn.", stepBuckets, "channel")
	m.turns = counter("turns_total", "Turns finished.", "channel", "chat", "outcome")
	m.inFlight = gauge("turns_in_flight", "Turns being processed.", "channel")
	m.waiting = gauge("turns_waiting_for_person", "Turns that wait until other turns of the same person have ended.", "channel")
	m.turnTook = histogram("turn_duration_seconds", "From start of the turn to its end; sending the reply is not included.", secondsBuckets, "channel", "chat")
	m.firstReply = histogram("turn_first_reply_seconds", "From receipt to the first reply the user can see.", secondsBuckets, "channel", "chat")
	m.turnCost = histogram("turn_cost_usd", "Cost of a whole turn, sub-agents included; calls without a known price are not, and after a takeover calls of the earlier process only where a budget holds for one turn.", dollarBuckets, "channel", "chat")
	m.requests = counter("llm_requests_total", "Requests, each attempt counted; cancelled: parley gave it up itself, as after /stop.", "provider", "model", "agent_kind", "outcome")
	m.errors = counter("llm_errors_total", "Failed requests.", "provider", "model", "error_type")
	m.fallbacks = counter("llm_fallbacks_total", "Turns that went on with another model, because the model failed or is not called.", "provider", "model", "to_provider", "to_model")
	m.circuits = gauge("llm_circuit_state", "Whether the model is called: 0 it is, 1 one call tries whether it works again, 2 it is not, after failures in a row.", "provider", "model")
	m.retries = counter("llm_retries_total", "Requests after the first attempt.", "provider", "model", "reason")
	m.callTook = histogram("llm_request_duration_seconds", "Until the last byte.", secondsBuckets, "provider", "model")
	m.firstToken = histogram("llm_time_to_first_token_seconds", "From sending a streamed request to its first content token.", secondsBuckets, "provider", "model")
	m.tokens = counter("llm_tokens_total", "Billed tokens; kinds are disjoint, their sum is the total.", "provider", "model", "agent_kind", "kind")
	m.unpriced = counter("llm_unpriced_requests_total", "Requests whose cost is understated or estimated.", "provider", "model", "reason")
	m.overruns = counter("llm_overrun_usd_total", "Cost above what was reserved before the request: the provider did not keep to max_tokens.", "provider", "model")
	m.reserved = histogram("llm_reserved_to_spent_ratio", "How many times what a priced call of a model has cost was set aside for it; the goal is a median of at most 1.15.", ratioBuckets).WithLabelValues()
	m.priceTable = gauge("llm_price_table_timestamp_seconds", "Unix time of the newest price entry.").WithLabelValues()
	m.windows = gauge("llm_context_window_tokens", "Tokens that a request to the model and its answer may have together, as the agents are configured; the smallest where they differ, 0 where no agent uses it.", "provider", "model")
	m.compactions = counter("compactions_total", "Conversations made shorter for the model, by how; summary: a model was asked, trim: results of tools were cut.", "kind", "trigger", "outcome")
	m.tokensBefore = counter("compaction_tokens_before_total", "Estimated tokens of the next request before each successful compaction, summed.").WithLabelValues()
	m.tokensAfter = counter("compaction_tokens_after_total", "The same after it.").WithLabelValues()
	m.compactedBefore = gauge("compaction_last_tokens_before", "Tokens before the last summary of this process; 0: there was none.").WithLabelValues()
	m.compactedAfter = gauge("compaction_last_tokens_after", "Tokens after the last summary of this process.").WithLabelValues()
	m.compactedAt = gauge("compaction_last_timestamp_seconds", "Unix time of the last summary of this process; 0: there was none.").WithLabelValues()
	m.jobRuns = counter("cron_runs_total", "Slots of scheduled jobs, by what became of them.", "outcome")
	m.approvals = counter("approvals_total", "Requests for permission that people decided.", "decision")
	m.access = counter("access_changes_total", "Codes given to strangers who ask to be let in (asked), and decisions about people that are not in the configuration.", "change")
	m.erased = counter("sessions_deleted_total", "Sessions whose content was deleted, by why: an operator named them, nobody went on with them for long, or a person was forgotten.", "reason")
	m.goals = counter("goals_completed_total", "Goals of conversations that were reached, as the agent (phrase) or a person (command) said.", "how")
	m.toolCalls = counter("tool_calls_total", "Tool calls.", "tool", "agent_kind", "outcome")
	m.toolTook = histogram("tool_call_duration_seconds", "Duration of tool calls.", secondsBuckets, "tool")
	m.spans = counter("trace_spans_total", "Spans of traces, by what became of them: exported, or why they were dropped.", "outcome")
	m.ledgerErrors = counter("ledger_write_errors_total", "Usage records not written at once.").WithLabelValues()
	m.overflows = counter("label_overflows_total", "Values replaced by other.", "label")
	info := gauge("build_info", "Always 1.", "version", "revision", "goversion")
	info.WithLabelValues(s.Version, revision(), runtime.Version()).Set(1)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.startAtZero(s)
	return m
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
