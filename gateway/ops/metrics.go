package ops

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"parley/agent"
	"parley/channels"
	"parley/costs"
	"parley/gateway/delivery"
	"parley/gateway/intake"
	"parley/gateway/worker"
	"parley/llm"
	"parley/transcript"
)

var (
	_ intake.Observer   = (*Metrics)(nil)
	_ worker.Observer   = (*Metrics)(nil)
	_ delivery.Observer = (*Metrics)(nil)
	_ channels.Observer = (*Metrics)(nil)
)

// Other stands in a label for every value outside its closed set.
const Other = "other"

// ModelName is a model under the two labels that name it.
type ModelName struct{ Provider, Model string }

// Sets are the closed sets of label values, known when the gateway starts.
// Every counter of them starts at zero, because increase() over a series that
// begins at 0.5 is 0.
type Sets struct {
	Channels []string
	Models   []ModelName
	Tools    []string
	Version  string
}

var (
	secondsBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
	dollarBuckets  = []float64{.0001, .0005, .001, .005, .01, .05, .1, .25, .5, 1, 5, 10}
	chatKinds      = []string{"dm", "group"}
	purposes       = []costs.Purpose{costs.RootTurn, costs.Subagent, costs.Title, costs.Summary}
	errorTypes     = []llm.Kind{
		llm.RateLimited, llm.Overloaded, llm.Auth, llm.ContextLength, llm.InvalidRequest,
		llm.ContentFilter, llm.Timeout, llm.Network, llm.Server, llm.Other,
	}
	deadReasons = []string{"unreadable", "address", "encoding", "too_large", "attempts", "key"}
	tokenKinds  = []string{"input", "cache_read", "cache_write", "output", "reasoning"}
)

// Metrics counts what happens. All methods may be called concurrently and none
// blocks. Money is not counted here: it is read from the ledger's totals, see
// [Costs].
type Metrics struct {
	registry *prometheus.Registry
	channels map[string]bool
	models   map[ModelName]bool
	tools    map[string]bool

	received, ignored, deduplicated, deadLettered *prometheus.CounterVec
	sent, sendRetries, reconnects, turns          *prometheus.CounterVec
	requests, errors, retries, tokens, unpriced   *prometheus.CounterVec
	toolCalls, overflows                          *prometheus.CounterVec
	lost                                          prometheus.Counter
	up, lastEvent, inFlight                       *prometheus.GaugeVec
	sendTook, queueWait, turnTook, firstReply     *prometheus.HistogramVec
	turnCost, callTook, firstToken, toolTook      *prometheus.HistogramVec
}

// NewMetrics makes them, all label sets started at zero.
func NewMetrics(s Sets) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		channels: map[string]bool{}, models: map[ModelName]bool{}, tools: map[string]bool{},
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "parley", Name: name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "parley", Name: name, Help: help}, labels)
		m.registry.MustRegister(g)
		return g
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "parley", Name: name, Help: help, Buckets: buckets,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
		}, labels)
		m.registry.MustRegister(h)
		return h
	}

	m.received = counter("messages_received_total", "Messages received, before deduplication.", "channel", "chat")
	m.ignored = counter("messages_ignored_total", "Received messages not answered.", "channel", "reason")
	m.deduplicated = counter("messages_deduplicated_total", "Received messages dropped as duplicates.", "channel", "reason")
	m.deadLettered = counter("messages_dead_lettered_total", "Received messages given up and kept as dead letters.", "channel", "reason")
	m.lost = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "parley", Name: "messages_lost_total",
		Help: "Accepted messages that the log does not have any more; anything above 0 means damage.",
	})
	m.registry.MustRegister(m.lost)
	m.sent = counter("messages_sent_total", "Messages sent by final outcome; ambiguous: the platform may or may not have delivered it.", "channel", "outcome")
	m.sendRetries = counter("message_send_retries_total", "Send attempts after the first.", "channel", "reason")
	m.sendTook = histogram("message_send_duration_seconds", "Time to send one message, retries included.", secondsBuckets, "channel")
	m.up = gauge("channel_up", "1 if connected.", "channel")
	m.reconnects = counter("channel_reconnects_total", "Connections re-established.", "channel")
	m.lastEvent = gauge("channel_last_event_timestamp_seconds", "Unix time of the last event.", "channel")
	m.queueWait = histogram("queue_wait_seconds", "From receipt to start of the turn.", secondsBuckets, "channel")
	m.turns = counter("turns_total", "Turns finished.", "channel", "chat", "outcome")
	m.inFlight = gauge("turns_in_flight", "Turns being processed.", "channel")
	m.turnTook = histogram("turn_duration_seconds", "From start of the turn to its end.", secondsBuckets, "channel", "chat")
	m.firstReply = histogram("turn_first_reply_seconds", "From receipt to the first reply the user can see.", secondsBuckets, "channel", "chat")
	m.turnCost = histogram("turn_cost_usd", "Cost of a whole turn, as far as this process ran it; calls without a known price are not included.", dollarBuckets, "channel", "chat")
	m.requests = counter("llm_requests_total", "Requests, each attempt counted.", "provider", "model", "agent_kind", "outcome")
	m.errors = counter("llm_errors_total", "Failed requests.", "provider", "model", "error_type")
	m.retries = counter("llm_retries_total", "Requests after the first attempt.", "provider", "model", "reason")
	m.callTook = histogram("llm_request_duration_seconds", "Until the last byte.", secondsBuckets, "provider", "model")
	m.firstToken = histogram("llm_time_to_first_token_seconds", "From sending a streamed request to its first content token.", secondsBuckets, "provider", "model")
	m.tokens = counter("llm_tokens_total", "Billed tokens; kinds are disjoint, their sum is the total.", "provider", "model", "agent_kind", "kind")
	m.unpriced = counter("llm_unpriced_requests_total", "Requests whose cost is understated or estimated.", "provider", "model", "reason")
	m.toolCalls = counter("tool_calls_total", "Tool calls.", "tool", "agent_kind", "outcome")
	m.toolTook = histogram("tool_call_duration_seconds", "Duration of tool calls.", secondsBuckets, "tool")
	m.overflows = counter("label_overflows_total", "Values replaced by other.", "label")
	info := gauge("build_info", "Always 1.", "version", "revision", "goversion")
	info.WithLabelValues(s.Version, revision(), runtime.Version()).Set(1)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.startAtZero(s)
	return m
}

func (m *Metrics) startAtZero(s Sets) {
	for _, c := range s.Channels {
		m.channels[c] = true
		m.up.WithLabelValues(c)
		m.reconnects.WithLabelValues(c)
		m.lastEvent.WithLabelValues(c)
		m.inFlight.WithLabelValues(c)
		m.queueWait.WithLabelValues(c)
		m.sendTook.WithLabelValues(c)
		for _, k := range chatKinds {
			m.received.WithLabelValues(c, k)
			m.turnTook.WithLabelValues(c, k)
			m.firstReply.WithLabelValues(c, k)
			m.turnCost.WithLabelValues(c, k)
			for _, o := range []string{"ok", "error", "cancelled", "timeout", "budget"} {
				m.turns.WithLabelValues(c, k, o)
			}
		}
		for vec, values := range map[*prometheus.CounterVec][]string{
			m.ignored:      {intake.NotMentioned, intake.NotAllowed, intake.Unsupported, intake.TooLarge, intake.Limited},
			m.deduplicated: {"message_id", "edit", "echo"},
			m.deadLettered: deadReasons,
			m.sent:         {"ok", "rejected", "ambiguous", "dropped"},
			m.sendRetries:  {"rate_limited", "network", "server"},
		} {
			for _, v := range values {
				vec.WithLabelValues(c, v)
			}
		}
	}
	for _, n := range s.Models {
		m.models[n] = true
		m.callTook.WithLabelValues(n.Provider, n.Model)
		m.firstToken.WithLabelValues(n.Provider, n.Model)
		for _, e := range errorTypes {
			m.errors.WithLabelValues(n.Provider, n.Model, string(e))
			m.retries.WithLabelValues(n.Provider, n.Model, string(e))
		}
		for _, r := range []string{"no_price", "no_usage"} {
			m.unpriced.WithLabelValues(n.Provider, n.Model, r)
		}
		for _, p := range purposes {
			for _, o := range []string{"ok", "error"} {
				m.requests.WithLabelValues(n.Provider, n.Model, string(p), o)
			}
			for _, k := range tokenKinds {
				m.tokens.WithLabelValues(n.Provider, n.Model, string(p), k)
			}
		}
	}
	for _, t := range append([]string{Other}, s.Tools...) {
		m.tools[t] = true
		m.toolTook.WithLabelValues(t)
		for _, k := range []string{"root", "subagent"} {
			for _, o := range []string{"ok", "error", "timeout", "denied", "cancelled"} {
				m.toolCalls.WithLabelValues(t, k, o)
			}
		}
	}
	for _, r := range deadReasons { // of what names no channel
		m.deadLettered.WithLabelValues(Other, r)
	}
	for _, l := range []string{"model", "tool"} {
		m.overflows.WithLabelValues(l)
	}
}

// Handler serves the metrics, money included once Costs was registered.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: 4, ErrorHandling: promhttp.ContinueOnError,
	})
}

// Register adds a collector, such as Costs.
func (m *Metrics) Register(c prometheus.Collector) error { return m.registry.Register(c) }

// Describe names all metrics that are registered, Costs included.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) { m.registry.Describe(ch) }

// Gatherer reads the metrics, for tests.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

func chat(dm bool) string {
	if dm {
		return "dm"
	}
	return "group"
}

func (m *Metrics) model(provider, model string) (string, string) {
	if m.models[ModelName{provider, model}] {
		return provider, model
	}
	m.overflows.WithLabelValues("model").Inc()
	return Other, Other
}

// Received counts a message before anything is decided about it.
func (m *Metrics) Received(channel string, dm bool) {
	m.received.WithLabelValues(channel, chat(dm)).Inc()
}

// Ignored counts a message that is not answered.
func (m *Metrics) Ignored(channel, reason string) { m.ignored.WithLabelValues(channel, reason).Inc() }

// Deduplicated counts a message that was known.
func (m *Metrics) Deduplicated(channel, reason string) {
	m.deduplicated.WithLabelValues(channel, reason).Inc()
}

// DeadLettered counts a message that was given up.
func (m *Metrics) DeadLettered(channel, reason string) {
	if !m.channels[channel] {
		channel = Other
	}
	m.deadLettered.WithLabelValues(channel, reason).Inc()
}

// Lost counts accepted messages that are gone.
func (m *Metrics) Lost(n int) { m.lost.Add(float64(n)) }

// Up says whether a channel is connected.
func (m *Metrics) Up(channel string, up bool) {
	v := 0.0
	if up {
		v = 1
	}
	m.up.WithLabelValues(channel).Set(v)
}

// Reconnected counts a connection that came back.
func (m *Metrics) Reconnected(channel string) { m.reconnects.WithLabelValues(channel).Inc() }

// Event notes when a channel last brought something.
func (m *Metrics) Event(channel string, at time.Time) {
	m.lastEvent.WithLabelValues(channel).Set(float64(at.UnixMilli()) / 1000)
}

// SendRetried counts a send attempt after the first.
func (m *Metrics) SendRetried(channel, reason string) {
	m.sendRetries.WithLabelValues(channel, reason).Inc()
}

// Sent counts a message by its final outcome.
func (m *Metrics) Sent(channel, outcome string, took time.Duration) {
	m.sent.WithLabelValues(channel, outcome).Inc()
	if took > 0 {
		m.sendTook.WithLabelValues(channel).Observe(took.Seconds())
	}
}

// FirstReply notes when a person first saw something of an answer.
func (m *Metrics) FirstReply(channel string, dm bool, took time.Duration) {
	m.firstReply.WithLabelValues(channel, chat(dm)).Observe(took.Seconds())
}

// TurnStarted notes how long a message waited.
func (m *Metrics) TurnStarted(channel string, waited time.Duration) {
	m.queueWait.WithLabelValues(channel).Observe(max(waited, 0).Seconds())
}

// TurnRunning counts turns that run now.
func (m *Metrics) TurnRunning(channel string, delta int) {
	m.inFlight.WithLabelValues(channel).Add(float64(delta))
}

// TurnEnded counts a finished turn.
func (m *Metrics) TurnEnded(t worker.TurnReport) {
	c := chat(t.DM)
	m.turns.WithLabelValues(t.Channel, c, turnOutcome(t)).Inc()
	m.turnTook.WithLabelValues(t.Channel, c).Observe(t.Took.Seconds())
	m.turnCost.WithLabelValues(t.Channel, c).Observe(t.Cost.Dollars())
}

func turnOutcome(t worker.TurnReport) string {
	switch {
	case t.TimedOut:
		return "timeout"
	case t.Outcome == transcript.Canceled, t.Outcome == transcript.PermissionDenied:
		return "cancelled"
	case t.Outcome == transcript.Budget:
		return "budget"
	case t.Outcome == transcript.Failed, t.Outcome == transcript.ContextLimit:
		return "error"
	}
	return "ok"
}

// ModelCalled counts one attempt of a model call.
func (m *Metrics) ModelCalled(r agent.CallReport) {
	e := r.Entry
	provider, model := m.model(e.Labels.Provider, e.Labels.Model)
	purpose := string(e.Labels.Purpose)
	outcome := "ok"
	if r.Err != nil {
		outcome = "error"
		m.errors.WithLabelValues(provider, model, string(errorType(r.Err.Kind))).Inc()
	}
	m.requests.WithLabelValues(provider, model, purpose, outcome).Inc()
	m.callTook.WithLabelValues(provider, model).Observe(r.Took.Seconds())
	if r.FirstToken > 0 {
		m.firstToken.WithLabelValues(provider, model).Observe(r.FirstToken.Seconds())
	}
	u := e.Usage
	for kind, n := range map[string]int64{
		"input": u.Input, "cache_read": u.CacheRead, "cache_write": u.CacheWrite5m + u.CacheWrite1h,
		"output": u.Output - u.Reasoning, "reasoning": u.Reasoning,
	} {
		if n > 0 {
			m.tokens.WithLabelValues(provider, model, purpose, kind).Add(float64(n))
		}
	}
	if !e.Priced {
		m.unpriced.WithLabelValues(provider, model, "no_price").Inc()
	}
	if u.Source == costs.Estimated {
		m.unpriced.WithLabelValues(provider, model, "no_usage").Inc()
	}
}

// errorType folds the kinds that have no label value of their own.
func errorType(k llm.Kind) llm.Kind {
	for _, t := range errorTypes {
		if t == k {
			return k
		}
	}
	if k == llm.Quota {
		return llm.Auth
	}
	return llm.Other
}

// ModelRetried counts an attempt after the first.
func (m *Metrics) ModelRetried(l costs.Labels, reason llm.Kind) {
	provider, model := m.model(l.Provider, l.Model)
	m.retries.WithLabelValues(provider, model, string(errorType(reason))).Inc()
}

// ToolCalled counts a tool call.
func (m *Metrics) ToolCalled(tool string, p costs.Purpose, status string, took time.Duration) {
	if !m.tools[tool] {
		m.overflows.WithLabelValues("tool").Inc()
		tool = Other
	}
	m.toolCalls.WithLabelValues(tool, string(p), status).Inc()
	m.toolTook.WithLabelValues(tool).Observe(took.Seconds())
}

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
