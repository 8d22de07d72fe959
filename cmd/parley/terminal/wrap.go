package terminal

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// Row is one row of a text that was broken for a terminal.
type Row struct {
	Text  string // without what a terminal would obey
	Start int    // the byte of the text with which it begins
}

// Width returns how many columns a text takes that has no line breaks.
func Width(text string) int { return uniseg.StringWidth(text) }

const tabStop = 4

// Wrap breaks a text into rows of at most so many columns, between words where there are
// any.
func Wrap(text string, columns int) (rows []Row) {
	columns = max(columns, 1)
	at := 0
	for line := range strings.SplitSeq(text, "\n") {
		rows = append(rows, wrapLine(line, at, columns)...)
		at += len(line) + 1
	}
	return rows
}

// wrapLine breaks one line, which begins with the byte start of its text.
func wrapLine(line string, start, columns int) (rows []Row) {
	var row strings.Builder
	width := 0         // of row
	begin := 0         // of row, in line
	gap, after := 0, 0 // the last blank in row, and where the next row goes on if it is broken there
	state := -1
	for at := 0; at < len(line); {
		var cluster string
		var w int
		cluster, _, w, state = uniseg.FirstGraphemeClusterInString(line[at:], state)
		next := at + len(cluster)
		cluster, w = harmless(cluster, w, width)
		if width+w > columns && width > 0 {
			text := row.String()
			if gap > 0 && cluster != " " {
				rows = append(rows, Row{text[:gap], start + begin})
				text = text[gap+1:]
				begin = after
			} else {
				rows = append(rows, Row{strings.TrimRight(text, " "), start + begin})
				text, begin = "", at
			}
			row.Reset()
			row.WriteString(text)
			width, gap = uniseg.StringWidth(text), 0
			if cluster == " " { // the row's end is blank enough
				begin, at = next, next
				continue
			}
		}
		if cluster == " " && strings.TrimSpace(row.String()) != "" {
			gap, after = row.Len(), next
		}
		row.WriteString(cluster)
		width += w
		at = next
	}
	return append(rows, Row{row.String(), start + begin})
}

// harmless returns a character as it may be printed, and how wide it is: tabs as blanks,
// and nothing that moves the cursor or changes the terminal.
func harmless(cluster string, width, column int) (string, int) {
	if cluster == "\t" {
		n := tabStop - column%tabStop
		return strings.Repeat(" ", n), n
	}
	if strings.ContainsFunc(cluster, isUnsafe) {
		cluster = strings.Map(func(r rune) rune {
			if isUnsafe(r) {
				return -1
			}
			return r
		}, cluster)
		width = uniseg.StringWidth(cluster)
	}
	return cluster, width
}

// isUnsafe reports whether a terminal may take a character for an order.
func isUnsafe(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }
