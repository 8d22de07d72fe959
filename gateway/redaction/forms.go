package redaction

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// forms are secrets as they are written down, by their first two bytes.
type forms struct {
	secrets []string
	begins  [1 << 16 / 64]uint64 // a bit for each two bytes with which a form begins
	byStart map[uint16][]string  // the longest first
	longest int
}

func newForms(secrets []string) *forms {
	f := &forms{secrets: secrets, byStart: map[uint16][]string{}}
	for _, s := range secrets {
		for _, form := range spellings(s) {
			k := pairKey(form[0], form[1])
			if slices.Contains(f.byStart[k], form) {
				continue
			}
			f.begins[k/64] |= 1 << (k % 64)
			f.byStart[k] = append(f.byStart[k], form)
			f.longest = max(f.longest, len(form))
		}
	}
	for _, all := range f.byStart {
		slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	}
	return f
}

func pairKey(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

// spellings are the ways in which a secret may stand in a text.
func spellings(s string) []string {
	all := []string{s, hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s)))}
	for _, escaped := range []string{url.QueryEscape(s), url.PathEscape(s), url.UserPassword("", s).String()[1:]} {
		all = append(all, escaped, lowerEscapes(escaped))
	}
	if j, err := json.Marshal(s); err == nil { // it always can
		all = append(all, string(j[1:len(j)-1]))
	}
	quoted := strconv.Quote(s)
	all = append(all, quoted[1:len(quoted)-1])
	for shift := range 3 {
		core := base64Core(s, shift)
		all = append(all, core, strings.NewReplacer("+", "-", "/", "_").Replace(core))
	}
	return slices.DeleteFunc(all, func(form string) bool { return len(form) < Shortest })
}

// base64Core returns what the base64 of any text has in common that holds s behind so
// many bytes beyond a multiple of three.
func base64Core(s string, shift int) string {
	whole := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + s))
	first := []int{0, 2, 3}[shift]   // what the bytes before have a part in
	last := (shift + len(s)) * 8 / 6 // what the bytes behind have none in
	return whole[first:last]
}

// lowerEscapes returns an escaped text as others escape it: %3a in place of %3A.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(s[i+1:i+3]))
		}
	}
	return string(b)
}

func (f *forms) mayBegin(k uint16) bool { return f.begins[k/64]&(1<<(k%64)) != 0 }

// find appends to found where forms stand in s.
func (f *forms) find(s string, found []span) []span {
	if len(f.byStart) == 0 {
		return found
	}
	for i := 0; i+1 < len(s); i++ {
		k := pairKey(s[i], s[i+1])
		if !f.mayBegin(k) {
			continue
		}
		for _, form := range f.byStart[k] {
			if strings.HasPrefix(s[i:], form) {
				found = append(found, span{i, i + len(form)})
				i += len(form) - 1
				break
			}
		}
	}
	return found
}

// minimum is how much of a secret is no secret yet: so much of its beginning may be
// shown while it is not known whether the rest comes.
const minimum = 4

// partialStart returns where the end of s may be the beginning of a form, or len(s).
func (f *forms) partialStart(s string) int {
	for i := max(0, len(s)-f.longest+1); i+minimum <= len(s); i++ {
		k := pairKey(s[i], s[i+1])
		if !f.mayBegin(k) {
			continue
		}
		for _, form := range f.byStart[k] {
			if len(form) > len(s)-i && strings.HasPrefix(form, s[i:]) {
				return i
			}
		}
	}
	return len(s)
}
