package markup

import (
	"strings"

	"github.com/rivo/uniseg"
)

// layout is how a network without blocks of its own shows a document: as one
// text with spans.
type layout struct {
	tableWidth int // wider tables become lists
	longQuote  int // bytes from which a quote is folded
	// spelled: the network has no links and no quotes, so the text says what
	// they are.
	spelled bool
}

// rule is what a thematic break looks like.
const rule = "———"

// quoteMark stands before each line of a quote that is spelled.
const quoteMark = "> "

func (l layout) flatten(blocks []Block) flatText {
	var f flatBuilder
	quote, quoteStart := 0, 0
	heading := false
	endQuote := func() {
		if quote == 0 {
			return
		}
		style := Quoted
		if len(f.text)-quoteStart >= l.longQuote {
			style = LongQuoted
		}
		f.spans = append(f.spans, Span{Start: quoteStart, End: len(f.text), Style: style})
		quote = 0
	}
	quoted := 0 // the quote of the piece before, where quotes are spelled
	for _, b := range blocks {
		number := b.Quote
		if l.spelled {
			b, b.Quote = b.spellLinks(), 0
		}
		for _, p := range l.pieces(b) {
			sep := "\n\n"
			if p.tight {
				sep = "\n"
			}
			if l.spelled && number != 0 {
				p.text, p.spans = indent(p.text, p.spans, quoteMark, quoteMark)
				if number == quoted && !p.tight {
					sep = "\n>\n"
				}
			}
			if l.spelled {
				quoted = number
			}
			if b.Quote != quote {
				endQuote()
			}
			f.add(sep, p.text, p.spans, !heading)
			if b.Quote != 0 && quote == 0 {
				quote, quoteStart = b.Quote, len(f.text)-len(p.text)
			}
			heading = b.Kind == Heading
		}
	}
	endQuote()
	return f.build()
}

// piece is a block, or a part of a long table, as text.
type piece struct {
	text  string
	spans []Span
	tight bool
}

func (l layout) pieces(b Block) []piece {
	first, rest := b.indents()
	switch b.Kind {
	case Code:
		return markedPre(b, first, []string{b.Text})
	case Table:
		if grid, ok := l.grid(b); ok {
			return markedPre(b, first, grid)
		}
		text, spans := listFromTable(b)
		text, spans = indent(text, spans, first, rest)
		return []piece{{text, spans, b.Tight}}
	case Rule:
		return []piece{{rule, nil, b.Tight}}
	}
	text, spans := indent(b.Text, b.Spans, first, rest)
	if b.Kind == Paragraph && b.Marker == "" && !IsVisible(text) {
		return nil
	}
	return []piece{{text, spans, b.Tight}}
}

// indents gives what stands before the first line of a block and before its
// others.
func (b Block) indents() (first, rest string) {
	if b.Indent == 0 {
		return "", ""
	}
	outer := strings.Repeat("  ", b.Indent-1)
	if b.Marker == "" {
		return outer + "  ", outer + "  "
	}
	return outer + b.Marker + " ", outer + "  "
}

// markedPre gives blocks of code. A marker before them gets a line of its own:
// it is no part of the code.
func markedPre(b Block, marker string, texts []string) []piece {
	var out []piece
	tight := b.Tight
	if b.Marker != "" {
		out = append(out, piece{strings.TrimRight(marker, " "), nil, tight})
		tight = true
	}
	for _, t := range texts {
		if IsVisible(t) {
			out = append(out, piece{t, []Span{{End: len(t), Style: Pre, Lang: language(b.Lang)}}, tight})
		}
		tight = false
	}
	return out
}

// language returns what may name a language: a short word.
func language(s string) string {
	const longest = 32
	if len(s) > longest || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("<>\"'`", r) }) {
		return ""
	}
	return s
}

// maxGrid bounds the bytes of one block of a table. A longer table goes on in
// another block under the same header.
const maxGrid = 2400

// grid draws a table with aligned columns, if it is narrow enough for a
// telephone.
func (l layout) grid(b Block) ([]string, bool) {
	var widths []int
	for _, row := range b.Rows {
		for i, c := range row {
			if strings.Contains(c.Text, "\n") {
				return nil, false
			}
			if i == len(widths) {
				widths = append(widths, 1)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(c.Text))
		}
	}
	total := 3 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	if total > l.tableWidth || len(b.Rows) == 0 {
		return nil, false
	}
	head := gridLine(b.Rows[0], widths, b.Align) + "\n" + gridRule(widths)
	var out []string
	text := head
	for _, row := range b.Rows[1:] {
		if len(text) > maxGrid {
			out = append(out, text)
			text = head
		}
		text += "\n" + gridLine(row, widths, b.Align)
	}
	return append(out, text), true
}

func gridRule(widths []int) string {
	parts := make([]string, len(widths))
	for i, w := range widths {
		parts[i] = strings.Repeat("-", w)
	}
	return strings.Join(parts, "-+-")
}

func gridLine(row []Cell, widths []int, align []Alignment) string {
	parts := make([]string, len(widths))
	for i, w := range widths {
		text := ""
		if i < len(row) {
			text = row[i].Text
		}
		gap := max(0, w-uniseg.StringWidth(text))
		a := Left
		if i < len(align) {
			a = align[i]
		}
		left := 0
		switch a {
		case Center:
			left = gap / 2
		case Right:
			left = gap
		}
		parts[i] = strings.Repeat(" ", left) + text + strings.Repeat(" ", gap-left)
	}
	return strings.TrimRight(strings.Join(parts, " | "), " ")
}

// listFromTable tells a wide table as a list: each row an item, each cell a line
// under the name of its column.
func listFromTable(b Block) (string, []Span) {
	var f flatBuilder
	var head []Cell
	if len(b.Rows) > 0 {
		head = b.Rows[0]
	}
	for _, row := range b.Rows[min(1, len(b.Rows)):] {
		mark := "• "
		for i, c := range row {
			if c.Text == "" {
				continue
			}
			label := mark
			if i < len(head) && head[i].Text != "" {
				label += head[i].Text + ": "
			}
			text, spans := indent(c.Text, c.Spans, label, "  ")
			f.add("\n", text, spans, false)
			mark = "  "
		}
	}
	if len(b.Rows) == 1 {
		for _, c := range head {
			f.add("\n", c.Text, c.Spans, false)
		}
	}
	d := f.build()
	return d.text, d.spans
}
