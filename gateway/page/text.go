package page

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	h "parley/gateway/hypertext"
)

// Line shows a text that others chose on one line, without what would turn its surroundings round, hide
// something or move to another line, and not more than the beginning of a long one.
func Line(v any) h.Node { return h.Text(line(v)) }

// Isolated is Line for what may run from right to left beside other texts.
func Isolated(v any) h.Node { return h.Bdi(Line(v)) }

// Block is Line for a text of several lines, of any length.
func Block(text string) h.Node { return h.Text(block(text)) }

// Value puts what Line shows into a field.
func Value(v any) h.Node { return h.Value(line(v)) }

// Label names an element by what Line shows, for those who do not see it.
func Label(v any) h.Node { return h.Aria("label", line(v)) }

// Moment shows a time by a text.
func Moment(t time.Time, shown string) h.Node { return h.Time(h.DateTime(Clock(t)), h.Text(shown)) }

// mostShown is how many characters of a text that somebody chose stand on one line.
const mostShown = 160

// line is the text that Line shows.
func line(v any) string {
	text := strings.Map(func(r rune) rune {
		if isDeceptive(r) {
			return utf8.RuneError
		}
		return r
	}, fmt.Sprint(v))
	if n := 0; utf8.RuneCountInString(text) > mostShown {
		for i := range text {
			if n++; n > mostShown {
				return text[:i] + "…"
			}
		}
	}
	return text
}

// block is the text that Block shows.
func block(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && isDeceptive(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// isDeceptive reports whether a character controls how others look, or cannot be seen. The joiner of
// emoji is none.
func isDeceptive(r rune) bool {
	const joiner = '\u200d'
	return r != joiner && (!unicode.IsGraphic(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || r == '\u2800')
}

// When is a time as the page shows it.
func When(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2 Jan 15:04:05")
}

// Clock is a time as machines read it.
func Clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Ago says how long before now a time is.
func Ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	switch d := now.Sub(t); {
	case d < 0:
		return "in " + span(-d)
	case d < time.Second:
		return "just now"
	default:
		return span(d) + " ago"
	}
}

// Took says how long something took, or takes until now.
func Took(now, from, to time.Time) string {
	if to.IsZero() {
		return span(now.Sub(from)) + " so far"
	}
	return span(to.Sub(from))
}

// span is a duration in two units at most.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

// Count is a number of things by their name.
func Count(n any, what string) string {
	if text := fmt.Sprint(n); text != "1" {
		return text + " " + what + "s"
	}
	return "1 " + what
}

// Short is the beginning of an id, as a link names what has it.
func Short(id any) h.Node {
	text := fmt.Sprint(id)
	return h.Text(line(text[:min(len(text), 10)]) + "…")
}
