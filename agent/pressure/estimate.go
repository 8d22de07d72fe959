package pressure

import (
	"slices"

	"parley/llm"
	"parley/transcript"
)

// A factor below or above these says that a count was wrong, not that a language is long.
const (
	minFactor = 0.25
	maxFactor = 10
)

// Gauge is how large the next request is.
type Gauge struct {
	Tokens int64 // of its input, as well as it can be known
	Guess  int64 // the same before any correction
}

// Measure estimates the next request to the model: the count that the provider gave for the
// last answer, with what was said since; or, after the view changed or for another model,
// all of it. Both are corrected by how far the last estimate was off. system is the
// estimate of what stands before the messages, as [GuessSystem] makes it. An empty model stands
// for the one that counted last. In the first case Measure looks only at what was said since.
func Measure(history []transcript.Message, model string, system int64) Gauge {
	size, after, factor := lastSize(history)
	if size.Guess > 0 && (size.Model == model || model == "") && !slices.ContainsFunc(history[after:], changesView) {
		since := GuessMessages(history[after:])
		return Gauge{Tokens: size.Input + size.Output + scale(since, factor), Guess: size.Guess + guess(history[after-1]) + since}
	}
	all := system + GuessMessages(View(history))
	return Gauge{Tokens: scale(all, factor), Guess: all}
}

// Factor is how many tokens the provider last counted for each one that was estimated.
func Factor(history []transcript.Message) float64 {
	_, _, factor := lastSize(history)
	return factor
}

// lastSize finds the newest count of a provider, and where what came after it begins. The
// factor is 1 where nothing was counted.
func lastSize(history []transcript.Message) (size transcript.RequestSize, after int, factor float64) {
	for i, m := range slices.Backward(history) {
		if m.Role != transcript.Assistant {
			continue
		}
		if size := m.Finish().Size; size.Input > 0 && size.Guess > 0 {
			return size, i + 1, min(max(float64(size.Input)/float64(size.Guess), minFactor), maxFactor)
		}
	}
	return transcript.RequestSize{}, 0, 1
}

func changesView(m transcript.Message) bool {
	o, ok := m.Overlay()
	return ok && o.Kind != transcript.NoSummary
}

func scale(n int64, factor float64) int64 { return int64(float64(n)*factor + 0.5) }

// GuessSystem estimates what of a request stands before its messages.
func GuessSystem(req llm.Request) int64 {
	return llm.Estimate(llm.Request{System: req.System, Tools: req.Tools})
}

// GuessMessages estimates the tokens of messages, before any correction: as
// [llm.Estimate], but for what is not written in the Latin alphabet, of which most
// characters are a token, and with results of tools as they are shown.
func GuessMessages(ms []transcript.Message) (tokens int64) {
	for i, m := range ms {
		if _, ok := m.Overlay(); !ok {
			tokens += guess(withEnding(cutResults(m, i+1, 0)))
		}
	}
	return tokens
}

// guess estimates the tokens of a message as it is; 0: of one without parts.
func guess(m transcript.Message) int64 {
	if len(m.Parts) == 0 {
		return 0
	}
	return llm.Estimate(llm.Request{Messages: []transcript.Message{m}}) + wideTokens(m)
}

// wideTokens is how many tokens more than a quarter the wide characters of m are.
func wideTokens(m transcript.Message) (tokens int64) {
	for _, p := range m.Parts {
		switch p := p.(type) {
		case transcript.Text:
			tokens += countWide(p.Text)
		case transcript.ToolCall:
			tokens += countWide(p.Input)
		case transcript.ToolResult:
			tokens += countWide(p.Content)
		}
	}
	return tokens * 3 / 4
}

// countWide counts the characters of s from U+0250 on, which tokenisers rarely join.
func countWide(s string) (n int64) {
	const latin = 0x0250
	for _, r := range s {
		if r >= latin {
			n++
		}
	}
	return n
}
