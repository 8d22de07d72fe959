package ops

import (
	"slices"

	"parley/costs"
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
	tokenKinds = []string{"input", "cache_read", "cache_write", "output", "reasoning"}
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

// channelSet are the channels that have series of their own.
type channelSet map[string]bool

// label is Other for one that has none.
func (s channelSet) label(name string) string {
	if s[name] {
		return name
	}
	return Other
}

func chatLabel(dm bool) string {
	if dm {
		return "dm"
	}
	return "group"
}
