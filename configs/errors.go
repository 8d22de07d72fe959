package configs

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Error is all mistakes of one configuration.
type Error struct {
	File     string
	Mistakes []Mistake
	source   []byte
}

// Mistake is one of them. Line and Column count from 1; 0: nowhere in the file.
type Mistake struct {
	Line, Column int
	Path         string
	Message      string
}

// Error says each mistake as file:line:column: path: message, with the line it
// stands in, unless that line may hold a secret.
func (e *Error) Error() string {
	lines := strings.Split(string(e.source), "\n")
	var b strings.Builder
	for i, m := range e.Mistakes {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.File + ":")
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
		if m.Line > 0 && m.Line <= len(lines) {
			excerpt(&b, lines[m.Line-1], m.Column)
		}
	}
	return b.String()
}

// excerpt shows the key of a line with a caret under it. The value is left
// out: it may be a secret in the wrong place.
func excerpt(b *strings.Builder, line string, column int) {
	key, _, ok := strings.Cut(line, ":")
	if !ok || column < 1 || column > len(key) {
		return
	}
	fmt.Fprintf(b, "\n    %s: …\n    %s^", key, strings.Repeat(" ", column-1))
}

func (e *Error) sort() {
	slices.SortStableFunc(e.Mistakes, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)

// yamlMistakes puts the YAML reader's own errors into our form.
func yamlMistakes(err error) []Mistake {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ := strconv.Atoi(m[1])
		return []Mistake{{Line: line, Column: 1, Message: "this is not YAML: " + m[2]}}
	}
	return []Mistake{{Message: "this is not YAML: " + text}}
}
