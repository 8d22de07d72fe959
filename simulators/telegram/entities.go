package telegram

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxText is the length of a message in UTF-16 code units.
const maxText = 4096

// utf16Len counts the UTF-16 code units of s.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// textUnder returns the text under an entity.
func textUnder(s string, offset, length int) string {
	u := utf16.Encode([]rune(s))
	if offset < 0 || length < 0 || offset+length > len(u) {
		return ""
	}
	return string(utf16.Decode(u[offset : offset+length]))
}

func fold(s string) string { return strings.ToLower(s) }

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// detect finds what a Telegram client marks by itself: commands, mentions,
// hashtags and links.
func detect(s string) []Entity {
	if !strings.ContainsAny(s, "/@#") {
		return nil
	}
	var found []Entity
	at := 0 // UTF-16 offset of s[i]
	for i := 0; i < len(s); {
		kind, n := detectAt(s, i)
		if n > 0 {
			size := utf16Len(s[i : i+n])
			found = append(found, Entity{Type: kind, Offset: at, Length: size})
			at, i = at+size, i+n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		at, i = at+max(utf16.RuneLen(r), 1), i+size
	}
	return found
}

// detectAt returns the kind and byte length of an entity that begins at i.
func detectAt(s string, i int) (kind string, n int) {
	before := byte(' ')
	if i > 0 {
		before = s[i-1]
	}
	if isWordByte(before) || before >= utf8.RuneSelf {
		return "", 0
	}
	rest := s[i:]
	switch rest[0] {
	case '@':
		if n := wordLength(rest[1:], 32); n >= 3 && before != '@' {
			return "mention", n + 1
		}
	case '/':
		n := wordLength(rest[1:], 64)
		if n == 0 || before == '/' || before == '<' || before == '>' {
			return "", 0
		}
		n++
		if n < len(rest) && rest[n] == '@' {
			if m := wordLength(rest[n+1:], 32); m >= 3 {
				n += m + 1
			}
		}
		if n < len(rest) && rest[n] == '/' {
			return "", 0
		}
		return "bot_command", n
	case '#':
		if n := wordLength(rest[1:], 256); n > 0 && before != '#' {
			return "hashtag", n + 1
		}
	case 'h':
		if strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://") {
			end := strings.IndexAny(rest, " \t\n<>\"")
			if end < 0 {
				end = len(rest)
			}
			return "url", len(strings.TrimRight(rest[:end], ".,;:!?)'"))
		}
	}
	return "", 0
}

// wordLength counts the word characters at the start of s; more than limit count as
// none.
func wordLength(s string, limit int) int {
	n := 0
	for n < len(s) && isWordByte(s[n]) {
		n++
	}
	if n > limit {
		return 0
	}
	return n
}

// merge adds what a client detects to given entities, without overlaps.
func merge(given, detected []Entity) []Entity {
	if len(given) == 0 {
		return detected
	}
	all := slices.Clone(given)
	for _, d := range detected {
		free := true
		for _, g := range given {
			if d.Offset < g.Offset+g.Length && g.Offset < d.Offset+d.Length && slices.Contains(solid, g.Type) {
				free = false
			}
		}
		if free {
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, byPosition)
	return all
}

// solid entities admit no detected one inside.
var solid = []string{"code", "pre", "text_link", "text_mention", "mention", "bot_command", "url", "custom_emoji", "hashtag"}

func byPosition(a, b Entity) int {
	if a.Offset != b.Offset {
		return a.Offset - b.Offset
	}
	return b.Length - a.Length
}

// mentionsOf places text mentions on their names.
func mentionsOf(text string, names []TextMention) []Entity {
	var es []Entity
	for _, m := range names {
		if i := strings.Index(text, m.Name); i >= 0 && m.Name != "" {
			u := m.User.wire()
			es = append(es, Entity{Type: "text_mention", Offset: utf16Len(text[:i]), Length: utf16Len(m.Name), User: &u})
		}
	}
	return es
}
