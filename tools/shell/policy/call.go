package policy

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"parley/tools/trusted"
)

// call is one simple command, as its program gets it.
type call struct {
	name    string // of the program, without a path
	args    []arg  // without the name
	node    syntax.Node
	redirs  []*syntax.Redirect
	wrapped int // how many commands start it
}

// rule judges the calls of one command.
type rule func(j *judge, c call)

// simple judges a command with its assignments. What its words hold is visited apart.
func (j *judge) simple(c *syntax.CallExpr, redirs []*syntax.Redirect) {
	for _, a := range c.Assigns {
		if a.Name.Value == "IFS" && len(c.Args) > 0 && c.Args[0].Lit() == "read" {
			continue // holds for this one builtin, which it tells how to part a line
		}
		j.assignName(a.Name.Value, len(c.Args) > 0, a)
	}
	if len(c.Args) > 0 {
		j.run(call{args: argsOf(c.Args), node: c, redirs: redirs})
	}
}

// systemDirs hold the programs of the machine.
var systemDirs = []string{"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin"}

// run judges what a command line starts; the first of c.args is the name of the command.
func (j *judge) run(c call) {
	if c.wrapped > maxWrapped {
		j.raise(Deny, c.node, "too many commands start one another")
		return
	}
	if len(c.args) == 0 {
		return
	}
	name, known := c.args[0].lit()
	switch {
	case !known:
		j.raise(Deny, c.node, "the name of the command is only known at run time")
		if tail := path.Base(c.args[0].text); !strings.ContainsAny(tail, marks) && j.policy.rules.isBlocked(tail) {
			j.block(c.node, tail)
		}
		return
	case name == "" || strings.ContainsAny(name[:1], "-+") || strings.HasSuffix(name, "/"):
		j.raise(Deny, c.node, "the name of the command is missing")
		return
	}
	c.name, c.args = path.Base(name), c.args[1:]
	if j.policy.rules.isBlocked(c.name) {
		j.block(c.node, c.name)
		return
	}
	if strings.Contains(name, "/") && !slices.Contains(systemDirs, path.Dir(path.Clean(name))) {
		j.raise(Admin, c.node, "%s is a program of which the policy knows nothing", shorten(name))
	}
	r := j.policy.rules.find(c.name)
	if r == nil {
		j.raise(Admin, c.node, "%s is not a command that the policy knows", shorten(c.name))
		j.mentionAll(c)
		return
	}
	r(j, c)
}

// block denies a command of the list of those that never run.
func (j *judge) block(part syntax.Node, name string) {
	hint := j.policy.rules.hint(name)
	if hint != "" {
		hint = ": " + hint
	}
	j.raise(Deny, part, "%s is always denied%s", name, hint)
}

// mentionAll judges the arguments of a command of which nothing else is known.
func (j *judge) mentionAll(c call) {
	for _, a := range c.args {
		_, value, ok := strings.Cut(a.text, "=")
		if ok {
			j.mention(arg{text: value, splits: a.splits, node: a.node}, c.node)
		}
		j.mention(a, c.node)
	}
}

// looker is how a command that only looks takes its arguments.
type looker struct {
	options
	skip    int    // leading operands that are no paths, such as a pattern
	unless  string // options that give what skip passes over, with spaces between
	no      bool   // no operand is a path
	writeAt int    // the operand of this number, from 1, and those behind it are written
	alone   bool   // an operand needs a person
	sets    bool   // an operand without a + needs a person
}

// looks returns the rule of a command that only looks.
func looks(ls ...looker) rule {
	l := looker{}
	if len(ls) > 0 {
		l = ls[0]
	}
	l.writes = l.writeAt > 0
	return func(j *judge, c call) {
		p := j.options(c, l.options)
		if p.changes {
			j.raise(Write, c.node, "%s with these options changes files", c.name)
		}
		if l.alone && len(p.operands) > 0 {
			j.raise(Admin, c.node, "%s with an argument needs a person", c.name)
		}
		if l.sets && slices.ContainsFunc(p.operands, func(a arg) bool { return !strings.HasPrefix(a.text, "+") }) {
			j.raise(Admin, c.node, "%s with an argument that does not begin with + sets it", c.name)
		}
		skip := l.skip
		for o := range strings.FieldsSeq(l.unless) {
			if p.given[o] {
				skip = 0
			}
		}
		for i, a := range p.operands {
			switch {
			case l.no || i < skip:
			case l.writeAt > 0 && (i+1 >= l.writeAt || a.splits):
				j.writes(a, c.node, c.name)
			case p.changes:
				j.writes(a, c.node, c.name)
			default:
				j.reads(a, c.node)
			}
		}
	}
}

// changer is how a command that changes files takes its operands.
type changer struct {
	options
	last  bool // only the last operand is written, unless an option says where to
	parts bool // the names of what is written only begin as the operands do
}

// changes returns the rule of a command that changes files.
func changes(cs ...changer) rule {
	ch := changer{}
	if len(cs) > 0 {
		ch = cs[0]
	}
	ch.writes = true
	return func(j *judge, c call) {
		p := j.options(c, ch.options)
		j.raise(Write, c.node, "%s changes files", c.name)
		elsewhere := p.given["t"] || p.given["target-directory"]
		folder := elsewhere || len(p.operands) > 2 || len(p.operands) == 2 && isFolder(p.operands[1].text)
		for i, a := range p.operands {
			switch {
			case ch.last && (elsewhere || i < len(p.operands)-1):
				j.reads(a, c.node)
				if folder {
					keepsName(j, c, a)
				}
			case ch.parts:
				a.text += markName
				j.writes(a, c.node, c.name)
			default:
				replaces(j, c, a)
			}
		}
	}
}

// isFolder reports whether a path says that it is a folder.
func isFolder(text string) bool {
	return strings.HasSuffix(text, "/") || isWord(". ..", path.Base(text))
}

// keepsName judges a file that is copied into a folder, where it has the same name.
func keepsName(j *judge, c call, a arg) {
	if name := path.Base(a.text); trusted.Includes(name, j.policy.config.Trusted) {
		j.raise(Admin, c.node, "%s may make another %s, which other programs trust later", c.name, show(name))
	}
}

// replaces judges a path at which a command makes, changes or takes away a file. Even a
// device that anything may be written to is no such place.
func replaces(j *judge, c call, a arg) {
	if isWithin("/dev", path.Clean(a.text)) {
		j.raise(Deny, c.node, "%s is a device: %s is not given one", show(a.text), c.name)
		return
	}
	j.writes(a, c.node, c.name)
}

// operators returns the rule of a command that the operator added: r, and a person where
// an argument is the name of a command that never runs.
func operators(r rule) rule {
	return func(j *judge, c call) {
		for _, a := range c.args {
			if text, _ := a.lit(); j.policy.rules.isBlocked(path.Base(text)) {
				j.raise(Admin, c.node, "%s is given %s, which never runs by itself", c.name, shorten(text))
			}
		}
		r(j, c)
	}
}

// startsOthers judges a command that starts another one in a way that is not followed.
func startsOthers(j *judge, c call) {
	for _, a := range c.args {
		if name := path.Base(a.text); j.policy.rules.isBlocked(name) {
			j.block(c.node, name)
		}
	}
	needsPerson("starts other programs")(j, c)
}

// needsPerson returns the rule of a command about which a person decides.
func needsPerson(why string) rule {
	return func(j *judge, c call) {
		j.raise(Admin, c.node, "%s %s", c.name, why)
		j.mentionAll(c)
	}
}

// never returns the rule of a command that cannot be run here, although it does no harm by
// its name alone.
func never(why string) rule {
	return func(j *judge, c call) { j.raise(Deny, c.node, "%s %s", c.name, why) }
}

// harmless commands do nothing to files, whatever their arguments are.
func nothing(*judge, call) {}
