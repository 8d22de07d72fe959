package policy

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of a script.
const (
	MaxScript = 16 << 10 // bytes, of the text and of its reprint
	maxDepth  = 200      // statements, words and expressions inside each other
	maxPart   = 120      // bytes of Judgement.Part
)

var errTooDeep = errors.New("the command is nested too deeply: split it up")

// program is a parsed script with its reprint.
type program struct {
	file *syntax.File
	text string
}

// parseScript returns the program that text stands for, and its reprint. The program is
// that of the reprint. The error is a sentence for the model.
func parseScript(text string) (*program, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	first, err := parse(text)
	if err != nil {
		return nil, err
	}
	if err := checkComments(text, first); err != nil {
		return nil, err
	}
	printed, err := reprint(first)
	if err != nil {
		return nil, err
	}
	if err := checkText(printed); err != nil {
		return nil, err
	}
	second, err := parse(printed)
	if err != nil {
		return nil, err
	}
	again, err := reprint(second)
	if err != nil {
		return nil, err
	}
	if again != printed {
		return nil, errors.New("the command has no stable form: write it more plainly")
	}
	if len(second.Stmts) == 0 {
		return nil, errors.New("there is no command")
	}
	return &program{second, printed}, nil
}

// checkText refuses what a person cannot see, and what is too much to judge.
func checkText(text string) error {
	if len(text) > MaxScript {
		return fmt.Errorf("the command is longer than %d bytes: write a file and run that", MaxScript)
	}
	if !utf8.ValidString(text) {
		return errors.New("the command holds bytes that are not UTF-8")
	}
	open := 0
	for _, r := range text {
		switch r {
		case '(':
			open++
		case ')':
			open = max(0, open-1)
		}
		if open > maxDepth { // the parser's time grows with the square of it
			return errTooDeep
		}
		if isHidden(r) {
			return fmt.Errorf("the command holds the character U+%04X, which cannot be seen or looks like another one: leave it out", r)
		}
	}
	return nil
}

// isHidden reports whether a character shows nothing, changes how others are shown, or
// looks like a space and is none.
func isHidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == ' ':
		return false
	case unicode.IsControl(r), unicode.IsSpace(r):
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Co, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) || r == '\u2800'
}

// parse parses bash and keeps the comments.
func parse(text string) (*syntax.File, error) {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, fmt.Errorf("the command is not valid bash: %w", err)
	}
	depth := 0
	deep := false
	syntax.Walk(f, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return false
		}
		if deep = deep || depth > maxDepth; deep {
			return false
		}
		depth++
		return true
	})
	if deep {
		return nil, errTooDeep
	}
	return f, nil
}

// checkComments refuses comments that bash may read as something else than the parser
// does: with text right before the sign, or with a backslash at the end of the line.
func checkComments(text string, f *syntax.File) error {
	var err error
	syntax.Walk(f, func(n syntax.Node) bool {
		c, ok := n.(*syntax.Comment)
		if !ok || err != nil {
			return err == nil
		}
		at := int(c.Hash.Offset())
		if at >= len(text) || text[at] != '#' {
			err = errors.New("a comment stands where none can be: remove it")
			return false
		}
		line, _, _ := strings.Cut(text[at:], "\n")
		switch {
		case at > 0 && !strings.ContainsRune(" \t\n", rune(text[at-1])):
			err = errors.New("a comment touches the word before it: put a space before #, or remove the comment")
		case strings.HasSuffix(line, `\`) || strings.HasSuffix(c.Text, `\`):
			err = errors.New("a comment ends in a backslash: remove it")
		}
		return false
	})
	return err
}

// reprint returns the one form of a program: without comments, as the printer lays it out.
func reprint(f *syntax.File) (string, error) {
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, stripComments(f)); err != nil {
		return "", fmt.Errorf("the command cannot be printed: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// onOneLine returns the other form of a program without comments, with ; in place of line
// breaks, or "".
func onOneLine(f *syntax.File) string {
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, f); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// stripComments takes the comments out of f.
func stripComments(f *syntax.File) *syntax.File {
	f.Last = nil
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			n.Comments = nil
		case *syntax.Subshell:
			n.Last = nil
		case *syntax.Block:
			n.Last = nil
		case *syntax.IfClause:
			n.CondLast, n.ThenLast, n.Last = nil, nil, nil
		case *syntax.WhileClause:
			n.CondLast, n.DoLast = nil, nil
		case *syntax.ForClause:
			n.DoLast = nil
		case *syntax.CaseClause:
			n.Last = nil
		case *syntax.CaseItem:
			n.Comments, n.Last = nil, nil
		case *syntax.CmdSubst:
			n.Last = nil
		case *syntax.ProcSubst:
			n.Last = nil
		case *syntax.ArrayExpr:
			n.Last = nil
		case *syntax.ArrayElem:
			n.Comments = nil
		}
		return true
	})
	return f
}

// printNode returns a part of the program on one short line.
func printNode(n syntax.Node) string {
	var b strings.Builder
	switch n.(type) {
	case *syntax.Redirect, *syntax.Lit, nil:
	default:
		if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, n); err != nil {
			return ""
		}
	}
	return shorten(b.String())
}

// shorten returns s on one line of at most maxPart bytes.
func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxPart {
		return s
	}
	n := maxPart
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " [...]"
}
