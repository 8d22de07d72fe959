package ops

import (
	"maps"
	"slices"
	"sync/atomic"

	"parley/agent/pressure"
	"parley/transcript"

	"github.com/prometheus/client_golang/prometheus"

	"parley/costs"
	"parley/gateway/outcomes"
	"parley/llm"
)

// Other stands in a label for every value outside its closed set.
const Other = "other"

// ModelName is a model under the two labels that name it.
type ModelName struct{ Provider, Model string }

// How many values a label has at most, beside Other. What is configured beyond
// is counted as Other, so that no configuration makes too many series.
const (
	MaxChannels = 8
	MaxModels   = 15
	MaxTools    = 64

	// MaxPricedTools is how many tools have a cost of zero before they cost anything.
	MaxPricedTools = 16
)

// LabelSets are the closed sets of label values, known when the gateway starts.
// Every counter of them starts at zero, because increase() over a series that
// begins at 0.5 is 0.
type LabelSets struct {
	Channels []string
	Models   []ModelName
	Speech   []ModelName       // those of Models that make words of voice notes, and do nothing else
	Windows  map[ModelName]int // how many tokens each of Models takes
	// Fallbacks are which of Models a turn may go on with after which.
	Fallbacks [][2]ModelName
	Tools     []string
	// PricedTools are tools whose calls cost money.
	PricedTools []string
	Depth       int // how deep sub-agents may go, at most MaxDepth; 0: MaxDepth
	Version     string
}

var (
	stepBuckets    = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60}
	secondsBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
	dollarBuckets  = []float64{.0001, .001, .005, .01, .05, .1, .25, .5, 1, 5, 10}
	ratioBuckets   = []float64{1, 1.05, 1.1, 1.15, 1.25, 1.5, 2, 3, 5, 10, 30, 100, 300}
	chatKinds      = []string{"dm", "group"}
	purposes       = []costs.Purpose{costs.RootTurn, costs.Subagent, costs.Title, costs.Summary}
	errorTypes     = []llm.Kind{
		llm.RateLimited, llm.Overloaded, llm.Auth, llm.ContextLength, llm.InvalidRequest,
		llm.ContentFilter, llm.Timeout, llm.Network, llm.Server, llm.Other,
	}
	deadReasons = []string{"unreadable", "address", "encoding", "too_large", "attempts", "key"}
	tokenKinds  = []string{"input", "cache_read", "cache_write", "output", "reasoning"}
)

func (s LabelSets) withCaps() LabelSets {
	s.Channels = s.Channels[:min(len(s.Channels), MaxChannels)]
	s.Models = s.Models[:min(len(s.Models), MaxModels)]
	s.Tools = s.Tools[:min(len(s.Tools), MaxTools)]
	return s
}

// purposes are what n is asked for.
func (s LabelSets) purposes(n ModelName) []costs.Purpose {
	if slices.Contains(s.Speech, n) {
		return []costs.Purpose{costs.Transcription}
	}
	return purposes
}

func (m *Metrics) startAtZero(s LabelSets) {
	for _, c := range s.Channels {
		m.channels[c] = true
		m.up.WithLabelValues(c)
		m.reconnects.WithLabelValues(c)
		m.lastEvent.WithLabelValues(c)
		m.inFlight.WithLabelValues(c)
		m.waiting.WithLabelValues(c)
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
			m.ignored:      {outcomes.NotMentioned, outcomes.NotAllowed, outcomes.Unsupported, outcomes.TooLarge, outcomes.Limited, outcomes.Closed, outcomes.NoRoom},
			m.deduplicated: {"message_id", "edit", "echo"},
			m.deadLettered: deadReasons,
			m.attached:     outcomes.Files(),
			m.sent:         {"ok", "rejected", "ambiguous", "dropped"},
			m.sendRetries:  {"rate_limited", "network", "server"},
		} {
			for _, v := range values {
				vec.WithLabelValues(c, v)
			}
		}
	}
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
	m.fallbacks.WithLabelValues(Other, Other, Other, Other)
	m.Admit(s)
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

// knownModels are the models that have series of their own, and their providers. A value is
// never changed.
type knownModels struct {
	models    map[ModelName]bool
	providers map[string]*atomic.Bool // answered when they were last called
}

// Admit gives the models of s series of their own, as long as there is room for them, and
// notes their windows; the depth of sub-agents may become greater. What had series keeps
// them: a counter that goes away and comes back would count twice. So however often an
// operator changes models, there are at most MaxModels; further ones are counted as Other
// until the next start.
func (m *Metrics) Admit(s LabelSets) {
	m.admitting.Lock()
	defer m.admitting.Unlock()
	old := m.known.Load()
	k := &knownModels{models: maps.Clone(old.models), providers: maps.Clone(old.providers)}
	for _, n := range append([]ModelName{{Other, Other}}, s.Models...) {
		if !k.models[n] && len(k.models) <= MaxModels {
			k.models[n] = true
			m.startModel(s, n)
		}
	}
	for n := range k.models {
		m.windows.WithLabelValues(n.Provider, n.Model).Set(float64(s.Windows[n]))
		if k.providers[n.Provider] == nil && n.Provider != Other {
			k.providers[n.Provider] = &atomic.Bool{}
			k.providers[n.Provider].Store(true)
		}
	}
	for _, f := range s.Fallbacks {
		if from, to := f[0], f[1]; k.models[from] && k.models[to] {
			m.fallbacks.WithLabelValues(from.Provider, from.Model, to.Provider, to.Model)
		}
	}
	m.limits.admitDepth(s.Depth)
	m.known.Store(k)
}

// startModel starts the series of a model at zero.
func (m *Metrics) startModel(s LabelSets, n ModelName) {
	m.callTook.WithLabelValues(n.Provider, n.Model)
	m.firstToken.WithLabelValues(n.Provider, n.Model)
	m.overruns.WithLabelValues(n.Provider, n.Model)
	m.circuits.WithLabelValues(n.Provider, n.Model)
	for _, e := range errorTypes {
		m.errors.WithLabelValues(n.Provider, n.Model, string(e))
		m.retries.WithLabelValues(n.Provider, n.Model, string(e))
	}
	for _, r := range []string{"no_price", "no_usage"} {
		m.unpriced.WithLabelValues(n.Provider, n.Model, r)
	}
	for _, p := range s.purposes(n) {
		for _, o := range []string{"ok", "error", "cancelled"} {
			m.requests.WithLabelValues(n.Provider, n.Model, string(p), o)
		}
		for _, k := range tokenKinds {
			m.tokens.WithLabelValues(n.Provider, n.Model, string(p), k)
		}
	}
}
