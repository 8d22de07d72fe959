// Package pressure keeps a conversation inside its model's window. It estimates how full
// the window is, says what is to be done about it, and derives from a history what of it a
// request holds.
//
// All of it is a function of the history: what was decided stands there as overlays
// (see [transcript.Overlay]), and a worker that takes a turn over goes on from the same view.
package pressure

import (
	"cmp"
	"slices"
	"strconv"

	"parley/problems"
	"parley/transcript"
)

// Policy is what an operator says about the window. The zero value is the default.
type Policy struct {
	// Off: nothing is measured, cut or summarised, and a conversation ends where its
	// provider says that it is too long.
	Off bool `yaml:"off" json:"off,omitempty"`

	// Shares of the limit, from 0 to 1; 0 is the default.
	Trim    float64 `yaml:"trim" json:"trim,omitempty"`       // from here on long results of tools are cut; 0.60
	Warn    float64 `yaml:"warn" json:"warn,omitempty"`       // from here on the log says that the window fills; 0.80
	Compact float64 `yaml:"compact" json:"compact,omitempty"` // from here on the conversation is summarised; 0.90
	Target  float64 `yaml:"target" json:"target,omitempty"`   // after a summary that leaves more than this, the next one waits; 0.82
	Aim     float64 `yaml:"aim" json:"aim,omitempty"`         // what a summary is to leave at most, as far as turns can be left out; 0.60
	Hard    float64 `yaml:"hard" json:"hard,omitempty"`       // of the window itself: above it no request is made; 0.95

	// MaxTokens is the tokens at which a conversation is summarised even if more of the
	// window is left; 0: 200,000.
	MaxTokens int64 `yaml:"max_tokens" json:"max_tokens,omitempty"`
	// ResultBytes is how much of one result of a tool a request holds at first; 0: 50 KiB.
	ResultBytes int `yaml:"result_bytes" json:"result_bytes,omitempty"`

	// Model is asked for summaries of conversations with people, as provider/model; default:
	// the model of the agent. Who runs turns dials it. (docs/decisions/0073)
	Model string `yaml:"model" json:"-"`
}

// Defaults of a Policy.
const (
	DefaultTrim        = 0.60
	DefaultWarn        = 0.80
	DefaultCompact     = 0.90
	DefaultTarget      = 0.82
	DefaultAim         = 0.60
	DefaultHard        = 0.95
	DefaultMaxTokens   = 200_000
	DefaultResultBytes = 50 << 10
)

// Filled returns p with the defaults in place of zeros.
func (p Policy) Filled() Policy {
	p.Trim = cmp.Or(p.Trim, DefaultTrim)
	p.Warn = cmp.Or(p.Warn, DefaultWarn)
	p.Compact = cmp.Or(p.Compact, DefaultCompact)
	p.Target = cmp.Or(p.Target, DefaultTarget)
	p.Aim = cmp.Or(p.Aim, DefaultAim)
	p.Hard = cmp.Or(p.Hard, DefaultHard)
	p.MaxTokens = cmp.Or(p.MaxTokens, DefaultMaxTokens)
	p.ResultBytes = cmp.Or(p.ResultBytes, DefaultResultBytes)
	return p
}

// minResultBytes is the least that is worth showing of a result.
const minResultBytes = 1 << 10

// Validate returns what is wrong with p, each mistake under the name that the
// configuration gives the value.
func (p Policy) Validate() error {
	p = p.Filled()
	var list problems.List
	for _, share := range []struct {
		name  string
		value float64
	}{
		{"trim", p.Trim}, {"warn", p.Warn}, {"compact", p.Compact}, {"target", p.Target}, {"aim", p.Aim}, {"hard", p.Hard},
	} {
		if !(share.value > 0 && share.value <= 1) {
			list.Add(share.name, "%v is no share of a window: more than 0, at most 1", share.value)
		}
	}
	switch {
	case p.Trim > p.Compact:
		list.Add("trim", "%v is above compact (%v): results would be cut only after the conversation was summarised", p.Trim, p.Compact)
	case p.Target >= p.Compact:
		list.Add("target", "%v is not below compact (%v): each summary would be followed by the next", p.Target, p.Compact)
	case p.Aim > p.Target:
		list.Add("aim", "%v is above target (%v)", p.Aim, p.Target)
	}
	if p.MaxTokens < 0 {
		list.Add("max_tokens", "a number of tokens is not negative")
	}
	if p.ResultBytes < minResultBytes {
		list.Add("result_bytes", "%d bytes are too few to read a result: at least %d", p.ResultBytes, minResultBytes)
	}
	return list.Err()
}

// Ladder is a policy for one model, in tokens of a request.
type Ladder struct {
	Window  int64 // of the model
	Limit   int64 // what the shares are shares of
	Trim    int64
	Warn    int64
	Compact int64
	Target  int64
	Aim     int64
	Hard    int64
	Output  int64 // what is left for an answer at Compact, at least
}

// Of the window, an answer is left one part in outputShare, and one in marginShare is for
// what an estimate misses.
const (
	outputShare = 8
	marginShare = 50
)

// Ladder returns p for a model with that window, in tokens, whose answers have at most
// maxOutput tokens. The limit is chosen so that a conversation is summarised at
// p.Compact of the window, at p.MaxTokens, or where an eighth of the window, or
// maxOutput if that is less, is left for the answer, whichever comes first.
// (requirements ruling 2)
func (p Policy) Ladder(window, maxOutput int) Ladder {
	p = p.Filled()
	w := int64(window)
	output := w / outputShare
	if maxOutput > 0 {
		output = min(output, int64(maxOutput))
	}
	limit := min(w, share(p.MaxTokens, 1/p.Compact), share(w-output-w/marginShare, 1/p.Compact))
	return Ladder{
		Window: w, Limit: limit,
		Trim: share(limit, p.Trim), Warn: share(limit, p.Warn), Compact: share(limit, p.Compact),
		Target: share(limit, p.Target), Aim: share(limit, p.Aim), Hard: share(w, p.Hard),
		Output: output,
	}
}

// Left is how many tokens of the window an answer may have after a request that was
// estimated at so many, less what estimates miss. It is negative where nothing is left.
func (l Ladder) Left(tokens int64) int64 { return l.Window - tokens - l.Window/marginShare }

// Filled reports whether a request that was answered took as much of the window as is warned
// of: a conversation is warned of once, not in each of its turns. (requirements M06)
func (l Ladder) Filled(history []transcript.Message) bool {
	return slices.ContainsFunc(history, func(m transcript.Message) bool {
		size := m.Finish().Size
		return size.Input+size.Output >= l.Warn
	})
}

func share(n int64, of float64) int64 { return int64(float64(n)*of + 0.5) }

// Thousands is a number of tokens as people read it: 41k, or 850 as it is.
func Thousands(tokens int64) string {
	if tokens < 1000 {
		return strconv.FormatInt(tokens, 10)
	}
	return strconv.FormatInt((tokens+500)/1000, 10) + "k"
}

// Percent is how much of the window so many tokens are, rounded up.
func (l Ladder) Percent(tokens int64) int64 {
	if l.Window <= 0 {
		return 0
	}
	return (100*tokens + l.Window - 1) / l.Window
}
