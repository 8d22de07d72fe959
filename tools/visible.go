package tools

import (
	"strings"
	"unicode"
)

// Visible returns a text without what no reader sees: control characters, marks of
// direction, invisible letters and selectors, in which text can be hidden from people.
// Line ends become \n.
func Visible(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\u200c', r == '\u200d': // joiners, which scripts and emoji need
			return r
		case r >= 0x600 && r < 0x1000: // signs of Arabic and Syriac, which are seen
			return r
		case unicode.Is(unicode.Cf, r), unicode.IsControl(r), r >= 0xE0000 && r <= 0xE0FFF, r == '\u3164', r == '\u115f', r == '\u1160', r == '\uffa0':
			return -1
		}
		return r
	}, s)
}
