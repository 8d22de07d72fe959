package redaction

import (
	"slices"
	"strings"
)

// forms is all that is looked for in a text: secrets as they are written down, and what
// keys look like. Both are found in one pass, by their first two bytes.
type forms struct {
	secrets []string
	begins  [1 << 16 / 64]uint64 // a bit for each two bytes with which something begins
	at      [1 << 16]uint16      // of those, which of starts
	starts  []start
	longest int // of the forms of secrets, in bytes
}

// start is what begins with two bytes.
type start struct {
	forms []string // of secrets, the longest first
	rules []int    // which of rules
}

func newForms(secrets []string) *forms {
	f := &forms{secrets: secrets}
	for n, r := range rules {
		for _, k := range r.starts() {
			s := f.start(k)
			s.rules = append(s.rules, n)
		}
	}
	for _, secret := range secrets {
		for _, form := range spellings(secret) {
			s := f.start(pairKey(form[0], form[1]))
			if !slices.Contains(s.forms, form) {
				s.forms = append(s.forms, form)
				f.longest = max(f.longest, len(form))
			}
		}
	}
	for _, s := range f.starts {
		slices.SortFunc(s.forms, func(a, b string) int { return len(b) - len(a) })
	}
	return f
}

// start returns what begins with two bytes, to add to it.
func (f *forms) start(k uint16) *start {
	if !f.mayBegin(k) {
		f.begins[k/64] |= 1 << (k % 64)
		f.at[k] = uint16(len(f.starts)) // there are no more than keys
		f.starts = append(f.starts, start{})
	}
	return &f.starts[f.at[k]]
}

func pairKey(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

func (f *forms) mayBegin(k uint16) bool { return f.begins[k/64]&(1<<(k%64)) != 0 }

// opening is where that begins at the end of a text which may become a key when the text
// goes on, or the text's length.
type opening struct {
	key     int // the key itself
	context int // and what tells that it is one, including that of a key which may go on
}

// find returns where secrets and keys stand in s, by where they begin.
func (f *forms) find(s string) (found []span, open opening) {
	open = opening{len(s), len(s)}
	var done [len(rules)]int // up to where each rule has looked: none looks anywhere twice
	for i := 0; i+1 < len(s); i++ {
		k := pairKey(s[i], s[i+1])
		if !f.mayBegin(k) {
			continue
		}
		start := f.starts[f.at[k]]
		for _, form := range start.forms {
			if n, whole := matchForm(form, s[i:]); whole || n >= enough(form) && isCut(s[i+n:]) {
				found = append(found, span{i, i + n})
				break
			}
		}
		for _, n := range start.rules {
			if i < done[n] || !rules[n].begins(s, i) {
				continue
			}
			m := rules[n].match(s, i)
			done[n] = max(m.to, i+1)
			if m.is == key {
				found = append(found, span{m.from, m.to})
			}
			if m.is != other && m.to == len(s) {
				open.context = min(open.context, m.from, i)
			}
			if m.is == unclear && m.to == len(s) {
				open.key = min(open.key, m.from)
			}
		}
	}
	return found, open
}

// minimum is how much of a secret is no secret yet: so much of its beginning may be
// shown while it is not known whether the rest comes.
const minimum = 4

// partialStart returns where the end of s may be the beginning of a form, of so many bytes
// at least, or len(s).
func (f *forms) partialStart(s string, least int) int {
	for i := max(0, len(s)-2*f.longest-maxBreak); i+least <= len(s); i++ {
		k := pairKey(s[i], s[i+1])
		if !f.mayBegin(k) {
			continue
		}
		for _, form := range f.starts[f.at[k]].forms {
			if n, whole := matchForm(form, s[i:]); !whole && n == len(s)-i {
				return i
			}
		}
	}
	return len(s)
}

// enough is how much of the beginning of a form is too much to be shown where the rest was
// cut off: what stands in front of a key is not secret (sk-ant-api03-, the number of a bot).
func enough(form string) int { return min(16, max(Shortest, len(form)/2)) }

// cuts is what stands behind a text of which the rest was cut off before it came here.
var cuts = [...]string{"…", "...", "\n[output truncated", "\n\n[output truncated", " [cut", "\n[cut", "[…"}

// isCut reports whether what stands in front of rest was cut off there.
func isCut(rest string) bool {
	if len(rest) < 4 && strings.TrimSpace(rest) == "" {
		return true
	}
	for _, c := range cuts {
		if strings.HasPrefix(rest, c) {
			return true
		}
	}
	// The end of what a third party said: see tools.FrameUntrusted.
	line, ok := strings.CutPrefix(rest, "\n")
	return ok && len(line) >= frameMark && run(line, 0, isHex) == frameMark
}

// frameMark is the length of the mark behind what a third party said.
const frameMark = 16

// matchForm reports how far s begins as form does, and whether with all of it. Lines may
// be broken within: base64 prints 76 characters to a line, hexdumps 60.
func matchForm(form, s string) (n int, whole bool) {
	if strings.HasPrefix(s, form) {
		return len(form), true
	}
	k, solid := 0, 0 // solid: without the line break behind it
	for k < len(form) {
		if n == len(s) {
			return n, false
		}
		if s[n] == form[k] {
			n, k = n+1, k+1
			solid = n
			continue
		}
		gap := 0
		if k >= minimum {
			gap = lineBreak(s[n:])
		}
		if gap == 0 {
			return solid, false
		}
		n += gap
	}
	return n, true
}

// maxBreak is how long what lineBreak finds is at most, in bytes.
const maxBreak = 4 + 16

// lineBreak returns the length of the end of a line, also as a string of JSON has it, with
// which s begins, and of the blanks behind it; 0 if it does not.
func lineBreak(s string) int {
	n := 0
	for _, end := range []string{"\r", `\r`, "\n", `\n`} {
		if strings.HasPrefix(s[n:], end) {
			n += len(end)
		}
	}
	if n == 0 {
		return 0
	}
	for n < len(s) && n < maxBreak && (s[n] == ' ' || s[n] == '\t') {
		n++
	}
	return n
}
