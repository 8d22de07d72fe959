package main

import (
	"bytes"
	"fmt"
	"io"
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

// print writes the table.
func (t *table) print(w io.Writer) error {
	width := map[int]int{}
	for _, row := range t.rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b bytes.Buffer
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
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
	if err := tw.Flush(); err != nil {
		return err //nolint:wrapcheck // a buffer takes everything
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err //nolint:wrapcheck // the caller says what failed
		}
	}
	return nil
}
