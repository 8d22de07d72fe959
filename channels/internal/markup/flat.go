package markup

import (
	"sort"
	"strings"
)

// flatText is a whole document laid out for one network: one text, its spans
// (ordered and never crossing, as in Span), and the places between blocks,
// where it is best parted.
type flatText struct {
	text  string
	spans []Span
	seams []int // ascending offsets at which a block begins
}

// flatBuilder is a flat being written.
type flatBuilder struct {
	text  []byte
	spans []Span
	seams []int
}

// add puts a block under what is there already, after sep. A seam is where
// splitting is welcome; there is none between a heading and what it heads.
func (w *flatBuilder) add(sep, text string, spans []Span, seam bool) {
	if len(w.text) > 0 {
		w.text = append(w.text, sep...)
		if seam {
			w.seams = append(w.seams, len(w.text))
		}
	}
	at := len(w.text)
	w.text = append(w.text, text...)
	for _, s := range spans {
		s.Start += at
		s.End += at
		w.spans = append(w.spans, s)
	}
}

func (w *flatBuilder) build() flatText {
	sortSpans(w.spans)
	return flatText{string(w.text), w.spans, w.seams}
}

// slice returns the part of f from a to b with its spans clamped to it.
func (f *flatText) slice(a, b int) flatText {
	part := flatText{text: f.text[a:b]}
	for _, s := range f.spans {
		if s.Start >= b {
			break
		}
		if s.End <= a {
			continue
		}
		s.Start, s.End = max(s.Start, a)-a, min(s.End, b)-a
		part.spans = append(part.spans, s)
	}
	return part
}

// isInside reports whether a style of the given ones covers both sides of at.
func (f *flatText) isInside(at int, styles ...Style) bool {
	for _, s := range f.spans {
		if s.Start >= at {
			return false
		}
		if s.End <= at {
			continue
		}
		for _, want := range styles {
			if s.Style == want {
				return true
			}
		}
	}
	return false
}

// sortSpans puts spans in the order that Span promises, also after trimming
// made some of them equal.
func sortSpans(spans []Span) {
	sort.SliceStable(spans, func(i, j int) bool {
		if spans[i].Start != spans[j].Start {
			return spans[i].Start < spans[j].Start
		}
		if spans[i].End != spans[j].End {
			return spans[i].End > spans[j].End
		}
		return nestingRank(spans[i].Style) < nestingRank(spans[j].Style)
	})
}

// nestingRank returns which of two styles over the same text holds the other: a quote
// all, a link what is in a line, code nothing.
func nestingRank(s Style) int {
	switch s {
	case Quoted, LongQuoted:
		return 0
	case Link:
		return 1
	case Mono, Pre:
		return 3
	default:
		return 2
	}
}

// indent puts first before the text and rest before its other lines, and
// moves the spans along.
func indent(text string, spans []Span, first, rest string) (string, []Span) {
	if first == "" && rest == "" {
		return text, spans
	}
	moved := func(at int) int { return at + len(first) + len(rest)*strings.Count(text[:at], "\n") }
	out := make([]Span, len(spans))
	for i, s := range spans {
		s.Start, s.End = moved(s.Start), moved(s.End)
		out[i] = s
	}
	return first + strings.ReplaceAll(text, "\n", "\n"+rest), out
}

// trimSpans narrows each span to begin and end on something visible as a
// character, and drops what is left empty. Networks do so themselves, and then
// their offsets are not ours.
func trimSpans(text string, spans []Span) []Span {
	out := spans[:0:0]
	for _, s := range spans {
		inner := text[s.Start:s.End]
		s.End -= len(inner) - len(strings.TrimRightFunc(inner, isSpace))
		if s.Style != Pre {
			s.Start += len(inner) - len(strings.TrimLeftFunc(inner, isSpace))
		}
		if s.Start < s.End {
			out = append(out, s)
		}
	}
	sortSpans(out)
	return out
}
