package redaction

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What credentials have at least, in bytes, where only their place tells that they are
// some.
const (
	minToken    = 16
	minAssigned = 40 // of Amazon's keys
)

// maxUserinfo bounds how far a password in a URL is looked for, in bytes.
const maxUserinfo = 1 << 10

// matchUserinfo finds the password in a URL; at is where the slashes are.
func matchUserinfo(s string, at int) match {
	from := at + len("://")
	end := from
	for end < len(s) && end-from < maxUserinfo && !isURLEnd(s[end]) {
		end++
	}
	colon := strings.IndexByte(s[from:end], ':')
	if colon < 0 {
		if end == len(s) {
			return match{unclear, end, end}
		}
		return match{to: end}
	}
	pass := from + colon + 1
	last := strings.LastIndexByte(s[pass:end], '@')
	switch {
	case last < 0 && end == len(s):
		return match{unclear, pass, end}
	case last <= 0 || isPlaceholder(s[pass:pass+last]):
		return match{to: end}
	}
	return match{key, pass, pass + last}
}

func isURLEnd(c byte) bool {
	return c <= ' ' || c == 0x7f || strings.IndexByte("/?#\"'<>`\\|", c) >= 0
}

// isPlaceholder reports whether a password is one that manuals have in its place.
func isPlaceholder(s string) bool {
	switch lower := strings.ToLower(s); lower {
	case "pass", "passwd", "password", "pw", "secret", "token", "your-password", "your_password", "yourpassword":
		return true
	default:
		return strings.IndexByte("$<{[", s[0]) >= 0 || strings.Trim(lower, "x*.-…") == ""
	}
}

// schemes are the ways to say who asks, in the header Authorization.
var schemes = []string{"bearer", "basic", "digest", "token", "bot", "negotiate", "ntlm", "apikey", "key", "aws4-hmac-sha256"}

// matchAuthorization finds what a header Authorization says, in whatever writes headers.
func matchAuthorization(s string, at int) match {
	behind := at + len("authorization")
	from, ok := skipAssignment(s, behind)
	if !ok {
		if from == len(s) {
			return match{unclear, from, from}
		}
		return match{to: behind}
	}
	word := run(s, from, isCredential)
	if word == len(s) {
		if word-from >= minToken && hasDigit(s[from:word]) {
			return match{key, from, word}
		}
		return match{unclear, from, word}
	}
	blanks := run(s, word, isBlank)
	if blanks > word && slices.Contains(schemes, strings.ToLower(s[from:word])) {
		if strings.HasPrefix(s[blanks:], Mark) {
			return match{to: blanks}
		}
		to := blanks
		for to < len(s) && !isHeaderEnd(s[to], strings.EqualFold(s[from:word], "digest")) {
			to++
		}
		if to == blanks {
			return match{unclear, blanks, to}
		}
		return match{key, blanks, to}
	}
	if word-from >= minToken && hasDigit(s[from:word]) {
		return match{key, from, word}
	}
	return match{to: word}
}

// isHeaderEnd reports whether a header's value ends at c: at the end of its line, or with
// the quotes around it, of which some values have their own.
func isHeaderEnd(c byte, quotes bool) bool {
	return c == '\n' || c == '\r' || !quotes && strings.IndexByte("\"'`\\<]", c) >= 0
}

// skipAssignment returns where the value begins that s gives a name which ended at the
// place: behind colon or equals sign, quotes and blanks.
func skipAssignment(s string, at int) (from int, ok bool) {
	from = at
	for from < len(s) && from-at < maxAssignment && strings.IndexByte(" \t\"'`\\:=>[", s[from]) >= 0 {
		ok = ok || s[from] == ':' || s[from] == '=' || s[from] == '>'
		from++
	}
	return from, ok
}

// maxAssignment bounds what stands between a name and its value, in bytes.
const maxAssignment = 12

// matchBearer finds a token by the word in front of it.
func matchBearer(s string, at int) match {
	from := run(s, at+len("bearer "), isBlank)
	to := run(s, from, isCredential)
	switch {
	case at > 0 && isWordByte(s[at-1]):
		return match{to: from}
	case to-from >= minToken && hasDigit(s[from:to]):
		return match{key, from, to}
	}
	return match{unclear, from, to}
}

// matchBasic finds name and password in base64 by the word in front of them.
func matchBasic(s string, at int) match {
	from := run(s, at+len("basic "), isBlank)
	to := run(s, from, isBase64)
	switch {
	case at > 0 && isWordByte(s[at-1]):
		return match{to: from}
	case to-from >= Shortest && isNameAndPassword(decodeBase64(s[from:to])):
		return match{key, from, to}
	}
	return match{unclear, from, to}
}

func isNameAndPassword(s string) bool {
	return strings.Contains(s, ":") && utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}

// plainBase64 makes one alphabet of two, and one line of several.
var plainBase64 = strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "", " ", "")

// decodeBase64 returns what base64 of either alphabet says, as far as it is some.
func decodeBase64(s string) string {
	s = plainBase64.Replace(strings.TrimRight(s, "="))
	b := make([]byte, base64.RawStdEncoding.DecodedLen(len(s)))
	n, _ := base64.RawStdEncoding.Decode(b, []byte(s)) // as far as it went
	return string(b[:n])
}

// matchAssigned finds a key of Amazon Web Services by its name.
func matchAssigned(s string, at int) match {
	behind := run(s, at, isWordByte)
	from, ok := skipAssignment(s, behind)
	if !ok {
		if from == len(s) {
			return match{unclear, from, from}
		}
		return match{to: behind}
	}
	to := run(s, from, isBase64)
	if to-from >= minAssigned {
		return match{key, from, to}
	}
	return match{unclear, from, to}
}
