package replay

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxShown is how much of a line is shown around the first difference, on
// either side of it.
const maxShown = 60

// diffText shows where two texts part: the line, as it was and as it is.
func diffText(what, was, is string) string {
	if was == is {
		return ""
	}
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	place := what
	if len(a) > 1 || len(b) > 1 {
		place += fmt.Sprintf(", line %d", n+1)
	}
	old, now := lineOf(a, n), lineOf(b, n)
	at := 0
	for at < len(old) && at < len(now) && old[at] == now[at] {
		at++
	}
	return fmt.Sprintf("%s:\n- %s\n+ %s\n", place, excerpt(old, at), excerpt(now, at))
}

func lineOf(lines []string, n int) string {
	if n < len(lines) {
		return lines[n]
	}
	return "(nothing)"
}

// excerpt is s near the byte at.
func excerpt(s string, at int) string {
	from, to := max(0, at-maxShown), min(len(s), at+maxShown)
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	out := s[from:to]
	if from > 0 {
		out = "…" + out
	}
	if to < len(s) {
		out += "…"
	}
	return out
}

// diffValue shows two values of the same thing.
func diffValue(what string, was, is any) string {
	if was == is {
		return ""
	}
	return fmt.Sprintf("%s:\n- %v\n+ %v\n", what, was, is)
}
