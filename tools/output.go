package tools

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Defaults for every tool.
const (
	DefaultOutput  = 200_000 // bytes of one result (F22)
	DefaultTimeout = 120 * time.Second
)

// Truncate cuts s to at most limit bytes at the border of a character, the notice
// about it included; limit 0 or less means DefaultOutput. Bytes that are not
// UTF-8 are replaced first, because no provider takes them.
func Truncate(s string, limit int) string {
	if limit <= 0 {
		limit = DefaultOutput
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, string(utf8.RuneError))
	}
	if len(s) <= limit {
		return s
	}
	// The notice is as long as it can get, so that it always fits.
	notice := func(kept int) string {
		return fmt.Sprintf("\n\n[output truncated: %d of %d bytes shown]", kept, len(s))
	}
	room := limit - len(notice(len(s)))
	if room < 0 {
		return prefix(s, limit)
	}
	kept := prefix(s, room)
	return kept + notice(len(kept))
}

// prefix returns the longest prefix of s that has at most n bytes and ends between two
// characters.
func prefix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
