package files

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// compileGlob makes a matcher for paths of a pattern: * and ? stay in one name,
// ** as a name stands for any folders, [a-z] and [!a-z] for one character, {a,b}
// for either, and a backslash takes the meaning of what follows. A pattern
// without a slash matches the name in any folder. The error is for the model.
func compileGlob(pattern string) (*regexp.Regexp, error) {
	pattern = strings.TrimPrefix(pattern, "./")
	switch {
	case pattern == "":
		return nil, errors.New("the pattern is empty")
	case strings.HasPrefix(pattern, "/"), strings.HasPrefix(pattern, "../"), strings.Contains(pattern, "/../"):
		return nil, errors.New("the pattern must be relative to the folder; give the folder as path")
	case !strings.Contains(pattern, "/"):
		pattern = "**/" + pattern
	case strings.HasSuffix(pattern, "/"):
		pattern += "**"
	}
	g := glob{rest: pattern, begins: true}
	g.out.WriteString(`(?s)\A`)
	for g.rest != "" {
		if err := g.next(); err != nil {
			return nil, err
		}
	}
	if len(g.open) > 0 {
		return nil, errors.New("the pattern has a { without its }")
	}
	g.out.WriteString(`\z`)
	re, err := regexp.Compile(g.out.String())
	if err != nil {
		return nil, errors.New("the pattern has a range of characters that makes no sense, or is too long")
	}
	return re, nil
}

// glob is a pattern on its way to a regular expression.
type glob struct {
	rest   string
	out    strings.Builder
	begins bool   // a name begins here
	open   []bool // for each open brace, whether a name begins at it
}

// next translates one element.
func (g *glob) next() error {
	begins := g.begins
	g.begins = false
	switch {
	case begins && strings.HasPrefix(g.rest, "**/"):
		g.take(3, `(?:[^/]+/)*`)
		g.begins = true
	case begins && g.rest == "**":
		g.take(2, `.*`)
	case g.rest[0] == '*':
		g.take(len(g.rest)-len(strings.TrimLeft(g.rest, "*")), `[^/]*`)
	case g.rest[0] == '?':
		g.take(1, `[^/]`)
	case g.rest[0] == '/':
		g.take(1, `/`)
		g.begins = true
	case g.rest[0] == '{':
		g.open = append(g.open, begins)
		g.take(1, `(?:`)
		g.begins = begins
	case g.rest[0] == '}' && len(g.open) > 0:
		g.open = g.open[:len(g.open)-1]
		g.take(1, `)`)
	case g.rest[0] == ',' && len(g.open) > 0:
		g.take(1, `|`)
		g.begins = g.open[len(g.open)-1]
	case g.rest[0] == '[':
		return g.class()
	case g.rest[0] == '\\' && len(g.rest) == 1:
		return errors.New("the pattern ends with a backslash")
	default:
		g.rest = strings.TrimPrefix(g.rest, `\`)
		_, n := utf8.DecodeRuneInString(g.rest)
		g.take(n, regexp.QuoteMeta(g.rest[:n]))
	}
	return nil
}

func (g *glob) take(n int, expression string) {
	g.rest = g.rest[n:]
	g.out.WriteString(expression)
}

// class translates [abc], [a-z] and [!abc]; a ] that comes first is one of them.
func (g *glob) class() error {
	body := g.rest[1:]
	negated := strings.HasPrefix(body, "!") || strings.HasPrefix(body, "^")
	if negated {
		body = body[1:]
	}
	end := strings.IndexByte(body[min(1, len(body)):], ']')
	if end < 0 {
		return errors.New("the pattern has a [ without its ]")
	}
	set := body[:end+1]
	quoted := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `&`, `\&`, `~`, `\~`).Replace(set)
	if negated {
		quoted = `^/` + quoted
	}
	g.take(len(g.rest)-len(body)+len(set)+1, fmt.Sprintf("[%s]", quoted))
	return nil
}
