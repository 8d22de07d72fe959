package policy

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bash evaluates the text of a variable in arithmetic as an expression, and runs the
// command substitutions in a subscript that it finds there: with x='a[$(rm f)]', $((x))
// removes f. So arithmetic is judged by where its variables come from.

var (
	number     = regexp.MustCompile(`^[-+]?([0-9]+|0[xX][0-9a-fA-F]+|[0-9]{1,2}#[0-9a-zA-Z]+)$`)
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	listKey    = regexp.MustCompile(`^[A-Za-z0-9_ .,:/-]+$`)
	inListKey  = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
)

// facts are what holds for a whole script, wherever it stands.
type facts struct {
	texts   map[string]bool // variables that may hold something else than a number
	lists   map[string]bool // variables that are arrays
	numbers map[string]bool // variables that are assigned a number
	moves   bool            // a cd to another folder is among the commands
}

// collect adds the facts of f.
func (k *facts) collect(f *syntax.File) {
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			k.collectAssign(n)
		case *syntax.ForClause:
			if w, ok := n.Loop.(*syntax.WordIter); ok {
				k.collectLoop(n, w)
			}
		case *syntax.CallExpr:
			k.collectCall(n)
		case *syntax.ParamExp:
			if e := n.Exp; e != nil && n.Param != nil && (e.Op == syntax.AssignUnset || e.Op == syntax.AssignUnsetOrNull) && !isNumeric(e.Word) {
				k.texts[n.Param.Value] = true
			}
		}
		return true
	})
}

func (k *facts) collectAssign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	if a.Array != nil || a.Index != nil {
		k.lists[name] = true
	}
	if a.Value != nil {
		k.numbers[name] = true
		k.texts[name] = k.texts[name] || !isNumeric(a.Value)
	}
	if a.Array != nil {
		k.numbers[name] = true
		for _, e := range a.Array.Elems {
			if e.Value != nil && !isNumeric(e.Value) {
				k.texts[name] = true
			}
		}
	}
}

// collectLoop looks at the variable of a for or select loop.
func (k *facts) collectLoop(n *syntax.ForClause, w *syntax.WordIter) {
	numeric := !n.Select && w.InPos.IsValid()
	for _, item := range w.Items {
		numeric = numeric && (isNumeric(item) || isSequence(item))
	}
	if !numeric {
		k.texts[w.Name.Value] = true
		k.texts["REPLY"] = true
	}
}

// collectCall looks at commands that put text into variables.
func (k *facts) collectCall(n *syntax.CallExpr) {
	setters := "read readarray mapfile printf getopts wait declare typeset local export readonly builtin command select"
	for i, a := range argsOf(n.Args) {
		text, ok := a.lit()
		if !ok {
			continue
		}
		if i < 3 && isWord("cd pushd popd", text) { // also behind command or builtin
			k.moves = true
		}
		if i == 0 && !isWord(setters, text) {
			return
		}
		name, _, _ := strings.Cut(text, "=")
		k.texts[name] = true
		for at := 2; at < len(text) && text[0] == '-'; at++ { // as in read -aname
			k.texts[text[at:]] = true
		}
	}
}

// isSequence reports whether a word is {1..10} and the like.
func isSequence(w *syntax.Word) bool {
	return sequence.MatchString(w.Lit())
}

var sequence = regexp.MustCompile(`^\{-?[0-9]+\.\.-?[0-9]+(\.\.-?[0-9]+)?\}$`)

// isNumeric reports whether a word can only become a number.
func isNumeric(w *syntax.Word) bool {
	if w == nil || len(w.Parts) == 0 {
		return true
	}
	if text, ok := decodeWord(w).lit(); ok {
		return text == "" || number.MatchString(text)
	}
	return len(w.Parts) == 1 && isNumericPart(w.Parts[0])
}

func isNumericPart(p syntax.WordPart) bool {
	switch p := p.(type) {
	case *syntax.ArithmExp:
		return true
	case *syntax.DblQuoted:
		return len(p.Parts) == 1 && isNumericPart(p.Parts[0])
	case *syntax.ParamExp:
		return p.Length || p.Param != nil && strings.Contains("?#$!", p.Param.Value) && p.Exp == nil && p.Repl == nil && p.Slice == nil
	case *syntax.CmdSubst:
		return isNumericCommand(p)
	}
	return false
}

// isNumericCommand knows the commands whose output is a number.
func isNumericCommand(s *syntax.CmdSubst) bool {
	if len(s.Stmts) != 1 || s.TempFile || s.ReplyVar {
		return false
	}
	stmt := s.Stmts[0]
	pipe, piped := stmt.Cmd.(*syntax.BinaryCmd)
	if piped && pipe.Op == syntax.Pipe {
		stmt = pipe.Y
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 {
		return false
	}
	var words []string
	for _, a := range argsOf(call.Args) {
		text, ok := a.lit()
		if !ok {
			return false
		}
		words = append(words, text)
	}
	line := strings.Join(words, " ")
	switch line {
	case "nproc", "date +%s", "date +%N", "date +%s%N", "date +%Y", "date +%m", "date +%d", "date +%H", "date +%M", "date +%S":
		return len(stmt.Redirs) == 0
	case "wc -l", "wc -c", "wc -w", "wc -m":
		return piped && len(stmt.Redirs) == 0 || len(stmt.Redirs) == 1 && stmt.Redirs[0].Op == syntax.RdrIn
	}
	return false
}

// arithmetic judges an expression that bash evaluates.
func (j *judge) arithmetic(e syntax.ArithmExpr, in syntax.Node) {
	switch e := e.(type) {
	case *syntax.BinaryArithm:
		if name, ok := assigned(e); ok {
			j.assignName(name, false, in)
		}
		j.arithmetic(e.X, in)
		j.arithmetic(e.Y, in)
	case *syntax.UnaryArithm:
		j.arithmetic(e.X, in)
	case *syntax.ParenArithm:
		j.arithmetic(e.X, in)
	case *syntax.Word:
		j.numberParts(e.Parts, in)
	case nil:
	default:
		j.raise(Deny, in, "the arithmetic is not plain")
	}
}

// assigned returns the variable that an expression assigns to.
func assigned(e *syntax.BinaryArithm) (string, bool) {
	switch e.Op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		if w, ok := e.X.(*syntax.Word); ok {
			return w.Lit(), w.Lit() != ""
		}
	}
	return "", false
}

// numberParts judges the parts of a word that is evaluated: together they must not become
// a name that none of them is.
func (j *judge) numberParts(parts []syntax.WordPart, in syntax.Node) {
	for _, p := range parts {
		if l, ok := p.(*syntax.Lit); ok && len(parts) > 1 && !number.MatchString(l.Value) {
			j.raise(Deny, in, "arithmetic on a name that is only known at run time")
		}
		j.numberPart(p, in)
	}
}

// numberPart judges a part of a word that is evaluated.
func (j *judge) numberPart(p syntax.WordPart, in syntax.Node) {
	switch p := p.(type) {
	case *syntax.Lit:
		if !number.MatchString(p.Value) {
			j.numberName(p.Value, in)
		}
		return
	case *syntax.SglQuoted:
		if number.MatchString(p.Value) {
			return
		}
	case *syntax.DblQuoted:
		j.numberParts(p.Parts, in)
		return
	case *syntax.ArithmExp:
		return
	case *syntax.CmdSubst:
		if isNumericCommand(p) {
			return
		}
	case *syntax.ParamExp:
		if isNumericPart(p) {
			return
		}
		if p.Param != nil && !p.Excl && p.Repl == nil && p.Slice == nil && (p.Exp == nil || isChoice(p.Exp.Op) && isNumeric(p.Exp.Word)) {
			j.numberName(p.Param.Value, in)
			return
		}
	}
	j.raise(Deny, in, "arithmetic runs the commands in a text that is only known at run time: use a variable that is assigned nothing but numbers")
}

// isChoice reports whether an operator leaves the text of a variable as it is, or takes the
// word behind it. Others make new texts: 0xa without its 0 is the name of a variable.
func isChoice(op syntax.ParExpOperator) bool {
	switch op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return true
	}
	return false
}

// numberName judges a variable that is evaluated.
func (j *judge) numberName(name string, in syntax.Node) {
	if !j.facts.isNumber(name) {
		j.raise(Deny, in, "arithmetic runs the commands in the text of the variable %s: assign it nothing but numbers", name)
	}
}

// isNumber reports whether a variable can only hold a number, or nothing.
func (k *facts) isNumber(name string) bool {
	if k.texts[name] {
		return false
	}
	switch name {
	case "RANDOM", "SRANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "UID", "EUID", "PPID", "BASHPID", "OPTIND", "PIPESTATUS":
		return true
	}
	return identifier.MatchString(name) && name != "_" && (name == strings.ToLower(name) || len(name) == 1 || k.numbers[name])
}

// subscript judges the index of an array.
func (j *judge) subscript(e syntax.ArithmExpr, in syntax.Node) {
	w, ok := e.(*syntax.Word)
	if !ok {
		j.arithmetic(e, in)
		return
	}
	text, known := decodeWord(w).lit()
	if w.Lit() == "@" || w.Lit() == "*" {
		return
	}
	if known && !number.MatchString(text) {
		if !listKey.MatchString(text) {
			j.raise(Deny, in, "the subscript is not plain")
		}
		for _, name := range inListKey.FindAllString(text, -1) {
			if j.facts.texts[name] || variableVerdict(name) == Deny {
				j.numberName(name, in)
			}
		}
		return
	}
	j.arithmetic(e, in)
}
