package signal

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"parley/channels/internal/markup"
)

// addressedText is to whom a text speaks.
type addressedText struct {
	text      string // with names where Signal has placeholders, and without a mention of us at its start
	mentioned bool
}

// resolveMentions puts names in the place of mentions. Ranges are in UTF-16 units; the
// text under one is a placeholder, U+FFFC, which says nothing. Ranges that lie
// outside of the text or in one another are ignored. A name is never read as a
// mention: "@us" that somebody types is none.
func resolveMentions(text string, mentions []mention, ours func(mention) bool) addressedText {
	a := addressedText{text: text}
	if len(mentions) == 0 {
		return a
	}
	units := utf16.Encode([]rune(text))
	sorted := slices.Clone(mentions)
	slices.SortStableFunc(sorted, func(a, b mention) int { return a.Start - b.Start })
	var out []uint16
	done := 0 // units that are in out or were left out
	for _, m := range sorted {
		if m.Start < done || m.Length <= 0 || m.Start > len(units) || m.Length > len(units)-m.Start || splitsSurrogates(units, m.Start) || splitsSurrogates(units, m.Start+m.Length) {
			continue
		}
		end := m.Start + m.Length
		opens := isBlank(out) && isBlank(units[done:m.Start])
		out = append(out, units[done:m.Start]...)
		done = end
		if ours(m) {
			a.mentioned = true
			if opens {
				out, done = nil, skipGreeting(units, end)
				continue
			}
		}
		out = append(out, utf16.Encode([]rune("@"+mentionName(m)))...)
	}
	a.text = string(utf16.Decode(append(out, units[done:]...)))
	return a
}

// mentionName is how a mention reads: by the name that signal-cli knows, which for
// strangers is a number or a part of the ACI.
func mentionName(m mention) string {
	for _, s := range []string{m.Name, m.Number, m.UUID} {
		if s = displayName(s); s != "" {
			if aciForm.MatchString(s) {
				s = s[:8]
			}
			return s
		}
	}
	return "?"
}

// displayName makes a name fit to be shown on one line.
func displayName(s string) string {
	const most = 64
	s = strings.Join(strings.Fields(markup.Clean(s)), " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most])
	}
	if !markup.IsVisible(s) {
		return ""
	}
	return s
}

// splitsSurrogates says whether at lies between the halves of one character.
func splitsSurrogates(units []uint16, at int) bool {
	return at > 0 && at < len(units) && utf16.IsSurrogate(rune(units[at])) && units[at] >= 0xDC00 && units[at-1] >= 0xD800 && units[at-1] < 0xDC00
}

func isBlank(units []uint16) bool {
	for _, u := range units {
		if !unicode.IsSpace(rune(u)) {
			return false
		}
	}
	return true
}

// skipGreeting passes over "," or ":" and the spaces after a mention.
func skipGreeting(units []uint16, at int) int {
	if at < len(units) && (units[at] == ',' || units[at] == ':') {
		at++
	}
	for at < len(units) && unicode.IsSpace(rune(units[at])) {
		at++
	}
	return at
}
