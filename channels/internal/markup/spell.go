package markup

import (
	"sort"
	"strings"
)

// spellLinks gives a block whose links say their addresses: "label (address)". The
// span of a link stays, over both, so that it is not parted.
func (b Block) spellLinks() Block {
	b.Text, b.Spans = spellOut(b.Text, b.Spans)
	rows := make([][]Cell, len(b.Rows))
	for i, row := range b.Rows {
		rows[i] = make([]Cell, len(row))
		for j, c := range row {
			rows[i][j].Text, rows[i][j].Spans = spellOut(c.Text, c.Spans)
		}
	}
	b.Rows = rows
	return b
}

// spellOut puts the address behind each link that does not show it, and moves
// what follows.
func spellOut(text string, spans []Span) (string, []Span) {
	type insert struct {
		at   int
		what string
	}
	var inserts []insert
	for _, s := range spans {
		if s.Style == Link && !showsAddress(text[s.Start:s.End], s.URL) {
			inserts = append(inserts, insert{s.End, " (" + s.URL + ")"})
		}
	}
	if len(inserts) == 0 {
		return text, spans
	}
	sort.SliceStable(inserts, func(i, j int) bool { return inserts[i].at < inserts[j].at })
	var b strings.Builder
	done := 0
	for _, in := range inserts {
		b.WriteString(text[done:in.at])
		b.WriteString(in.what)
		done = in.at
	}
	b.WriteString(text[done:])
	// What ends where an address is put in ends before it, but for the link.
	moved := func(at int, behind bool) int {
		by := 0
		for _, in := range inserts {
			if in.at < at || behind && in.at == at {
				by += len(in.what)
			}
		}
		return at + by
	}
	out := make([]Span, len(spans))
	for i, s := range spans {
		out[i] = s
		out[i].Start = moved(s.Start, true)
		out[i].End = moved(s.End, s.Style == Link)
	}
	return b.String(), out
}

// showsAddress reports whether a label is the address itself.
func showsAddress(label, address string) bool {
	return label == address || "http://"+label == address || "mailto:"+label == address
}
