package ops

import (
	"time"

	"parley/agent"
	"parley/costs"
	"parley/gateway/outcomes"
	"parley/llm"
	"parley/transcript"
)

func chatLabel(dm bool) string {
	if dm {
		return "dm"
	}
	return "group"
}

// channelLabel is Other for one that has no series of its own.
func (m *Metrics) channelLabel(name string) string {
	if m.channels[name] {
		return name
	}
	return Other
}

func (m *Metrics) modelLabels(provider, model string) (string, string) {
	if m.known.Load().models[ModelName{provider, model}] {
		return provider, model
	}
	m.overflows.WithLabelValues("model").Inc()
	return Other, Other
}

// CountReceived counts a message before anything is decided about it.
func (m *Metrics) CountReceived(channel string, dm bool) {
	m.received.WithLabelValues(m.channelLabel(channel), chatLabel(dm)).Inc()
}

// CountIgnored counts a message that is not answered.
func (m *Metrics) CountIgnored(channel, reason string) {
	m.ignored.WithLabelValues(m.channelLabel(channel), reason).Inc()
}

// CountDuplicate counts a message that was known.
func (m *Metrics) CountDuplicate(channel, reason string) {
	m.deduplicated.WithLabelValues(m.channelLabel(channel), reason).Inc()
}

// CountDeadLetter counts a message that was given up.
func (m *Metrics) CountDeadLetter(channel, reason string) {
	m.deadLettered.WithLabelValues(m.channelLabel(channel), reason).Inc()
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

// SetConnected reports whether a channel is connected.
func (m *Metrics) SetConnected(channel string, up bool) {
	v := 0.0
	if up {
		v = 1
	}
	m.up.WithLabelValues(m.channelLabel(channel)).Set(v)
}

// Reconnected counts a connection that came back.
func (m *Metrics) Reconnected(channel string) {
	m.reconnects.WithLabelValues(m.channelLabel(channel)).Inc()
}

// Event notes when a channel last brought something.
func (m *Metrics) Event(channel string, at time.Time) {
	m.lastEvent.WithLabelValues(m.channelLabel(channel)).Set(float64(at.UnixMilli()) / 1000)
}

// SendRetried counts a send attempt after the first.
func (m *Metrics) SendRetried(channel, reason string) {
	m.sendRetries.WithLabelValues(m.channelLabel(channel), reason).Inc()
}

// CountAttachment counts a file that came with a message by what became of it.
func (m *Metrics) CountAttachment(channel, outcome string) {
	m.attached.WithLabelValues(m.channelLabel(channel), outcome).Inc()
}

// CountSent counts a message by its final outcome.
func (m *Metrics) CountSent(channel, outcome string, took time.Duration) {
	m.sent.WithLabelValues(m.channelLabel(channel), outcome).Inc()
	if took > 0 {
		m.sendTook.WithLabelValues(m.channelLabel(channel)).Observe(took.Seconds())
	}
}

// FirstReply notes when a person first saw something of an answer.
func (m *Metrics) FirstReply(channel string, dm bool, took time.Duration) {
	m.firstReply.WithLabelValues(m.channelLabel(channel), chatLabel(dm)).Observe(took.Seconds())
}

// TurnStarted notes how long a message waited.
func (m *Metrics) TurnStarted(channel string, waited time.Duration) {
	m.queueWait.WithLabelValues(m.channelLabel(channel)).Observe(max(waited, 0).Seconds())
}

// TurnRunning counts turns that run now.
func (m *Metrics) TurnRunning(channel string, delta int) {
	m.inFlight.WithLabelValues(m.channelLabel(channel)).Add(float64(delta))
}

// TurnWaiting counts turns that wait for other turns of their own person.
func (m *Metrics) TurnWaiting(channel string, delta int) {
	m.waiting.WithLabelValues(m.channelLabel(channel)).Add(float64(delta))
}

// TurnEnded counts a finished turn.
func (m *Metrics) TurnEnded(t outcomes.Turn) {
	channel, c := m.channelLabel(t.Channel), chatLabel(t.DM)
	outcome := turnOutcome(t)
	m.recent.recordTurn(t, outcome)
	m.turns.WithLabelValues(channel, c, outcome).Inc()
	m.observe(m.turnTook.WithLabelValues(channel, c), t.Took.Seconds(), t.Turn, t.Session)
	m.observe(m.turnCost.WithLabelValues(channel, c), t.Cost.Dollars(), t.Turn, t.Session)
}

func turnOutcome(t outcomes.Turn) string {
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
	provider, model := m.modelLabels(e.Labels.Provider, e.Labels.Model)
	purpose := string(e.Labels.Purpose)
	m.markProvider(e.Labels.Provider, r.Err)
	m.recent.recordCall(ModelName{e.Labels.Provider, e.Labels.Model}, r.Err)
	outcome := "ok"
	switch {
	case r.Err == nil:
	case r.Err.Kind == llm.Canceled: // the provider did nothing wrong
		outcome = "cancelled"
	default:
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
	m.overruns.WithLabelValues(provider, model).Add(e.Overrun.Dollars())
	if !e.Priced {
		m.unpriced.WithLabelValues(provider, model, "no_price").Inc()
	}
	if u.Source == costs.Estimated {
		m.unpriced.WithLabelValues(provider, model, "no_usage").Inc()
	}
}

// markProvider notes whether a provider served its last call. One that refuses a
// request, or asks to slow down, is there; a call that we ended says nothing.
func (m *Metrics) markProvider(provider string, err *llm.Error) {
	p := m.known.Load().providers[provider]
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

// SetPricesDate notes the day of the newest price in use.
func (m *Metrics) SetPricesDate(newest time.Time) {
	m.priceTable.Set(float64(newest.UnixMilli()) / 1000)
}

// LedgerWriteFailed counts a booking that has to be repeated.
func (m *Metrics) LedgerWriteFailed() {
	m.ledgerErrors.Inc()
	m.recent.recordLedgerError()
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
	provider, model := m.modelLabels(l.Provider, l.Model)
	m.retries.WithLabelValues(provider, model, string(errorType(reason))).Inc()
}

// ModelFellBack counts a turn that went on with another model.
func (m *Metrics) ModelFellBack(r agent.FallbackReport) {
	provider, model := m.modelLabels(r.From.Provider, r.From.Model)
	toProvider, toModel := m.modelLabels(r.To.Provider, r.To.Model)
	m.fallbacks.WithLabelValues(provider, model, toProvider, toModel).Inc()
}

// SetCircuit notes whether a model is called.
func (m *Metrics) SetCircuit(s llm.CircuitStatus) {
	if m.known.Load().models[ModelName{s.Provider, s.Model}] { // several others have one series, which would say nothing
		m.circuits.WithLabelValues(s.Provider, s.Model).Set(float64(s.State))
	}
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

// ToolCalled counts a tool call.
func (m *Metrics) ToolCalled(tool string, p costs.Purpose, status string, took time.Duration) {
	if !m.tools[tool] {
		m.overflows.WithLabelValues("tool").Inc()
		tool = Other
	}
	if status == agent.StatusWaiting { // it did not run; if it is permitted, it is made anew
		status = agent.StatusCancelled
	}
	m.toolCalls.WithLabelValues(tool, string(p), status).Inc()
	m.toolTook.WithLabelValues(tool).Observe(took.Seconds())
}
