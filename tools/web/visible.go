package web

import (
	"html"
	"strings"

	"parley/tools"
)

// line returns a text as one line of at most limit bytes: without tags, with what stands
// for characters replaced by them.
func line(s string, limit int) string {
	s = strings.Join(strings.Fields(tools.Visible(html.UnescapeString(withoutTags(s)))), " ")
	if len(s) <= limit {
		return s
	}
	return s[:wholeRunes([]byte(s[:limit]))] + "…"
}
