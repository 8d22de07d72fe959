package activity

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/agent"
	"parley/agent/pressure"
	"parley/transcript"
)

// Bounds of what is shown, in characters.
const (
	maxObject   = 60  // what a tool works on
	maxProgress = 60  // of what a tool says of its progress
	maxArgs     = 120 // all arguments of a call, in the list of steps
	maxThought  = 240 // the end of what the model thinks
)

// quote returns what somebody else wrote as a code span of at most that many characters:
// there it is neither markup, nor a mention, nor a link, on any network. Characters that
// cannot be seen are left out, and only then secrets: one could be hidden by them.
func quote(s string, limit int, redact func(string) string) string {
	s = redact(flat(s))
	s = strings.TrimSpace(strings.ReplaceAll(s, "`", "'"))
	if s == "" {
		return ""
	}
	return "`" + shorten(s, limit) + "`"
}

// flat returns a text on one line, without characters that cannot be seen.
func flat(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case r == utf8.RuneError, unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Co, r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// shorten returns at most limit characters of s, the last an ellipsis where it goes on.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:limit-1])) + "…"
}

// newest returns the last characters of s, at most limit, from a word on.
func newest(s string, limit int) string {
	rs := []rune(s)
	if len(rs) <= limit {
		return s
	}
	s = string(rs[len(rs)-limit:])
	if i := strings.IndexByte(s, ' '); i >= 0 {
		s = s[i+1:]
	}
	return "…" + s
}

// doing says what a call does, in the tool's words or by its name.
func doing(e agent.Event, redact func(string) string) string {
	words, of := e.Doing, quote(e.Of, maxObject, redact)
	if words == "" {
		words, of = "Using", quote(e.Tool, maxObject, redact)
	}
	if of == "" {
		return words
	}
	return words + " " + of
}

// notice says what happens beside the tools; "": nothing to be shown.
func notice(e agent.Event) string {
	switch e.Type {
	case agent.Compacting:
		return fmt.Sprintf("Compacting: %s tokens …", pressure.Thousands(e.Overlay.Before))
	case agent.Compacted:
		if e.Overlay.Kind == transcript.Summarised {
			return fmt.Sprintf("Compacting: %s to %s tokens", pressure.Thousands(e.Overlay.Before), pressure.Thousands(e.Overlay.After))
		}
	case agent.Retrying:
		if wait := e.Wait.Round(time.Second); wait > 0 {
			return fmt.Sprintf("The model did not answer, trying again in %s …", wait)
		}
		return "The model did not answer, trying again …"
	case agent.FellBack:
		return "Asking another model …"
	case agent.BudgetExceeded:
		if e.Tool != "" { // the turn goes on without it
			return "The budget does not allow " + quote(e.Tool, maxObject, func(s string) string { return s }) + " …"
		}
		return "The budget is used up …"
	default:
	}
	return ""
}
