package replay

import (
	"strings"

	"parley/channels"
)

// quoted takes what a model read of a group's message apart: the lines that it
// answered, who wrote it, and the text.
func quoted(text string) (q *channels.Quote, name, rest string) {
	var lines []string
	for strings.HasPrefix(text, "> ") {
		line, after, ok := strings.Cut(text, "\n")
		if !ok {
			break
		}
		lines, text = append(lines, strings.TrimPrefix(line, "> ")), after
	}
	if len(lines) > 0 {
		q = &channels.Quote{Text: strings.Join(lines, "\n")}
	}
	if after, ok := strings.CutPrefix(text, "["); ok {
		if who, said, ok := strings.Cut(after, "] "); ok {
			name, text = who, said
		}
	}
	return q, name, text
}
