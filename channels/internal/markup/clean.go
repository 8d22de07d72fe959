package markup

import (
	"strings"
	"unicode"
)

// Clean makes s fit to be shown: invalid UTF-8 becomes U+FFFD, line ends
// become \n, and control characters and the marks that turn the direction of
// text around (they make a text read as what it is not) are dropped. The plain
// direction marks U+200E and U+200F, which honest right-to-left text uses, are
// kept.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, isUnclean) < 0 {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\u2028' || r == '\u2029' || r == '\u0085' || r == '\v' || r == '\f':
			return '\n'
		case isUnclean(r):
			return -1
		}
		return r
	}, s)
}

func isUnclean(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7F && r <= 0x9F, r == 0x2028, r == 0x2029:
		return true
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0xFEFF:
		return true
	case r >= 0xFFF9 && r <= 0xFFFB, r >= 0xE0000 && r <= 0xE001F:
		return true
	}
	return false
}

// IsVisible reports whether a reader would see anything of s.
func IsVisible(s string) bool { return strings.IndexFunc(s, isVisibleRune) >= 0 }

func isVisibleRune(r rune) bool {
	switch r {
	case 0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800, 0x034F, 0x17B4, 0x17B5:
		return false // fillers and blanks that count as letters or symbols
	}
	return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Mn, unicode.Me)
}

// Name makes a name fit to be shown on one line: the first of the given ones of
// which anything is left.
func Name(names ...string) string {
	const most = 64
	for _, s := range names {
		s = strings.Join(strings.Fields(Clean(s)), " ")
		if r := []rune(s); len(r) > most {
			s = string(r[:most])
		}
		if IsVisible(s) {
			return s
		}
	}
	return ""
}

// Brief returns a stranger's text for an error: one line of bounded length.
func Brief(s string) string {
	const most = 200
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7F }), " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
