package ops

import (
	"maps"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/agent"
	"parley/costs"
	"parley/llm"
)

// calls counts calls of models and of tools.
type calls struct {
	known  atomic.Pointer[knownModels]
	tools  map[string]bool
	recent *recorder

	requests, errors, retries, tokens, unpriced, overruns, fallbacks *prometheus.CounterVec
	toolCalls, overflows                                             *prometheus.CounterVec
	windows, circuits                                                *prometheus.GaugeVec
	priceTable                                                       prometheus.Gauge
	callTook, firstToken, toolTook                                   *prometheus.HistogramVec
	reserved                                                         prometheus.Observer
}

// knownModels are the models that have series of their own, and their providers. A value is
// never changed.
type knownModels struct {
	models    map[ModelName]bool
	providers map[string]*atomic.Bool // answered when they were last called
}

func newCalls(f factory, s LabelSets, recent *recorder) *calls {
	c := &calls{tools: map[string]bool{}, recent: recent}
	c.known.Store(&knownModels{models: map[ModelName]bool{}, providers: map[string]*atomic.Bool{}})
	c.requests = f.counter("llm_requests_total", "Requests, each attempt counted; cancelled: parley gave it up itself, as after /stop.", "provider", "model", "agent_kind", "outcome")
	c.errors = f.counter("llm_errors_total", "Failed requests.", "provider", "model", "error_type")
	c.fallbacks = f.counter("llm_fallbacks_total", "Turns that went on with another model, because the model failed or is not called.", "provider", "model", "to_provider", "to_model")
	c.circuits = f.gauge("llm_circuit_state", "Whether the model is called: 0 it is, 1 one call tries whether it works again, 2 it is not, after failures in a row.", "provider", "model")
	c.retries = f.counter("llm_retries_total", "Requests after the first attempt.", "provider", "model", "reason")
	c.callTook = f.histogram("llm_request_duration_seconds", "Until the last byte.", secondsBuckets, "provider", "model")
	c.firstToken = f.histogram("llm_time_to_first_token_seconds", "From sending a streamed request to its first content token.", secondsBuckets, "provider", "model")
	c.tokens = f.counter("llm_tokens_total", "Billed tokens; kinds are disjoint, their sum is the total.", "provider", "model", "agent_kind", "kind")
	c.unpriced = f.counter("llm_unpriced_requests_total", "Requests whose cost is understated or estimated.", "provider", "model", "reason")
	c.overruns = f.counter("llm_overrun_usd_total", "Cost above what was reserved before the request: the provider did not keep to max_tokens.", "provider", "model")
	c.reserved = f.histogram("llm_reserved_to_spent_ratio", "How many times what a priced call of a model has cost was set aside for it; the goal is a median of at most 1.15.", ratioBuckets).WithLabelValues()
	c.priceTable = f.gauge("llm_price_table_timestamp_seconds", "Unix time of the newest price entry.").WithLabelValues()
	c.windows = f.gauge("llm_context_window_tokens", "Tokens that a request to the model and its answer may have together, as the agents are configured; the smallest where they differ, 0 where no agent uses it.", "provider", "model")
	c.toolCalls = f.counter("tool_calls_total", "Tool calls.", "tool", "agent_kind", "outcome")
	c.toolTook = f.histogram("tool_call_duration_seconds", "Duration of tool calls.", secondsBuckets, "tool")
	c.overflows = f.counter("label_overflows_total", "Values replaced by other.", "label")
	c.fallbacks.WithLabelValues(Other, Other, Other, Other)
	c.admit(s)
	for _, t := range append([]string{Other}, s.Tools...) {
		c.tools[t] = true
		c.toolTook.WithLabelValues(t)
		for _, k := range []string{"root", "subagent"} {
			for _, o := range []string{"ok", "error", "timeout", "denied", "cancelled"} {
				c.toolCalls.WithLabelValues(t, k, o)
			}
		}
	}
	for _, l := range []string{"model", "tool"} {
		c.overflows.WithLabelValues(l)
	}
	return c
}

// admit gives the models of s series of their own, as long as there is room for them.
func (c *calls) admit(s LabelSets) {
	old := c.known.Load()
	k := &knownModels{models: maps.Clone(old.models), providers: maps.Clone(old.providers)}
	for _, n := range append([]ModelName{{Other, Other}}, s.Models...) {
		if !k.models[n] && len(k.models) <= MaxModels {
			k.models[n] = true
			c.startModel(s, n)
		}
	}
	for n := range k.models {
		c.windows.WithLabelValues(n.Provider, n.Model).Set(float64(s.Windows[n]))
		if k.providers[n.Provider] == nil && n.Provider != Other {
			k.providers[n.Provider] = &atomic.Bool{}
			k.providers[n.Provider].Store(true)
		}
	}
	for _, f := range s.Fallbacks {
		if from, to := f[0], f[1]; k.models[from] && k.models[to] {
			c.fallbacks.WithLabelValues(from.Provider, from.Model, to.Provider, to.Model)
		}
	}
	c.known.Store(k)
}

// startModel starts the series of a model at zero.
func (c *calls) startModel(s LabelSets, n ModelName) {
	c.callTook.WithLabelValues(n.Provider, n.Model)
	c.firstToken.WithLabelValues(n.Provider, n.Model)
	c.overruns.WithLabelValues(n.Provider, n.Model)
	c.circuits.WithLabelValues(n.Provider, n.Model)
	for _, e := range errorTypes {
		c.errors.WithLabelValues(n.Provider, n.Model, string(e))
		c.retries.WithLabelValues(n.Provider, n.Model, string(e))
	}
	for _, r := range []string{"no_price", "no_usage"} {
		c.unpriced.WithLabelValues(n.Provider, n.Model, r)
	}
	for _, p := range s.purposes(n) {
		for _, o := range []string{"ok", "error", "cancelled"} {
			c.requests.WithLabelValues(n.Provider, n.Model, string(p), o)
		}
		for _, k := range tokenKinds {
			c.tokens.WithLabelValues(n.Provider, n.Model, string(p), k)
		}
	}
}

func (c *calls) modelLabels(provider, model string) (string, string) {
	if c.known.Load().models[ModelName{provider, model}] {
		return provider, model
	}
	c.overflows.WithLabelValues("model").Inc()
	return Other, Other
}

// ModelCalled counts one attempt of a model call.
func (c *calls) ModelCalled(r agent.CallReport) {
	e := r.Entry
	provider, model := c.modelLabels(e.Labels.Provider, e.Labels.Model)
	purpose := string(e.Labels.Purpose)
	c.markProvider(e.Labels.Provider, r.Err)
	c.recent.recordCall(ModelName{e.Labels.Provider, e.Labels.Model}, r.Err)
	outcome := "ok"
	switch {
	case r.Err == nil:
	case r.Err.Kind == llm.Canceled: // the provider did nothing wrong
		outcome = "cancelled"
	default:
		outcome = "error"
		c.errors.WithLabelValues(provider, model, string(errorType(r.Err.Kind))).Inc()
	}
	c.requests.WithLabelValues(provider, model, purpose, outcome).Inc()
	c.callTook.WithLabelValues(provider, model).Observe(r.Took.Seconds())
	if r.FirstToken > 0 {
		c.firstToken.WithLabelValues(provider, model).Observe(r.FirstToken.Seconds())
	}
	u := e.Usage
	for kind, n := range map[string]int64{
		"input": u.Input, "cache_read": u.CacheRead, "cache_write": u.CacheWrite5m + u.CacheWrite1h,
		"output": u.Output - u.Reasoning, "reasoning": u.Reasoning,
	} {
		if n > 0 {
			c.tokens.WithLabelValues(provider, model, purpose, kind).Add(float64(n))
		}
	}
	c.overruns.WithLabelValues(provider, model).Add(e.Overrun.Dollars())
	if !e.Priced {
		c.unpriced.WithLabelValues(provider, model, "no_price").Inc()
	}
	if u.Source == costs.Estimated {
		c.unpriced.WithLabelValues(provider, model, "no_usage").Inc()
	}
}

// markProvider notes whether a provider served its last call. One that refuses a
// request, or asks to slow down, is there; a call that we ended says nothing.
func (c *calls) markProvider(provider string, err *llm.Error) {
	p := c.known.Load().providers[provider]
	if p == nil || err != nil && err.Kind == llm.Canceled {
		return
	}
	up := true
	if err != nil {
		switch err.Kind {
		case llm.Network, llm.Timeout, llm.Server, llm.Overloaded, llm.Auth, llm.Quota:
			up = false
		default:
		}
	}
	p.Store(up)
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
func (c *calls) ModelRetried(l costs.Labels, reason llm.Kind) {
	provider, model := c.modelLabels(l.Provider, l.Model)
	c.retries.WithLabelValues(provider, model, string(errorType(reason))).Inc()
}

// ModelFellBack counts a turn that went on with another model.
func (c *calls) ModelFellBack(r agent.FallbackReport) {
	provider, model := c.modelLabels(r.From.Provider, r.From.Model)
	toProvider, toModel := c.modelLabels(r.To.Provider, r.To.Model)
	c.fallbacks.WithLabelValues(provider, model, toProvider, toModel).Inc()
}

// SetCircuit notes whether a model is called.
func (c *calls) SetCircuit(s llm.CircuitStatus) {
	if c.known.Load().models[ModelName{s.Provider, s.Model}] { // several others have one series, which would say nothing
		c.circuits.WithLabelValues(s.Provider, s.Model).Set(float64(s.State))
	}
}

// ToolCalled counts a tool call.
func (c *calls) ToolCalled(tool string, p costs.Purpose, status string, took time.Duration) {
	if !c.tools[tool] {
		c.overflows.WithLabelValues("tool").Inc()
		tool = Other
	}
	if status == agent.StatusWaiting { // it did not run; if it is permitted, it is made anew
		status = agent.StatusCancelled
	}
	c.toolCalls.WithLabelValues(tool, string(p), status).Inc()
	c.toolTook.WithLabelValues(tool).Observe(took.Seconds())
}

// SetPricesDate notes the day of the newest price in use.
func (c *calls) SetPricesDate(newest time.Time) {
	c.priceTable.Set(float64(newest.UnixMilli()) / 1000)
}

// noteReserved notes how many times what a call of a model has cost was set aside for it. A call that is
// free, or of which nobody knows what it cost, says nothing of that.
func (c *calls) noteReserved(s costs.Settlement) {
	e := s.Entry
	if e.Priced && e.State == costs.Settled && e.Amount > 0 && e.Labels.Purpose != costs.Tool {
		c.reserved.Observe(s.Reservation.Estimate.Upper.Dollars() / e.Amount.Dollars())
	}
}
