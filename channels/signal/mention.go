package signal

import (
	"cmp"
	"slices"
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
		opens := markup.IsBlank(out) && markup.IsBlank(units[done:m.Start])
		out = append(out, units[done:m.Start]...)
		done = end
		if ours(m) {
			a.mentioned = true
			if opens {
				out, done = nil, markup.SkipGreeting(units, end)
				continue
			}
		}
		out = append(out, utf16.Encode([]rune("@"+mentionName(m)))...)
	}
	a.text = string(utf16.Decode(append(out, units[done:]...)))
	return a
}

// mentionName returns how a mention reads: by the name that signal-cli knows, which for
// strangers is a number or a part of the ACI.
func mentionName(m mention) string {
	name := cmp.Or(markup.Name(m.Name, m.Number, m.UUID), "?")
	if aciForm.MatchString(name) {
		return name[:8]
	}
	return name
}

// splitsSurrogates reports whether at lies between the halves of one character.
func splitsSurrogates(units []uint16, at int) bool {
	return at > 0 && at < len(units) && utf16.IsSurrogate(rune(units[at])) && units[at] >= 0xDC00 && units[at-1] >= 0xD800 && units[at-1] < 0xDC00
}
