package llm

import (
	"maps"
	"strings"
)

// Info is what a model can take and give.
type Info struct {
	Window    int // most tokens of a request and its answer together
	MaxOutput int // most output tokens of one answer, thinking included

	Vision   bool     // takes pictures
	Picture  int64    // most tokens of one picture; 0: nobody knows
	Sampling bool     // takes temperature and top_p, also while it reasons
	Efforts  []string // that it takes; nil: none. Never changed
	Thinking Thoughts // how it can be asked to think

	// CacheTTL: in OpenAI's Responses it can be told how long a cached request is kept.
	CacheTTL bool

	// ResponsesOnly: while it reasons it takes tools only in OpenAI's Responses.
	ResponsesOnly bool

	// Source says where the facts come from, "" when they were guessed.
	Source string
}

// Thoughts are how a model can be asked to think before it answers. The zero value is a
// model of which that is not known, or that does not think.
type Thoughts struct {
	Adaptive bool   // decides by itself how much
	Budget   bool   // is told a number of tokens
	Unasked  bool   // thinks when nothing is said
	Off      string // Anthropic's word for not thinking; "": it cannot be told not to
	OffHigh  bool   // while it does not think it takes no effort above high
	// Bound: what it thought counts only while nothing before it in the conversation has
	// changed, and a request with older thinking must say what else is to become of it.
	Bound bool
}

// What holds for a model that nobody knows. (TX06)
const (
	DefaultWindow    = 8192
	DefaultMaxOutput = 4096
)

// Models is a catalogue by model name.
type Models map[string]Info

// KnownModels returns the built-in catalogue: a copy, to which the operator's own models
// may be added or by which they may be replaced.
func KnownModels() Models { return maps.Clone(known) }

// Lookup is Known().Info(model).
func Lookup(model string) Info { return known.Info(model) }

// Info finds what model can do: by its exact name; else by the longest name of
// the catalogue that model begins with (a dated version); else by the longest
// that it contains (a name with a vendor or region before it); else with a
// window of 8192 tokens and no abilities but sampling. Upper and lower case
// are the same. (TX06)
func (m Models) Info(model string) Info {
	if info, ok := m[model]; ok {
		return info
	}
	model = strings.ToLower(model)
	for _, match := range []func(s, name string) bool{equal, strings.HasPrefix, strings.Contains} {
		if name, ok := m.longest(func(name string) bool { return match(model, strings.ToLower(name)) }); ok {
			return m[name]
		}
	}
	return Info{Window: DefaultWindow, MaxOutput: DefaultMaxOutput, Sampling: true}
}

func equal(a, b string) bool { return a == b }

// longest returns the longest name for which match holds; of two that are equally
// long, the first in the alphabet. An empty name matches nothing.
func (m Models) longest(match func(name string) bool) (best string, found bool) {
	for name := range m {
		if name == "" || !match(name) {
			continue
		}
		if !found || len(name) > len(best) || len(name) == len(best) && name < best {
			best, found = name, true
		}
	}
	return best, found
}
