package agent

import (
	"encoding/json"
	"slices"

	"parley/tools"
	"parley/transcript"
)

// Arguments of a call that cannot run stay in the history as they are up to
// maxRefused bytes, so that the model sees its mistake; of longer ones the history
// keeps why they were refused and shownRefused bytes of their beginning. Every later
// request would carry them again. (abuse L5)
const (
	maxRefused   = 4 << 10
	shownRefused = 1 << 10
)

// shortArguments stands in place of arguments that were refused.
type shortArguments struct {
	Refused string `json:"_refused"` // why, in words for the model
	Bytes   int    `json:"_bytes"`   // how many there were
	Begin   string `json:"_begin"`
}

// shorten returns an answer without long arguments of calls that cannot run. It loses its
// native form then, which has them.
func (r *take) shorten(m transcript.Message) transcript.Message {
	var parts []transcript.Part
	b := callsOf(m, r.steps+1)
	for i, p := range m.Parts {
		c, ok := p.(transcript.ToolCall)
		if !ok {
			continue
		}
		this := b.calls[0]
		b.calls = b.calls[1:]
		if len(c.Input) <= maxRefused {
			continue
		}
		args, decoding := tools.DecodeArguments(c.Input)
		why := r.invalidReason(this, args, decoding)
		if why == "" {
			continue
		}
		if parts == nil {
			parts = slices.Clone(m.Parts)
		}
		short, err := json.Marshal(shortArguments{why, len(c.Input), tools.Truncate(c.Input, shownRefused)})
		if err != nil { // two texts and a number
			short = []byte(`{}`)
		}
		c.Input = string(short)
		parts[i] = c
	}
	if parts != nil {
		m.Parts, m.Native = parts, nil
	}
	return m
}

// refusedReason returns why arguments were refused of which the history keeps the
// beginning.
func refusedReason(c call) (why string, ok bool) {
	var s shortArguments
	if err := json.Unmarshal([]byte(c.Input), &s); err != nil || s.Refused == "" || s.Bytes <= maxRefused {
		return "", false
	}
	return s.Refused, true
}
