package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// changesFolder judges cd and pushd.
func changesFolder(j *judge, c call) {
	var operands []arg
	for _, a := range c.args {
		if !isWord("-P -L -e -- -n", a.text) {
			operands = append(operands, a)
		}
	}
	if len(operands) != 1 {
		j.raise(Admin, c.node, "%s without a folder leaves the workspace", c.name)
		return
	}
	text, known := operands[0].lit()
	w := j.locate(text)
	switch {
	case j.secret(operands[0], w, c.node):
	case !known, text == "-", w.root == "", slices.Contains(strings.Split(text, "/"), ".."):
		j.raise(Admin, c.node, "%s leads to where is not known, or out of the workspace: name a folder below the present one", c.name)
	case isTrusted(w, j.policy.config.Trusted):
		j.raise(Admin, c.node, "%s leads into %s, which other programs trust later", c.name, shorten(text))
	}
}

// setsOptions judges set.
func setsOptions(j *judge, c call) {
	for i := 0; i < len(c.args); i++ {
		text, known := c.args[i].lit()
		switch {
		case known && text == "--":
			return
		case !known && (c.args[i].mayBeOption() || strings.HasPrefix(c.args[i].text, "-")):
			j.raise(Deny, c.node, "an option of the shell is only known at run time: put -- before it")
			return
		case len(text) < 2 || text[0] != '-' && text[0] != '+':
			return
		}
		for _, letter := range text[1:] {
			switch {
			case letter == 'o' && i+1 == len(c.args):
			case letter == 'o' && isShellOption(c.args[i+1]):
				i++
			case !strings.ContainsRune("euxfnvBCE", letter):
				j.raise(Deny, c.node, "the option %s of the shell is not allowed here", shorten(text))
				return
			}
		}
	}
}

// setsShopt judges shopt.
func setsShopt(j *judge, c call) {
	for _, a := range c.args {
		if text, known := a.lit(); !known || !isWord("-s -u -q -p nullglob globstar failglob nocaseglob nocasematch extglob lastpipe inherit_errexit", text) {
			j.raise(Deny, c.node, "shopt is not given %s here", show(a.text))
		}
	}
}

// printsText judges printf and echo.
func printsText(j *judge, c call) {
	if c.name == "echo" {
		return
	}
	args := c.args
	for len(args) > 1 && args[0].is("-v") { // bash takes more than one
		j.setsVariable(c, args[1])
		args = args[2:]
	}
	if len(args) == 0 {
		return
	}
	format := args[0]
	option := strings.HasPrefix(format.text, "-v") || strings.HasPrefix(format.text, "-") && format.isDynamic()
	if option || format.mayBeOption() && (format.splits || len(args) > 1) {
		j.raise(Deny, c.node, "the name of the variable is only known at run time: begin with a format in quotes")
	}
}

// namesVariables returns the rule of a builtin whose operands are names of variables.
func namesVariables(values string, denied string) rule {
	return func(j *judge, c call) {
		for i := 0; i < len(c.args); i++ {
			a := c.args[i]
			text, known := a.lit()
			if known && len(text) > 1 && text[0] == '-' {
				for k := 1; k < len(text); k++ {
					letter := text[k : k+1]
					if strings.Contains(denied, letter) {
						j.raise(Deny, c.node, "%s -%s is not run: it runs commands", c.name, letter)
					}
					if !strings.Contains(values, letter) {
						continue
					}
					value := arg{text: text[k+1:]}
					if value.text == "" && i+1 < len(c.args) {
						i++
						value = c.args[i]
					}
					if letter == "a" && c.name == "read" || letter == "p" && c.name == "wait" {
						j.setsVariable(c, value)
					} else if value.splits {
						j.raise(Deny, c.node, "%s is given what is only known at run time: quote it", c.name)
					}
					k = len(text)
				}
				continue
			}
			if c.name == "wait" {
				if !known && !j.facts.isCounted(a) {
					j.raise(Deny, c.node, "an argument of wait may turn out to be an option: use $!, or a variable that is assigned nothing else")
				}
				continue
			}
			j.setsVariable(c, a)
		}
	}
}

// setsVariable judges a variable that a builtin sets by its name.
func (j *judge) setsVariable(c call, a arg) {
	if name := j.variableName(a, c.node, c.name); name != "" {
		j.assignName(name, false, c.node)
	}
}

// getsOptions judges getopts.
func getsOptions(j *judge, c call) {
	if len(c.args) < 2 || c.args[0].splits {
		j.raise(Deny, c.node, "getopts needs its letters and a variable")
		return
	}
	j.setsVariable(c, c.args[1])
}

// declaresByName judges export and its like where they are started by another word, so
// that bash takes their arguments as text.
func declaresByName(j *judge, c call) {
	for _, a := range c.args {
		text, known := a.lit()
		if known && (text == "-p" || text == "-x" || text == "-r" || text == "--") {
			continue
		}
		name, value, _ := strings.Cut(text, "=")
		if !known || !identifier.MatchString(name) || strings.HasPrefix(value, "(") {
			j.raise(Deny, c.node, "%s evaluates its arguments: write name=value", c.name)
			continue
		}
		j.assignName(name, true, c.node)
	}
}

// tests judges test and [.
func tests(j *judge, c call) {
	for i, a := range c.args {
		open := a.mayBeOption() || strings.HasPrefix(a.text, "-") && a.isDynamic() // it may be -v
		switch {
		case a.braces && !a.splits:
			j.raise(Deny, c.node, "the arguments of %s come out of braces: write them out", c.name)
		case i > 0 && c.args[i-1].is("-v") || i > 0 && c.args[i-1].is("-R"):
			j.variableName(a, c.node, c.name)
		case a.splits && a.mayBe("-v -R") && !j.facts.isCounted(a):
			j.raise(Admin, c.node, "an argument of %s may turn out to be several: quote it", c.name)
		case open && i+1 < len(c.args) && (c.args[i+1].isDynamic() || strings.Contains(c.args[i+1].text, "[")):
			j.raise(Deny, c.node, "%s may evaluate what follows a text that is only known at run time: put an operator between them", c.name)
		default:
			if strings.Contains(a.text, "/") {
				j.mention(a, c.node)
			}
		}
	}
}

// isCounted reports whether an argument can only become numbers.
func (k *facts) isCounted(a arg) bool {
	if a.node == nil || len(a.node.Parts) != 1 {
		return false
	}
	if isNumeric(a.node) {
		return true
	}
	p := a.node.Parts[0]
	if q, ok := p.(*syntax.DblQuoted); ok && !q.Dollar && len(q.Parts) == 1 {
		p = q.Parts[0]
	}
	name, ok := textOf(p)
	if e, isParam := p.(*syntax.ParamExp); !ok && isParam && e.Index != nil && !e.Excl && e.Slice == nil && e.Repl == nil && e.Exp == nil && e.Param != nil {
		name, ok = e.Param.Value, true
	}
	return ok && k.isNumber(name) && k.numbers[name]
}

// sendsSignal judges kill. Without walls, a process may be anybody's, the gateway's too.
func sendsSignal(j *judge, c call) {
	for i, a := range c.args {
		text, known := a.lit()
		number := leading(strings.TrimPrefix(text, "-"), len(text), "0123456789")
		option := strings.HasPrefix(text, "-") || i > 0 && isWord("-s -n", c.args[i-1].text)
		switch {
		case isWord("-l -L", text):
			return
		case known && !option && strings.ContainsAny(text[:min(1, len(text))], "+ \t0"):
			j.raise(Deny, c.node, "%s would end more than one process", c.name)
		case known && !option && number == text && j.policy.config.Exposed:
			j.raise(Admin, c.node, "%s may end any process of the machine, and there is no sandbox", c.name)
		case !known && !isLastJob(a):
			j.raise(Admin, c.node, "which process %s ends is only known at run time", c.name)
		case text == "1" || strings.HasPrefix(text, "-") && number != "" && i > 0 && !isWord("-s -n", c.args[i-1].text):
			j.raise(Deny, c.node, "%s would end more than one process", c.name)
		}
	}
	j.raise(Write, c.node, "%s ends a process", c.name)
}

// isLastJob reports whether an argument is $!, the process that was started last.
func isLastJob(a arg) bool {
	if a.node == nil || len(a.node.Parts) != 1 {
		return false
	}
	name, _ := textOf(a.node.Parts[0])
	return name == "!"
}

// traps judges trap: only signals that are ignored or taken back.
func traps(j *judge, c call) {
	if len(c.args) > 0 && !c.args[0].is("-") && !c.args[0].is("") && !c.args[0].is("-l") && !c.args[0].is("-p") {
		j.raise(Deny, c.node, "trap runs commands later: write them where they are to run")
	}
}

// looksUp judges command, which looks a name up with -v and else runs it.
func looksUp(j *judge, c call) {
	for _, a := range c.args {
		if a.is("-v") || a.is("-V") {
			return
		}
		if !strings.HasPrefix(a.text, "-") {
			break
		}
	}
	wraps(wrapper{flags: "p"})(j, c)
}

// masks judges umask.
func masks(j *judge, c call) {
	for _, a := range c.args {
		if !isWord("-S -p 022 0022 027 0027 077 0077 002 0002", a.text) {
			j.raise(Admin, c.node, "umask %s may open files to everybody", show(a.text))
		}
	}
}
