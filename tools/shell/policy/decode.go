package policy

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// decodeWord removes the quotes of a word and marks what is not known.
func decodeWord(w *syntax.Word) arg {
	a := arg{node: w}
	if w.Lit() == "[" { // the command
		a.text = "["
		return a
	}
	var b strings.Builder
	for i, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(decodeLit(p.Value, i == 0))
		case *syntax.SglQuoted:
			b.WriteString(decodeSingle(p))
		case *syntax.DblQuoted:
			text := decodeExpanding(p.Parts, "$`\"\\")
			if p.Dollar { // a translation may stand for it
				text = markAny
			}
			b.WriteString(text)
			a.splits = a.splits || splitsQuoted(p)
		case *syntax.ExtGlob: // unlike other patterns, it may match a dot at the beginning
			b.WriteString(markAny)
			a.splits = true
		case *syntax.ProcSubst:
			b.WriteString("/dev/fd/" + markAny)
		default:
			b.WriteString(markAny)
			a.splits = a.splits || !isOneNumber(p)
		}
	}
	a.text = spanBrackets(b.String())
	if strings.Contains(a.text, markName) {
		a.splits = true
	}
	return a
}

// isOneNumber reports whether an expansion is always one number, which does not split.
func isOneNumber(p syntax.WordPart) bool {
	switch p := p.(type) {
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		if p.Length {
			return true
		}
		name, ok := textOf(p)
		return ok && (name == "?" || name == "#" || name == "$")
	}
	return false
}

// spanBrackets makes one mark of each bracket expression, however it is quoted inside: from
// its bracket to the last ] in the same name.
func spanBrackets(s string) string {
	if !strings.Contains(s, markOpen) {
		return s
	}
	names := strings.Split(s, "/")
	for i, name := range names {
		before, after, ok := strings.Cut(name, markOpen)
		if !ok {
			continue
		}
		mark, rest := markName, after
		if end := strings.LastIndexByte(after, ']'); end >= 0 {
			rest = after[end+1:]
			if strings.Contains(after[:end], markAny) {
				mark = markAny
			}
		}
		names[i] = before + mark + strings.ReplaceAll(rest, markOpen, markName)
	}
	return strings.Join(names, "/")
}

// splitsQuoted reports whether a quoted word may become several, as "$@" and "${x:-$@}" do.
func splitsQuoted(q *syntax.DblQuoted) (splits bool) {
	syntax.Walk(q, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst: // what it writes is one text
			return false
		case *syntax.ParamExp:
			index, _ := n.Index.(*syntax.Word)
			splits = splits || n.Excl || n.Param != nil && n.Param.Value == "@" || index != nil && index.Lit() == "@"
		}
		return true
	})
	return splits
}

// decodeLit removes backslashes from text without quotes, and marks patterns and, at the
// beginning of a word, a tilde.
func decodeLit(s string, first bool) string {
	var b strings.Builder
	if first && strings.HasPrefix(s, "~") {
		_, rest, slash := strings.Cut(s, "/")
		b.WriteString(markHome)
		if !slash {
			return b.String()
		}
		s = "/" + rest
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case c == '*', c == '?':
			b.WriteString(markName)
		case c == '[':
			b.WriteString(markOpen)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func decodeSingle(q *syntax.SglQuoted) string {
	if !q.Dollar {
		return q.Value
	}
	text, ok := decodeDollarQuote(q.Value)
	if !ok {
		return markAny
	}
	return text
}

// decodeExpanding returns the text of what stands in double quotes or in a here-document,
// where a backslash quotes the characters in special and no others.
func decodeExpanding(parts []syntax.WordPart, special string) string {
	var b strings.Builder
	for _, p := range parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			b.WriteString(markAny)
			continue
		}
		for i := 0; i < len(l.Value); i++ {
			if c := l.Value[i]; c == '\\' && i+1 < len(l.Value) && strings.IndexByte(special, l.Value[i+1]) >= 0 {
				i++
			}
			b.WriteByte(l.Value[i])
		}
	}
	return b.String()
}

// decodeDollarQuote returns the text of $'...'; false where it holds what not every bash
// reads alike, or what cannot be part of an argument.
func decodeDollarQuote(s string) (string, bool) {
	simple := map[byte]byte{'n': '\n', 't': '\t', '\\': '\\', '\'': '\'', '"': '"', '?': '?'}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i >= len(s) {
			return "", false
		}
		if c, ok := simple[s[i]]; ok {
			b.WriteByte(c)
			continue
		}
		var digits string
		base := 16
		switch c := s[i]; {
		case c >= '0' && c <= '7':
			digits, base = leading(s[i:], 3, "01234567"), 8
			i--
		case c == 'x':
			digits = leading(s[i+1:], 2, hexDigits)
		case c == 'u':
			digits = leading(s[i+1:], 4, hexDigits)
		case c == 'U':
			digits = leading(s[i+1:], 8, hexDigits)
		default:
			return "", false
		}
		n, err := strconv.ParseUint(digits, base, 32)
		if err != nil || n < ' ' && n != '\n' && n != '\t' || n >= utf8.RuneSelf-1 {
			return "", false
		}
		b.WriteByte(byte(n))
		i += len(digits)
	}
	return b.String(), true
}

const hexDigits = "0123456789abcdefABCDEF"
