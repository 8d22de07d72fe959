package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// bashCode judges a shell that is given its script.
func bashCode(j *judge, c call) { judgeShell(j, c, false) }

// posixCode judges a shell that may know less than bash: its script must mean the same to
// both.
func posixCode(j *judge, c call) { judgeShell(j, c, true) }

func judgeShell(j *judge, c call, posix bool) {
	i, code, ok := judgeShellOptions(j, c)
	if !ok {
		return
	}
	var script arg
	switch {
	case code && i == len(c.args):
		j.raise(Deny, c.node, "%s -c has no script", c.name)
		return
	case code:
		script = c.args[i]
		j.mentionAll(call{args: c.args[i+1:], node: c.node})
	case i < len(c.args):
		judgeScriptFile(j, c, c.args[i])
		return
	default:
		var visible bool
		if script, visible = standardInput(c.redirs); !visible {
			j.raise(Deny, c.node, "%s runs commands that cannot be seen here: write them out", c.name)
			return
		}
	}
	judgeShellCode(j, c, script, posix)
}

// judgeShellOptions judges the options of a shell. It returns how many arguments they are, and
// whether -c is among them.
func judgeShellOptions(j *judge, c call) (n int, code, ok bool) {
	for n < len(c.args) {
		text, known := c.args[n].lit()
		switch {
		case !known && !c.args[n].mayBeOption() && !strings.HasPrefix(c.args[n].text, "-"):
			return n, code, true
		case !known && code && !c.args[n].splits:
			return n, code, true // the script, which is refused for what it is
		case !known:
			j.raise(Deny, c.node, "what %s runs is only known at run time", c.name)
			return n, code, false
		case text == "--" || text == "-":
			return n + 1, code, true
		case isWord("--norc --noprofile --posix --verbose", text):
			n++
			continue
		case text == "--login":
			j.raise(Admin, c.node, "%s --login runs start-up files first", c.name)
			n++
			continue
		case len(text) < 2 || text[0] != '-' && text[0] != '+':
			return n, code, true
		}
		n++
		for _, letter := range text[1:] {
			switch {
			case letter == 'c' && text[0] == '-':
				code = true
			case letter == 'l':
				j.raise(Admin, c.node, "%s -l runs start-up files first", c.name)
			case letter == 'o' && n < len(c.args) && isShellOption(c.args[n]):
				n++
			case !strings.ContainsRune("euxfnvBCE", letter):
				j.raise(Deny, c.node, "the option %s of %s is not allowed here", shorten(text), c.name)
				return n, code, false
			}
		}
	}
	return n, code, true
}

// isShellOption reports whether set -o may be given a.
func isShellOption(a arg) bool {
	text, ok := a.lit()
	return ok && isWord("errexit nounset xtrace pipefail noglob noexec verbose braceexpand noclobber errtrace", text)
}

// judgeScriptFile judges a file of commands that a shell runs.
func judgeScriptFile(j *judge, c call, a arg) {
	text, known := a.lit()
	if !known || strings.HasPrefix(text, "/dev/") || strings.HasPrefix(text, "/proc/") {
		j.raise(Deny, c.node, "%s runs commands that cannot be seen here: write them out", c.name)
		return
	}
	j.reads(a, c.node)
	j.raise(Admin, c.node, "the commands in %s are not judged: run them by themselves", shorten(text))
	j.mentionAll(call{args: c.args, node: c.node})
}

// standardInput returns the text that a command reads; false where it cannot be seen.
func standardInput(redirs []*syntax.Redirect) (arg, bool) {
	var text arg
	n := 0
	for _, r := range redirs {
		input := r.Op == syntax.RdrIn || r.Op == syntax.DplIn || r.Op == syntax.RdrInOut || r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc
		if !input || r.N != nil && r.N.Value != "0" {
			continue
		}
		n++
		switch {
		case r.Op == syntax.WordHdoc:
			text = decodeWord(r.Word)
		case r.Op == syntax.Hdoc && r.Hdoc == nil:
			text = arg{}
		case r.Op == syntax.Hdoc && isQuoted(r.Word):
			text = arg{text: rawText(r.Hdoc)}
		case r.Op == syntax.Hdoc:
			text = arg{text: decodeExpanding(r.Hdoc.Parts, "$`\\")}
		default:
			return arg{}, false
		}
	}
	return text, n == 1
}

// rawText returns the text of a quoted here-document.
func rawText(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			return markAny
		}
		b.WriteString(l.Value)
	}
	return b.String()
}

// meansTheSame reports whether a script is read alike by bash and by a plain shell.
func meansTheSame(text string) bool {
	if strings.Contains(text, "$'") || strings.Contains(text, `$"`) || strings.ContainsAny(text, "{}[") || strings.Contains(text, "&>") || strings.Contains(text, ">&") && !descriptorsOnly(text) {
		return false
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "")
	if err != nil {
		return false
	}
	plain, err := reprint(f)
	return err == nil && plain == strings.TrimSuffix(text, "\n")
}

// descriptorsOnly reports whether each >& in text is followed by a descriptor.
func descriptorsOnly(text string) bool {
	for _, after := range strings.Split(text, ">&")[1:] {
		if after == "" || !strings.ContainsAny(after[:1], "12") {
			return false
		}
	}
	return true
}

// language is how an interpreter takes its code.
type language struct {
	code    string   // letters and names whose value is code
	flags   string   // letters that change nothing of interest
	values  string   // letters with a value that changes nothing of interest
	modules []string // that -m may run, which are code of the workspace
}

// interprets returns the rule of an interpreter of another language than the shell.
func interprets(l language) rule {
	return func(j *judge, c call) {
		for i := 0; i < len(c.args); i++ {
			a := c.args[i]
			text, known := a.lit()
			switch {
			case !known && (a.mayBeOption() || strings.HasPrefix(a.text, "-")):
				j.raise(Deny, c.node, "what %s runs is only known at run time", c.name)
				return
			case isWord("--version -V --help -h", text) && len(c.args) == 1:
				return
			case !strings.HasPrefix(text, "-") || text == "-":
				judgeCodeFile(j, c, c.args[i:], text == "-")
				return
			case text == "-m" && len(l.modules) > 0:
				if i+1 < len(c.args) && slices.ContainsFunc(l.modules, c.args[i+1].is) {
					judgeWorkspaceCode(j, c)
					if c.args[i+1].is("json.tool") && len(c.args) > i+3 { // the file behind the first
						j.writes(c.args[len(c.args)-1], c.node, "json.tool")
					}
				} else {
					j.raise(Admin, c.node, "%s -m runs a module that the policy does not know", c.name)
				}
				j.mentionAll(c)
				return
			}
			name, value, eq := strings.Cut(strings.TrimLeft(text, "-"), "=")
			if strings.HasPrefix(text, "--") {
				if isWord(l.code, name) {
					judgeForeignCode(j, c, arg{text: value}, eq, c.args[i+1:])
					return
				}
				j.raise(Admin, c.node, "the option %s of %s needs a person", shorten(text), c.name)
				continue
			}
			for k := 1; k < len(text); k++ {
				letter := text[k : k+1]
				switch {
				case isWord(l.code, letter):
					judgeForeignCode(j, c, arg{text: text[k+1:]}, k+1 < len(text), c.args[i+1:])
					return
				case strings.Contains(l.values, letter):
					if k+1 == len(text) {
						if i++; i < len(c.args) && c.args[i].splits {
							j.raise(Deny, c.node, "what %s runs is only known at run time: quote it", c.name)
						}
					}
					k = len(text)
				case !strings.Contains(l.flags, letter):
					j.raise(Admin, c.node, "the option %s of %s needs a person", shorten(text), c.name)
				}
			}
		}
		judgeCodeFile(j, c, nil, true)
	}
}

// judgeForeignCode judges code of another language, own or else the first of rest.
func judgeForeignCode(j *judge, c call, own arg, has bool, rest []arg) {
	if !has {
		if len(rest) == 0 {
			j.raise(Deny, c.node, "%s is given no code", c.name)
			return
		}
		own = rest[0]
	}
	if _, known := own.lit(); !known {
		j.raise(Deny, c.node, "the code for %s is only known at run time: nobody could approve it", c.name)
		return
	}
	j.raise(Admin, c.node, "%s runs code of another language, which a person has to read", c.name)
}

// judgeCodeFile judges an interpreter that runs a file, or what it reads.
func judgeCodeFile(j *judge, c call, operands []arg, input bool) {
	if input {
		text, visible := standardInput(c.redirs)
		if _, known := text.lit(); !visible || !known {
			j.raise(Deny, c.node, "%s runs code that cannot be seen here: write it out", c.name)
			return
		}
		j.raise(Admin, c.node, "%s runs code of another language, which a person has to read", c.name)
		return
	}
	text, known := operands[0].lit()
	if !known || strings.HasPrefix(text, "/dev/") || strings.HasPrefix(text, "/proc/") {
		j.raise(Deny, c.node, "what %s runs is only known at run time", c.name)
		return
	}
	j.reads(operands[0], c.node)
	if j.locate(text).root == "" {
		j.raise(Admin, c.node, "%s runs %s, which is not of the workspace", c.name, shorten(text))
	}
	judgeWorkspaceCode(j, c)
	j.mentionAll(call{args: operands[1:], node: c.node})
}

// judgeWorkspaceCode judges a command that runs code of the workspace.
func judgeWorkspaceCode(j *judge, c call) {
	switch {
	case j.policy.config.Exposed:
		j.raise(Admin, c.node, "%s runs code of the workspace, and there is no sandbox", c.name)
		return
	case j.policy.config.Networked:
		j.raise(Admin, c.node, "%s runs code of the workspace, which may send anything to the hosts that scripts reach", c.name)
		return
	}
	j.raise(Write, c.node, "%s runs code of the workspace", c.name)
}
