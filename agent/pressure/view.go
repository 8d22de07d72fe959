package pressure

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/transcript"
)

// effect is what the overlays of a history do together.
type effect struct {
	summary transcript.Message // that stands for the first messages; no parts: there is none
	from    int                // the first message that the summary does not stand for
	trimmed transcript.Overlay // results before its Through are cut to its View
	without [2]int             // messages from the first to before the second are left out
}

// effectOf reads the overlays of a history. A summary counts until it is undone, and the
// one before it then counts again. It reads from the end, and no further than to the first
// message that requests hold: what stands before that covers nothing behind it.
func effectOf(history []transcript.Message) effect { return effectBehind(history, 0) }

// effectBehind is effectOf of what stands behind the first messages.
func effectBehind(history []transcript.Message, first int) effect {
	var e effect
	undone, trimmed := 0, false
	for i := len(history) - 1; i >= max(e.from, first); i-- {
		o, ok := history[i].Overlay()
		if !ok {
			continue
		}
		switch o.Kind {
		case transcript.Summarised:
			if undone > 0 {
				undone--
			} else if len(e.summary.Parts) == 0 {
				e.from = min(o.Through, len(history))
				e.summary = transcript.Message{
					ID: history[i].ID, Role: transcript.User, CreatedAt: history[i].CreatedAt,
					Parts: []transcript.Part{transcript.Text{Text: frameSummary(o.Summary)}},
				}
			}
		case transcript.Undone:
			undone++
		case transcript.Trimmed:
			if !trimmed {
				e.trimmed, trimmed = o, true
			}
		case transcript.Excerpt:
			if e.without == [2]int{} {
				e.without = [2]int{o.Through, i}
			}
		case transcript.NoSummary:
		}
	}
	return e
}

// Suffices reports whether what requests hold of a history stands behind its first messages, for
// which a summary stands that counts, with an answer: by the size that its provider has counted, if
// it counts any, the next request is measured.
func Suffices(history []transcript.Message, first int) bool {
	e := effectBehind(history, first)
	return len(e.summary.Parts) > 0 && e.from >= first &&
		slices.ContainsFunc(history[first:], func(m transcript.Message) bool { return m.Role == transcript.Assistant })
}

// HasSummary reports whether a summary counts in the history.
func HasSummary(history []transcript.Message) bool { return len(effectOf(history).summary.Parts) > 0 }

// LastSummary returns the newest summary of the history, whether it counts or not, and when it was
// made.
func LastSummary(history []transcript.Message) (o transcript.Overlay, at time.Time, ok bool) {
	for _, m := range slices.Backward(history) {
		if o, ok := m.Overlay(); ok && o.Kind == transcript.Summarised {
			return o, m.CreatedAt, true
		}
	}
	return o, at, false
}

// shows returns message i of the history as requests hold it; ok is false if they do not.
func (e effect) shows(history []transcript.Message, i int) (m transcript.Message, ok bool) {
	m = history[i]
	if _, is := m.Overlay(); is || i < e.from || i >= e.without[0] && i < e.without[1] {
		return m, false
	}
	limit := 0
	if i < e.trimmed.Through {
		limit = e.trimmed.View
	}
	return withEnding(cutResults(m, i+1, limit)), true
}

// View returns what of a history requests hold: the newest summary that counts in place
// of the messages that it stands for, results of tools cut to what is shown of them, why
// an answer has no end behind its words, and no overlays. The history itself is not changed. While a history only grows by messages
// that are no overlays, its view only grows at the end.
func View(history []transcript.Message) []transcript.Message {
	e := effectOf(history)
	view := make([]transcript.Message, 0, len(history)-e.from+1)
	if len(e.summary.Parts) > 0 {
		view = append(view, e.summary)
	}
	for i := e.from; i < len(history); i++ {
		if m, ok := e.shows(history, i); ok {
			view = append(view, m)
		}
	}
	return view
}

// cutResults is m, message number n of the history, with its results of tools as they are
// shown: at most limit bytes of each, or what the result says itself; 0: all.
func cutResults(m transcript.Message, n, limit int) transcript.Message {
	if m.Role != transcript.Tool {
		return m
	}
	var parts []transcript.Part
	for i, p := range m.Parts {
		res, ok := p.(transcript.ToolResult)
		if !ok {
			continue
		}
		shown := shownBytes(res, limit)
		if shown >= len(res.Content) {
			continue
		}
		if parts == nil {
			parts = append([]transcript.Part(nil), m.Parts...)
		}
		res.Content, res.View = cutMiddle(res.Content, n, shown), 0
		parts[i] = res
	}
	if parts != nil {
		m.Parts = parts
	}
	return m
}

// shownBytes is how many bytes of res are shown under a limit; 0: none.
func shownBytes(res transcript.ToolResult, limit int) int {
	n := len(res.Content)
	if res.View > 0 {
		n = min(n, res.View)
	}
	if limit > 0 {
		n = min(n, limit)
	}
	return n
}

// cutMiddle is s, the result that is message number n, with its middle left out: at most
// limit bytes and a line that says so. By the number the tool read_output finds the rest.
func cutMiddle(s string, n, limit int) string {
	head := headOf(s, limit*2/3)
	tail := tailOf(s, limit-len(head))
	return fmt.Sprintf("%s\n[output %d: bytes %d to %d of %d are left out here; read that part, or ask for less, where it matters]\n%s",
		strings.TrimRight(head, "\n"), n, len(head), len(s)-len(tail), len(s), tail)
}

// headOf is the longest beginning of s of at most n bytes that ends between two characters.
func headOf(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// tailOf is the longest end of s of at most n bytes that begins with a character.
func tailOf(s string, n int) string {
	at := max(len(s)-n, 0)
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}
