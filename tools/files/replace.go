package files

import (
	"fmt"
	"strings"

	"parley/tools"
)

// replace makes the edit that in asks for in text and says on which lines, from
// 1. The result has no more than most bytes. In a file whose lines all end in CRLF
// the edit is made with the line ends a model writes, and they are kept.
func replace(text string, in editInput, limit int64) (changed string, lines []int, err error) {
	old, with := in.OldText, in.NewText
	breaks := strings.Count(text, "\n")
	pairs := strings.Count(text, "\r\n")
	crlf := pairs > 0 && pairs == breaks
	if crlf || pairs == 0 {
		text, old, with = toUnixLines(text), toUnixLines(old), toUnixLines(with)
	}
	at := occurrences(text, old, in.ReplaceAll)
	switch {
	case len(at) == 0:
		return "", nil, explainNotFound(text, old)
	case len(at) > 1 && !in.ReplaceAll:
		return "", nil, tools.Errorf(tools.Permanent, "old_text occurs more than once (%s); add the lines around it until it is the only one, or set replace_all", lineList(lineNumbers(text, at)))
	}
	size := int64(len(text)) + int64(len(at))*int64(len(with)-len(old))
	if size > limit {
		return "", nil, tools.Errorf(tools.Permanent, "the file would have %d bytes; the most is %d", size, limit)
	}
	lines = lineNumbers(text, at)
	if changed = strings.ReplaceAll(text, old, with); crlf {
		changed = strings.ReplaceAll(changed, "\n", "\r\n")
	}
	if int64(len(changed)) > limit {
		return "", nil, tools.Errorf(tools.Permanent, "the file would have %d bytes; the most is %d", len(changed), limit)
	}
	return changed, lines, nil
}

func toUnixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// shownLines is how many places an answer names.
const shownLines = 5

// occurrences returns where old begins in text: all that are replaced together, or,
// to tell whether there is one only, the first few, also such that overlap.
func occurrences(text, old string, all bool) []int {
	step := 1
	if all {
		step = len(old)
	}
	var at []int
	for from := 0; all || len(at) <= shownLines; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + step
	}
	return at
}

// lineNumbers returns the lines, from 1, on which the ascending offsets are.
func lineNumbers(text string, at []int) []int {
	out := make([]int, len(at))
	line, from := 1, 0
	for i, n := range at {
		line += strings.Count(text[from:n], "\n")
		out[i], from = line, n
	}
	return out
}

func lineList(lines []int) string {
	words := make([]string, 0, shownLines)
	for _, n := range lines[:min(len(lines), shownLines)] {
		words = append(words, fmt.Sprint(n))
	}
	text := "lines " + strings.Join(words, ", ")
	if len(lines) > shownLines {
		text += " and more"
	}
	return text
}

// explainNotFound reports where to look: the lines that are like the first of old but for
// white space.
func explainNotFound(text, old string) error {
	first, _, _ := strings.Cut(strings.TrimSpace(old), "\n")
	first = strings.TrimSpace(first)
	var like []int
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		if n++; first != "" && len(like) <= shownLines && strings.TrimSpace(line) == first {
			like = append(like, n)
		}
	}
	if len(like) == 0 {
		return tools.Errorf(tools.Permanent, "old_text is not in the file; read the file and copy the text exactly")
	}
	return tools.Errorf(tools.Permanent, "old_text is not in the file; its first line is there but for white space (%s), so compare indentation, line ends and the lines that follow", lineList(like))
}
