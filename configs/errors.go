package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is all mistakes of one configuration, in the order of the file, and then those of
// files that it names.
type Error struct {
	File     string
	Mistakes []Mistake
}

// Mistake is one of them. Line and Column count from 1; 0: nowhere in the file.
type Mistake struct {
	File         string // "": that of the Error
	Line, Column int
	Path         string // as providers.main.api_key
	Message      string

	key       string // of the line, if it may be shown
	keyColumn int
}

// Error says each mistake as file:line:column: path: message, and where the
// line's key is known shows it with a caret. Values are never shown: they may
// be secrets.
func (e *Error) Error() string {
	var b strings.Builder
	for i, m := range e.Mistakes {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(cmp.Or(m.File, e.File) + ":")
		if m.Line > 0 {
			fmt.Fprintf(&b, "%d:", m.Line)
			if m.Column > 0 {
				fmt.Fprintf(&b, "%d:", m.Column)
			}
		}
		if m.Path != "" {
			b.WriteString(" " + m.Path + ":")
		}
		b.WriteString(" " + m.Message)
		m.excerpt(&b)
	}
	return b.String()
}

func (m Mistake) excerpt(b *strings.Builder) {
	caret := m.Column - m.keyColumn
	if m.key == "" || caret < 0 || caret > len(m.key)+len(": ") {
		return
	}
	fmt.Fprintf(b, "\n    %s: …\n    %s^", m.key, strings.Repeat(" ", caret))
}

func (d *decoder) report(file string) *Error {
	for i, m := range d.mistakes {
		d.mistakes[i].Message = d.withoutSecrets(m.Message)
		d.mistakes[i].Path = d.withoutSecrets(m.Path)
	}
	slices.SortStableFunc(d.mistakes, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &Error{File: file, Mistakes: d.mistakes}
}
