package policy

import (
	"slices"
	"strings"
)

// wrapper is how a command that starts another one takes its own arguments.
type wrapper struct {
	flags    string            // letters without a value
	values   string            // letters with a value
	longs    string            // names without a value, or with one behind =
	takes    string            // names with a value
	operands int               // before the command
	assigns  bool              // name=value before the command
	numbers  bool              // an option may be a number, as in nice -10
	code     string            // letters and names whose value is a script
	stops    map[string]string // letters and names that end the analysis, with the reason
	writes   string            // letters and names whose value is written
	reads    string            // letters and names whose value is a file that is read
	fills    bool              // arguments are added that only the run knows
	files    bool              // the operands are files that are written
	starts   bool              // without a command or a script a shell is started
}

// wraps returns the rule of a command that starts another one: the other one is judged.
func wraps(w wrapper) rule {
	return func(j *judge, c call) {
		rest, done := w.peel(j, c)
		if done {
			return
		}
		if len(rest) == 0 {
			return
		}
		c.args = rest
		c.wrapped++
		j.run(c)
	}
}

// peel returns the command line that c starts. done says that it was judged already.
func (w wrapper) peel(j *judge, c call) (rest []arg, done bool) {
	operands := w.operands
	replaced, code, ended := "", false, false
	args := c.args
	for len(args) > 0 {
		text, known := args[0].lit()
		if !known {
			j.raise(Deny, c.node, "which command %s starts is only known at run time", c.name)
			return nil, true
		}
		switch {
		case text == "--" && !ended:
			args, ended = args[1:], true
		case w.assigns && text[:min(1, len(text))] != "-" && assignment(text) != "":
			j.assignName(assignment(text), true, c.node)
			j.facts.texts[assignment(text)] = true // for a script behind it
			args = args[1:]
		case w.assigns && text == "-":
			args = args[1:]
		case len(text) > 1 && text[0] == '-' && !ended:
			used, value, ok := w.option(j, c, args)
			if !ok {
				return nil, true
			}
			if value != "" {
				replaced = value
			}
			code = code || w.hasCode(args[0].text)
			args = args[used:]
		case operands > 0 && text != "":
			if !w.files && !isDigit(rune(text[0])) { // it may be the command already
				j.raise(Deny, c.node, "which command %s starts cannot be seen behind %s: put a number there", c.name, shorten(text))
				return nil, true
			}
			operands--
			if w.files {
				j.writes(args[0], c.node, c.name)
			}
			args = args[1:] // an option may still follow, as in flock FILE -c CODE
		default:
			return w.fill(args, replaced), false
		}
	}
	if w.files && code && operands > 0 { // script -c writes a file of this name
		j.writes(arg{text: "typescript"}, c.node, c.name)
	}
	if w.starts && !code {
		j.raise(Deny, c.node, "%s starts a shell whose commands cannot be seen here", c.name)
	}
	return nil, false
}

// hasCode reports whether an argument holds an option whose value is a script.
func (w wrapper) hasCode(text string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "--"), "=")
	if !strings.HasPrefix(text, "--") {
		return slices.ContainsFunc(strings.Split(text[1:], ""), func(letter string) bool { return isWord(w.code, letter) })
	}
	return isWord(w.code, name)
}

// assignment returns the name of name=value, or "".
func assignment(text string) string {
	name, _, ok := strings.Cut(text, "=")
	if !ok {
		return ""
	}
	return name
}

// fill adds what xargs adds to a command line, and makes unknown what it replaces.
func (w wrapper) fill(args []arg, replaced string) []arg {
	if !w.fills || len(args) == 0 {
		return args
	}
	filled := slices.Clone(args)
	for i := range filled {
		if replaced != "" && strings.Contains(filled[i].text, replaced) {
			filled[i].text = strings.ReplaceAll(filled[i].text, replaced, markAny)
		}
	}
	return append(filled, unknown(nil))
}

// option judges the options in the first of args. It returns how many arguments they
// take, what -I names, and false where the command behind them cannot be told.
func (w wrapper) option(j *judge, c call, args []arg) (used int, replaced string, ok bool) {
	text := args[0].text
	names := []string{}
	value, has := "", false
	if strings.HasPrefix(text, "--") {
		name, v, eq := strings.Cut(text[2:], "=")
		names, value, has = append(names, name), v, eq
	} else {
		for i := 1; i < len(text); i++ {
			letter := text[i : i+1]
			names = append(names, letter)
			if strings.Contains(w.values, letter) {
				value, has = text[i+1:], i+1 < len(text)
				break
			}
		}
		if w.numbers && leading(text[1:], len(text), "0123456789") == text[1:] {
			return 1, "", true
		}
	}
	used = 1
	for _, name := range names {
		if why, stop := w.stops[name]; stop {
			j.raise(Deny, c.node, "%s", why)
			return 0, "", false
		}
		takes := len(name) == 1 && strings.Contains(w.values, name) || isWord(w.takes, name)
		flag := len(name) == 1 && strings.Contains(w.flags, name) || isWord(w.longs, name)
		if !takes && !flag {
			j.raise(Deny, c.node, "which command %s starts cannot be seen behind its option %s", c.name, shorten(name))
			return 0, "", false
		}
		if !takes {
			continue
		}
		val := arg{text: value, node: args[0].node}
		if !has {
			if len(args) < 2 {
				return 1, "", true
			}
			val, used = args[1], 2
		}
		if _, known := val.lit(); !known && (val.splits || val.braces || w.fills) {
			j.raise(Deny, c.node, "which command %s starts is only known at run time: its option %s has a value that may hold more", c.name, shorten(name))
			return 0, "", false
		}
		switch {
		case isWord(w.code, name):
			judgeShellCode(j, c, val, true)
			return used, "", true
		case isWord(w.writes, name):
			j.writes(val, c.node, c.name)
		case isWord(w.reads, name):
			j.reads(val, c.node)
		case w.fills && name == "I":
			replaced = val.text
		}
	}
	return used, replaced, true
}

// judgeShellCode judges an argument that a shell runs; posix says that it may know less than
// bash.
func judgeShellCode(j *judge, c call, a arg, posix bool) {
	code, known := a.lit()
	if !known {
		j.raise(Deny, c.node, "the script for %s is only known at run time", c.name)
		return
	}
	if posix && !meansTheSame(code) {
		j.raise(Deny, c.node, "the script for %s uses what only bash knows: run it without %s", c.name, c.name)
	}
	j.script(code, c.name, c.node)
}
