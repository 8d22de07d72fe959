package markup

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// limits is what one message may hold.
type limits struct {
	units int // of text, as size counts them
	spans int
	size  func(r rune) int
}

// UTF16 counts the UTF-16 code units of r.
func UTF16(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// UTF8 counts the bytes of r.
func UTF8(r rune) int { return max(1, utf8.RuneLen(r)) }

func isSpace(r rune) bool { return unicode.IsSpace(r) }

// splitFlat parts f into messages within the limits, in order, none of them
// without a visible character. A part ends between blocks if that leaves it
// reasonably full, else at the end of a line, of a sentence, of a word; and
// only when there is no such place between two characters as people see them.
// Spaces at the ends of parts are dropped, every other character is kept.
func splitFlat(f flatText, l limits) []flatText {
	var parts []flatText
	for at := f.skipSpace(0); at < len(f.text); {
		f.dropSpansBefore(at)
		end := f.maxEnd(at, l)
		if end < len(f.text) {
			end = f.splitPoint(at, end)
		}
		stop := at + len(strings.TrimRightFunc(f.text[at:end], isSpace))
		if part := f.slice(at, stop); IsVisible(part.text) {
			parts = append(parts, part)
		}
		at = f.skipSpace(end)
	}
	return parts
}

// dropSpansBefore drops the spans that end before at: nothing looks back at them, and
// looking past them at every place takes long where there are many.
func (f *flatText) dropSpansBefore(at int) {
	kept := 0
	for kept < len(f.spans) && f.spans[kept].End <= at {
		kept++
	}
	f.spans = f.spans[kept:]
}

// skipSpace skips what a message cannot begin with: space, but inside code only
// line ends, so that its indentation stays.
func (f *flatText) skipSpace(at int) int {
	for at < len(f.text) {
		r, n := utf8.DecodeRuneInString(f.text[at:])
		if !isSpace(r) || r != '\n' && f.hasStyle(at, Pre) {
			break
		}
		at += n
	}
	return at
}

// hasStyle reports whether the character at a offset has the style.
func (f *flatText) hasStyle(at int, style Style) bool {
	for _, s := range f.spans {
		if s.Start > at {
			return false
		}
		if s.Style == style && at < s.End {
			return true
		}
	}
	return false
}

// maxEnd returns the farthest offset up to which a message that begins at from may
// reach.
func (f *flatText) maxEnd(from int, l limits) int {
	count, next := 0, len(f.spans)
	for i, s := range f.spans {
		if s.Start > from {
			next = i
			break
		}
		if s.End > from {
			count++
		}
	}
	units := 0
	for i, r := range f.text[from:] {
		at := from + i
		for next < len(f.spans) && f.spans[next].Start == at {
			next++
			count++
		}
		units += l.size(r)
		if at > from && (units > l.units || count > l.spans) {
			return at
		}
	}
	return len(f.text)
}

// splitPoint returns the best offset to part the text at, after from and up to end.
func (f *flatText) splitPoint(from, end int) int {
	minimum := from + (end-from)/3
	for i := len(f.seams) - 1; i >= 0; i-- {
		if at := f.seams[i]; at <= end && at > minimum {
			return at
		}
	}
	for _, ends := range []func(before, after rune, at int) bool{f.endsLine, f.endsSentence, endsWord} {
		if at := f.lastBreak(minimum, end, ends); at > 0 {
			return at
		}
	}
	if at := f.lastBreak(from, end, endsWord); at > 0 {
		return at
	}
	if at := f.lastBoundary(from, end, true); at > from {
		return at
	}
	if at := f.lastBoundary(from, end, false); at > from {
		return at
	}
	return end
}

// lastBreak returns the last place after from and up to end where the text may be parted
// and ends says so, or 0.
func (f *flatText) lastBreak(from, end int, ends func(before, after rune, at int) bool) int {
	for at := end; at > from; {
		before, n := utf8.DecodeLastRuneInString(f.text[:at])
		after, _ := utf8.DecodeRuneInString(f.text[at:])
		if ends(before, after, at) && !isCombining(after) && !f.isInside(at, Link, Mono) {
			return at
		}
		at -= n
	}
	return 0
}

func (f *flatText) endsLine(before, after rune, _ int) bool { return before == '\n' || after == '\n' }

func (f *flatText) endsSentence(before, after rune, at int) bool {
	switch before {
	case '。', '！', '？':
		return true
	}
	if !isSpace(after) {
		return false
	}
	s := strings.TrimRight(f.text[:at], `"')]*_»”’`)
	return strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "…")
}

func endsWord(before, after rune, _ int) bool { return isSpace(before) || isSpace(after) }

// isCombining reports whether r belongs to the character before it.
func isCombining(r rune) bool {
	return r == '\u200D' || unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc, unicode.Variation_Selector)
}

// lastBoundary returns the last border between characters after from and up to
// end, outside links if whole is set.
func (f *flatText) lastBoundary(from, end int, whole bool) int {
	found, at, state := 0, from, -1
	for at < end {
		var cluster string
		cluster, _, _, state = uniseg.FirstGraphemeClusterInString(f.text[at:], state)
		at += len(cluster)
		if at <= end && (!whole || !f.isInside(at, Link, Mono)) {
			found = at
		}
	}
	return found
}
