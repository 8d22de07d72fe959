package redaction

import "strings"

// rule is what a kind of key looks like in a text.
type rule struct {
	begin string // its first bytes, at least two
	fold  bool   // its letters may be small or capital
	match func(s string, at int) match
}

// match is what stands in a text where a rule looked.
type match struct {
	is       verdict
	from, to int // the key; to is how far the rule looked
}

type verdict int

const (
	other   verdict = iota // no key, however the text goes on
	unclear                // it may become one
	key
)

// rules has the rule of each kind of key: those of services first, by how they begin.
var rules = func() (all [len(prefixes) + 10]rule) {
	for i, p := range prefixes {
		all[i] = rule{begin: p.begin, match: p.match}
	}
	for i, r := range [len(all) - len(prefixes)]rule{
		{begin: pemBegin, match: matchPEM},
		{begin: encodedPEM, match: matchEncodedPEM},
		{begin: ":", match: matchBotToken},
		{begin: "://", match: matchUserinfo},
		{begin: "authorization", fold: true, match: matchAuthorization},
		{begin: "bearer ", fold: true, match: matchBearer},
		{begin: "basic ", fold: true, match: matchBasic},
		{begin: "secret_access_key", fold: true, match: matchAssigned},
		{begin: "secretaccesskey", fold: true, match: matchAssigned},
		{begin: "session_token", fold: true, match: matchAssigned},
	} {
		all[len(prefixes)+i] = r
	}
	return all
}()

// starts returns the first two bytes with which a text may begin as r says.
func (r rule) starts() (all []uint16) {
	if len(r.begin) == 1 { // and then what a key consists of
		for c := range 256 {
			if isWordOrHyphen(byte(c)) {
				all = append(all, pairKey(r.begin[0], byte(c)))
			}
		}
		return all
	}
	first, second := []byte{r.begin[0]}, []byte{r.begin[1]}
	if r.fold {
		first, second = append(first, first[0]&^0x20), append(second, second[0]&^0x20)
	}
	for _, a := range first {
		for _, b := range second {
			all = append(all, pairKey(a, b))
		}
	}
	return all
}

// begins reports whether s has r's beginning at the place.
func (r rule) begins(s string, at int) bool {
	if len(s)-at < len(r.begin) {
		return false
	}
	head := s[at : at+len(r.begin)]
	return head == r.begin || r.fold && strings.EqualFold(head, r.begin)
}

// partialRule returns where the end of s may be how a rule begins, or len(s).
func partialRule(s string) int {
	digits := len(strings.TrimSuffix(s, ":")) // of a bot
	for digits > 0 && isDigit(s[digits-1]) {
		digits--
	}
	if digits < len(s) && len(s)-digits <= botDigitsMost+1 {
		return digits
	}
	for i := max(0, len(s)-longestBegin+1); i < len(s); i++ {
		for _, r := range rules {
			if tail := s[i:]; len(tail) < len(r.begin) && (r.begin[:len(tail)] == tail || r.fold && strings.EqualFold(r.begin[:len(tail)], tail)) {
				return i
			}
		}
	}
	return len(s)
}

// longestBegin is the most that a rule begins with, in bytes.
var longestBegin = func() (most int) {
	for _, r := range rules {
		most = max(most, len(r.begin))
	}
	return most
}()

// run returns where what takes accepts ends in s, from the place on.
func run(s string, from int, takes func(byte) bool) int {
	for from < len(s) && takes(s[from]) {
		from++
	}
	return from
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_'
}
func isWordOrHyphen(c byte) bool { return isWordByte(c) || c == '-' }
func isTokenByte(c byte) bool    { return isWordOrHyphen(c) || c == '.' }
func isDigit(c byte) bool        { return c >= '0' && c <= '9' }
func isBase64(c byte) bool       { return isWordOrHyphen(c) || c == '+' || c == '/' || c == '=' }
func isCredential(c byte) bool   { return isBase64(c) || c == '.' || c == '~' }
func isHex(c byte) bool          { return isDigit(c) || c >= 'a' && c <= 'f' }
func isBlank(c byte) bool        { return c == ' ' || c == '\t' }
