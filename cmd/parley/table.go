package main

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// table is columns for people: aligned, without colours, a line for each row.
type table struct {
	rows  [][]string
	right map[int]bool // columns of numbers
}

func newTable(head ...string) *table {
	t := &table{right: map[int]bool{}}
	for i, h := range head {
		if name, ok := strings.CutPrefix(h, ">"); ok {
			head[i], t.right[i] = name, true
		}
	}
	t.rows = append(t.rows, head)
	return t
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// printOr writes the table to b, or, if it has no rows, a sentence that says so.
func (t *table) printOr(b *bytes.Buffer, none string) {
	if len(t.rows) == 1 {
		b.WriteString(none + "\n")
		return
	}
	t.print(b)
}

// print writes the table to b.
func (t *table) print(b *bytes.Buffer) {
	width := map[int]int{}
	for _, row := range t.rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var aligned bytes.Buffer
	tw := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			if t.right[i] {
				cell = strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)) + cell
			}
			cells[i] = cell
		}
		_, _ = fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	_ = tw.Flush() // a buffer takes everything
	for line := range strings.Lines(aligned.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}
