package policy

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxCode is how many scripts may stand inside each other, and maxWrapped how many commands
// may start one another.
const (
	maxCode    = 4
	maxWrapped = 24
)

// judge looks through one program and keeps the highest verdict, with the first reason
// for it. It knows the language of the shell; what a command makes of its arguments, its rule
// knows.
type judge struct {
	policy *Policy
	place  Place
	facts  facts
	code   int // scripts around the present one

	verdict Verdict
	reason  string
	part    string
}

func newJudge(p *Policy, at Place) *judge {
	if at.Dir == "" && len(at.Roots) > 0 {
		at.Dir = at.Roots[0]
	}
	return &judge{policy: p, place: at, facts: facts{texts: map[string]bool{}, lists: map[string]bool{}, numbers: map[string]bool{}}}
}

// raise raises the verdict to v because of a part of the program.
func (j *judge) raise(v Verdict, part syntax.Node, format string, args ...any) {
	if v < j.verdict || v == j.verdict && j.reason != "" {
		return
	}
	j.verdict, j.reason, j.part = v, fmt.Sprintf(format, args...), ""
	if part != nil {
		j.part = printNode(part)
	}
}

// program judges every part of a program, wherever it stands.
func (j *judge) program(p *program) {
	j.facts.collect(p.file)
	syntax.Walk(p.file, j.visit)
}

// script judges code that another shell runs, such as that of bash -c. What runs there is
// the text itself, so it must be its own reprint.
func (j *judge) script(text, who string, part syntax.Node) {
	if j.code++; j.code > maxCode {
		j.raise(Deny, part, "too many scripts stand inside each other")
		return
	}
	defer func() { j.code-- }()
	prog, err := parseScript(text)
	if err != nil {
		j.raise(Deny, part, "in the script for %s: %s", who, err)
		return
	}
	j.program(prog)
	if plain := strings.TrimSuffix(text, "\n"); plain != prog.text && plain != onOneLine(prog.file) {
		j.raise(Deny, part, "the script for %s is not in its plain form: run its commands without %s", who, who)
	}
}

// visit judges one node, and says whether its parts are to be visited.
func (j *judge) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		if n.Coprocess || n.Disown {
			j.raise(Deny, n, "coprocesses are not run")
		}
		if c, ok := n.Cmd.(*syntax.CallExpr); ok {
			j.simple(c, n.Redirs)
		}
	case *syntax.FuncDecl:
		j.raise(Deny, n, "functions are not defined here: one could take the name of any command")
	case *syntax.CoprocClause:
		j.raise(Deny, n, "coprocesses are not run")
	case *syntax.TestDecl:
		j.raise(Deny, n, "this is not bash")
	case *syntax.DeclClause:
		j.declare(n)
	case *syntax.Assign:
		if n.Index != nil {
			j.subscript(n.Index, n)
		}
		if n.Value != nil {
			j.mention(decodeWord(n.Value), n)
		}
	case *syntax.ArrayElem:
		if n.Index != nil {
			j.subscript(n.Index, nil)
		}
	case *syntax.Redirect:
		return j.redirect(n)
	case *syntax.Lit:
		j.plainText(n)
	case *syntax.ExtGlob:
		if strings.ContainsAny(n.Pattern.Value, "$`<>\\\"'") {
			j.raise(Deny, n, "the pattern is not plain")
		}
	case *syntax.ParamExp:
		j.parameter(n)
	case *syntax.CmdSubst:
		if n.TempFile || n.ReplyVar {
			j.raise(Deny, n, "this is not the bash that runs here")
		}
	case *syntax.ArithmExp:
		j.arithmetic(n.X, n)
	case *syntax.ArithmCmd:
		j.arithmetic(n.X, n)
	case *syntax.LetClause:
		for _, e := range n.Exprs {
			j.arithmetic(e, n)
		}
	case *syntax.CStyleLoop:
		for _, e := range []syntax.ArithmExpr{n.Init, n.Cond, n.Post} {
			if e != nil {
				j.arithmetic(e, nil)
			}
		}
	case *syntax.WordIter:
		j.assignName(n.Name.Value, false, nil)
		for _, w := range n.Items {
			j.mention(decodeWord(w), w)
		}
	case *syntax.BinaryTest:
		j.compare(n)
	case *syntax.UnaryTest:
		if w, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar) {
			j.variableName(decodeWord(w), w, "[[")
		}
	}
	return true
}

// plainText refuses text in which the parser left something that bash may expand.
func (j *judge) plainText(l *syntax.Lit) {
	s := l.Value
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '`', strings.HasPrefix(s[i:], "$("), strings.HasPrefix(s[i:], "${"), strings.HasPrefix(s[i:], "$["):
			j.raise(Deny, nil, "an expansion stands where it cannot be analysed")
		}
	}
}

// parameter judges an expansion of a variable.
func (j *judge) parameter(n *syntax.ParamExp) {
	at := false
	if w, ok := n.Index.(*syntax.Word); ok {
		at = w.Lit() == "@" || w.Lit() == "*"
	}
	switch {
	case n.Flags != nil, n.Width, n.IsSet, n.NestedParam != nil, len(n.Modifiers) > 0,
		n.Split != 0, n.GlobSubst != 0, n.RcExpand != 0:
		j.raise(Deny, n, "this is not bash")
	case n.Excl && n.Names == 0 && !at:
		j.raise(Deny, n, "a variable whose name is only known at run time is not expanded")
	}
	if n.Index != nil {
		j.subscript(n.Index, n)
	}
	if n.Slice != nil {
		for _, e := range []syntax.ArithmExpr{n.Slice.Offset, n.Slice.Length} {
			if e != nil {
				j.arithmetic(e, n)
			}
		}
	}
	if n.Exp == nil {
		return
	}
	switch n.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if n.Param != nil {
			j.assignName(n.Param.Value, false, n)
		}
	case syntax.OtherParamOps:
		if n.Exp.Word == nil || len(n.Exp.Word.Lit()) != 1 || !strings.Contains("UuLQEAaKk", n.Exp.Word.Lit()) {
			j.raise(Deny, n, "the operator @ runs the commands that stand in a variable's text")
		}
	}
}

// compare judges the comparisons of [[ that evaluate both sides.
func (j *judge) compare(n *syntax.BinaryTest) {
	switch n.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
	default:
		return
	}
	for _, side := range []syntax.TestExpr{n.X, n.Y} {
		if w, ok := side.(*syntax.Word); ok {
			j.arithmetic(w, n)
			continue
		}
		j.raise(Deny, n, "the comparison is not plain")
	}
}

// variableName judges a word that names a variable to a builtin, which evaluates what
// stands in a subscript. It returns the name.
func (j *judge) variableName(a arg, part syntax.Node, builtin string) string {
	text, ok := a.lit()
	name, index, _ := strings.Cut(strings.TrimSuffix(text, "]"), "[")
	plain := identifier.MatchString(text) || strings.HasSuffix(text, "]") && identifier.MatchString(name) &&
		(number.MatchString(index) || index == "@" || index == "*")
	if !ok || !plain {
		j.raise(Deny, part, "%s runs the commands in the subscript of a variable: give it a plain name", builtin)
		return ""
	}
	return name
}

// redirect judges where a command reads from and writes to. It returns whether the parts
// are to be visited: those of a quoted here-document are text.
func (j *judge) redirect(r *syntax.Redirect) bool {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		j.assignName(strings.Trim(r.N.Value, "{}"), false, r.Word)
	}
	targets := expandWord(r.Word)
	if len(targets) != 1 {
		j.raise(Deny, r.Word, "a redirection has one target")
		return true
	}
	target := targets[0]
	text, known := target.lit()
	descriptor := known && (text == "-" || leading(text, len(text), "0123456789") == strings.TrimSuffix(text, "-"))
	// Whoever opens /dev/fd/5 for writing opens the file that stands behind it, if it was
	// opened for reading alone: then only standard input may be read.
	renumbers := r.N != nil && r.N.Value != "0"
	if renumbers && (r.Op == syntax.DplIn || r.Op == syntax.DplOut) && known && strings.TrimSuffix(text, "-") == "0" {
		j.raise(Deny, r.Word, "standard input is not given another number")
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut:
		j.writes(target, r.Word, "the redirection")
	case syntax.DplOut:
		if !descriptor {
			j.writes(target, r.Word, "the redirection")
		}
	case syntax.DplIn:
		if !descriptor {
			j.raise(Deny, r.Word, "the descriptor is only known at run time")
		}
	case syntax.RdrIn:
		j.reads(target, r.Word)
		if renumbers {
			j.writes(target, r.Word, "the redirection")
		}
	case syntax.WordHdoc:
	case syntax.Hdoc, syntax.DashHdoc:
		if isQuoted(r.Word) {
			return false
		}
	default:
		j.raise(Deny, r.Word, "this redirection is not bash")
	}
	return true
}

// isQuoted reports whether a here-document's delimiter is quoted, so that its text is
// taken as it stands.
func isQuoted(delimiter *syntax.Word) bool {
	for _, p := range delimiter.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok || strings.Contains(l.Value, `\`) {
			return true
		}
	}
	return false
}

// declare judges declare, export, local, readonly and typeset.
func (j *judge) declare(n *syntax.DeclClause) {
	exports := n.Variant.Value == "export"
	compound := false
	for _, a := range n.Args {
		if !a.Naked || a.Name != nil {
			continue
		}
		text, ok := decodeWord(a.Value).lit()
		switch {
		case ok && len(text) > 1 && strings.ContainsRune("-+", rune(text[0])) && strings.Trim(text[1:], "aAfFgiIlprtuxn") == "":
			flags := text[1:]
			if strings.ContainsAny(flags, "ni") && text[0] == '-' && n.Variant.Value != "export" || strings.Contains(flags, "f") && text[0] == '-' {
				j.raise(Deny, n, "%s %s is not run: it makes names or expressions out of text", n.Variant.Value, text)
			}
			exports = exports || strings.Contains(flags, "x")
			compound = compound || strings.ContainsAny(flags, "aA")
		default:
			j.raise(Deny, n, "%s evaluates its arguments: write name=value with nothing quoted before the sign", n.Variant.Value)
		}
	}
	for _, a := range n.Args {
		if a.Name == nil {
			continue
		}
		j.assignName(a.Name.Value, exports, n)
		if a.Value == nil {
			continue
		}
		text, known := decodeWord(a.Value).lit()
		if known && !strings.HasPrefix(text, "(") || !known && !compound && !j.facts.lists[a.Name.Value] {
			continue
		}
		j.raise(Deny, n, "%s reads an array out of text and runs the commands in it", n.Variant.Value)
	}
}
