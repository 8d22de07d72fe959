package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Marks stand in the text of an arg for what is only known at run time. No script holds
// them: checkText refuses control characters, and decodeDollarQuote makes none.
const (
	markAny  = "\x00" // any text
	markName = "\x01" // text that a pattern matched: a name without a slash
	markHome = "\x02" // a home directory
	marks    = markAny + markName + markHome

	markOpen = "\x03" // a bracket that a pattern may begin with; spanBrackets takes it out
)

// maxBraces is how many words a brace expansion may make, and how many braces it may have,
// before it counts as unknown.
const maxBraces = 64

// arg is a word of a command as it will reach the program, as far as that can be seen.
type arg struct {
	text   string // with marks
	splits bool   // may become several arguments, or none
	braces bool   // came out of a brace expansion, or may be one
	node   *syntax.Word
}

// unknown is an argument of which nothing is known.
func unknown(n *syntax.Word) arg { return arg{text: markAny, splits: true, node: n} }

// lit returns the exact text, if it is known.
func (a arg) lit() (string, bool) {
	return a.text, !a.splits && !a.braces && !strings.ContainsAny(a.text, marks)
}

// is reports whether the text is known to be s.
func (a arg) is(s string) bool {
	text, ok := a.lit()
	return ok && text == s
}

// isDynamic reports whether any of the text is only known at run time.
func (a arg) isDynamic() bool { return a.splits || strings.ContainsAny(a.text, marks) }

// mayBeOption reports whether the word may become an argument that begins with a dash: what
// it begins with is only known at run time, or it splits, and the second piece may.
func (a arg) mayBeOption() bool {
	if a.splits && (a.text == "" || strings.Contains(a.text, markAny)) {
		return true
	}
	return a.text != "" && strings.Contains(markAny+markName, a.text[:1])
}

// isPattern reports whether only a pattern makes the text unknown at its beginning: it
// becomes names of files that are there.
func (a arg) isPattern() bool {
	return strings.HasPrefix(a.text, markName) && !strings.Contains(a.text, markAny)
}

// mayBe reports whether the word may become one of the arguments in list, which has spaces
// between them.
func (a arg) mayBe(list string) bool {
	if a.splits && strings.Contains(a.text, markAny) {
		return true
	}
	for word := range strings.FieldsSeq(list) {
		if match(a.text, word) {
			return true
		}
	}
	return false
}

// argsOf returns the arguments that words make.
func argsOf(words []*syntax.Word) []arg {
	var all []arg
	for _, w := range words {
		all = append(all, expandWord(w)...)
	}
	return all
}

// expandWord returns the arguments that one word makes.
func expandWord(w *syntax.Word) []arg {
	split := &syntax.Word{Parts: w.Parts}
	braces := countBraces(w)
	if braces == 0 || braces <= maxBraces && !syntax.SplitBraces(split) {
		a := decodeWord(w)
		a.braces = braces > 0
		return []arg{a}
	}
	var words []*syntax.Word
	if braces <= maxBraces { // the time of SplitBraces grows with the square of it
		words = expandBraces(split)
	}
	if len(words) == 0 || len(words) > maxBraces {
		a := decodeWord(w)
		a.text, a.splits, a.braces = markAny+a.text+markAny, true, true
		return []arg{a}
	}
	var all []arg
	for _, one := range words {
		a := decodeWord(one)
		a.braces, a.node = true, w
		all = append(all, a)
	}
	return all
}

// countBraces returns how many braces of a word are not quoted, {} aside.
func countBraces(w *syntax.Word) (n int) {
	for _, p := range w.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			continue
		}
		for i := 0; i < len(l.Value); i++ {
			switch {
			case l.Value[i] == '\\':
				i++
			case strings.HasPrefix(l.Value[i:], "{}"):
				i++
			case l.Value[i] == '{':
				n++
			}
		}
	}
	return n
}

// expandBraces returns the words that the brace expansions of w make, more than maxBraces
// where there would be too many. What a sequence counts through is a name.
func expandBraces(w *syntax.Word) []*syntax.Word {
	words := []*syntax.Word{{}}
	for _, p := range w.Parts {
		b, ok := p.(*syntax.BraceExp)
		var choices []*syntax.Word
		switch {
		case !ok:
			choices = []*syntax.Word{{Parts: []syntax.WordPart{p}}}
		case b.Sequence:
			choices = []*syntax.Word{{Parts: []syntax.WordPart{&syntax.Lit{Value: "*"}}}}
		default:
			for _, e := range b.Elems {
				choices = append(choices, expandBraces(e)...)
			}
		}
		var next []*syntax.Word
		for _, left := range words {
			for _, right := range choices {
				next = append(next, &syntax.Word{Parts: append(append([]syntax.WordPart{}, left.Parts...), right.Parts...)})
			}
			if len(next) > maxBraces {
				return next
			}
		}
		words = next
	}
	return words
}

// leading returns at most n bytes from the beginning of s that are in set.
func leading(s string, n int, set string) string {
	end := 0
	for end < len(s) && end < n && strings.IndexByte(set, s[end]) >= 0 {
		end++
	}
	return s[:end]
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool  { return r >= '0' && r <= '9' }

// textOf returns the name of a variable that a part of a word is, without any operator.
func textOf(p syntax.WordPart) (string, bool) {
	e, ok := p.(*syntax.ParamExp)
	if !ok || e.Param == nil || e.Excl || e.Length || e.Index != nil || e.Slice != nil || e.Repl != nil || e.Exp != nil {
		return "", false
	}
	return e.Param.Value, true
}
