package policy

import (
	"regexp"
	"strings"
)

// pages judges less and more, which start other programs by their options and commands.
func pages(j *judge, c call) {
	for _, a := range c.args {
		if strings.HasPrefix(a.text, "-") && !isWord("-R -S -N -F -X -FRX -", a.text) || strings.HasPrefix(a.text, "+") || a.mayBeOption() {
			j.raise(Admin, c.node, "%s with %s may run other programs", c.name, show(a.text))
			continue
		}
		if !strings.HasPrefix(a.text, "-") {
			j.reads(a, c.node)
		}
	}
}

// applets judges a program that is many others, whose options are not those of the programs
// that the policy knows.
func applets(j *judge, c call) {
	if len(c.args) > 0 {
		j.raise(Admin, c.node, "the programs of %s take other options than those that the policy knows: leave %s out", c.name, c.name)
	}
	wraps(wrapper{longs: "list help"})(j, c)
}

// makesTemporary returns the rule of mktemp, which makes its file in /tmp if it is not told
// where.
func makesTemporary(ch changer) rule {
	inner := changes(ch)
	return func(j *judge, c call) {
		p := (&judge{policy: j.policy, place: j.place}).options(c, ch.options)
		if !p.given["p"] && !p.given["tmpdir"] && (len(p.operands) == 0 || p.given["t"]) {
			j.writes(arg{text: "/tmp/tmp" + markName}, c.node, c.name)
		}
		inner(j, c)
	}
}

// tees judges tee, which without a file only hands on.
func tees(j *judge, c call) {
	p := j.options(c, options{writes: true})
	for _, a := range p.operands {
		j.writes(a, c.node, "tee")
	}
}

// withMode returns the rule of a command that makes things with the mode behind -m.
func withMode(ch changer) rule {
	if ch.effects == nil {
		ch.effects = map[string]effect{}
	}
	ch.values += "m"
	ch.longs += " mode"
	ch.effects["m"], ch.effects["mode"] = ignores, ignores
	inner := changes(ch)
	return func(j *judge, c call) {
		for i, a := range c.args {
			_, long, has := strings.Cut(a.text, "=")
			switch {
			case strings.HasPrefix(a.text, "--m") && has:
				judgeMode(j, c, arg{text: long, splits: a.splits, braces: a.braces})
			case strings.HasPrefix(a.text, "--m") && i+1 < len(c.args):
				judgeMode(j, c, c.args[i+1])
			case strings.HasPrefix(a.text, "--") || !strings.HasPrefix(a.text, "-"):
			case strings.HasSuffix(a.text, "m") && i+1 < len(c.args):
				judgeMode(j, c, c.args[i+1])
			case strings.Contains(a.text, "m"):
				_, m, _ := strings.Cut(a.text, "m")
				judgeMode(j, c, arg{text: m, splits: a.splits, braces: a.braces})
			}
		}
		inner(j, c)
	}
}

// unzips judges unzip, which writes into the folder behind -d.
func unzips(j *judge, c call) {
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch text, known := a.lit(); {
		case text == "-d" && known && i+1 < len(c.args):
			i++
			j.writes(c.args[i], c.node, "unzip -d")
		case known && isWord("-l -v -Z -t -p -q -o -n -j -qo -oq -x", text):
		case a.mayBeOption() || strings.HasPrefix(a.text, "-"):
			j.raise(Admin, c.node, "unzip with %s needs a person", show(a.text))
		default:
			j.reads(a, c.node)
		}
	}
	if len(c.args) > 0 && isWord("-l -v -Z -t -p", c.args[0].text) {
		return
	}
	j.raise(Write, c.node, "unzip changes files")
}

// tars judges tar.
func tars(j *judge, c call) {
	o := options{
		values: "fCTXbKNVgHIFL",
		longs: "file directory files-from exclude-from exclude transform use-compress-program info-script new-volume-script to-command " +
			"checkpoint-action rmt-command rsh-command listed-incremental strip-components owner group mode mtime",
		effects: map[string]effect{
			"I": runs, "use-compress-program": runs, "F": runs, "info-script": runs, "new-volume-script": runs, "to-command": runs,
			"checkpoint-action": runs, "rmt-command": runs, "rsh-command": runs, "index-file": asks, "P": asks, "absolute-names": asks,
			"remove-files": runs, "recursive-unlink": runs, "unlink-first": asks, "U": asks, "g": asks, "listed-incremental": asks,
			"L": asks, "T": readsOne, "files-from": readsOne, "exclude": ignores, "X": readsOne, "exclude-from": readsOne,
			"overwrite": asks, "overwrite-dir": asks, "dereference": asks, "h": asks, "transform": asks, "xform": asks, "s": asks, "preserve-permissions": 0,
			"delete": asks, "one-top-level": asks, "volno-file": asks, "backup": asks, "suffix": asks, "C": ignores, "directory": ignores, "f": ignores, "file": ignores, "warning": 0,
		},
	}
	if len(c.args) == 0 {
		return
	}
	first, known := c.args[0].lit()
	if known && !strings.HasPrefix(first, "-") {
		if strings.ContainsAny(first, "IFL") { // the values of old options follow in their order
			j.raise(Deny, c.node, "%s %s runs another program: it is always denied", c.name, shorten(first))
			return
		}
		flags, takes := strings.Map(without, first), strings.Map(valued, first)
		c.args = append([]arg{{text: "-" + flags + takes, node: c.args[0].node}}, c.args[1:]...)
		known = len(takes) < 2
	}
	if !known {
		j.raise(Admin, c.node, "the options of %s are not plain: put a dash before each", c.name)
	}
	p := j.options(c, o)
	lists := isGiven(p, "t list") && !isGiven(p, "c r u A x")
	creates := !lists && !isGiven(p, "x extract get") // by whatever spelling
	o.effects["f"], o.effects["C"] = readsOne, writesOne
	if creates {
		o.effects["f"] = writesOne
	}
	if lists || isGiven(p, "c create") {
		o.effects["C"] = readsOne
	}
	o.effects["file"], o.effects["directory"] = o.effects["f"], o.effects["C"]
	j.options(c, o)
	for _, a := range c.args {
		if strings.Contains(a.text, ":") {
			j.raise(Admin, c.node, "%s may reach another machine for %s", c.name, show(a.text))
		}
	}
	for _, a := range p.operands {
		if creates {
			j.reads(a, c.node)
		}
	}
	if !lists {
		j.raise(Write, c.node, "tar changes files")
	}
}

// isGiven reports whether one of these options is given.
func isGiven(p parsed, names string) bool {
	for name := range strings.FieldsSeq(names) {
		if p.given[name] {
			return true
		}
	}
	return false
}

// valued leaves the letters of tar that take a value, and without the others.
func valued(r rune) rune {
	if strings.ContainsRune("fCTXbKNVgH", r) {
		return r
	}
	return -1
}

func without(r rune) rune {
	if valued(r) == r {
		return -1
	}
	return r
}

// compilerOption is an option of a compiler that starts no other program and names no file
// that is written.
var compilerOption = regexp.MustCompile(`^-([cSEvws]|[ILDUl].*|O[0-3sgz]?|g[0-3]?|ggdb[0-3]?|W[a-z0-9=+-]*|std=[a-z0-9+:]+|m(32|64|arch=[a-z0-9-]+|tune=[a-z0-9-]+)|` +
	`f(PIC|pic|PIE|pie|no-[a-z-]+|sanitize=[a-z,]+|openmp|wrapv|permissive)|pthread|pipe|pedantic(-errors)?|ansi|shared|static|x|xc|xc\+\+)$`)

// compiles judges the compilers of C.
func compiles(j *judge, c call) {
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case strings.HasPrefix(a.text, "-wrapper"):
			j.raise(Deny, c.node, "%s -wrapper runs another program: it is always denied", c.name)
		case a.is("-o") && i+1 < len(c.args):
			i++
			j.writes(c.args[i], c.node, c.name+" -o")
		case !a.mayBeOption() && compilerOption.MatchString(a.text):
		case a.mayBeOption(), strings.HasPrefix(a.text, "-"), strings.HasPrefix(a.text, "@"):
			j.raise(Admin, c.node, "%s with %s needs a person", c.name, show(a.text))
		default:
			j.reads(a, c.node)
		}
	}
	j.raise(Write, c.node, "%s changes files", c.name)
}

// services judges systemctl.
func services(j *judge, c call) {
	for _, a := range c.args {
		if isWord("poweroff reboot halt kexec suspend hibernate hybrid-sleep emergency rescue exit soft-reboot isolate default switch-root", a.text) {
			j.raise(Deny, c.node, "%s %s is always denied: the machine is not ours to stop", c.name, a.text)
		}
	}
	j.raise(Admin, c.node, "%s steers the services of the machine", c.name)
}

// connects judges nc and socat, which can hand a connection to a program.
func connects(j *judge, c call) {
	for _, a := range c.args {
		upper := strings.ToUpper(a.text)
		short := strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.ContainsAny(a.text, "ec") && c.name != "socat"
		if short || isWord("--exec --sh-exec --lua-exec", a.text) || strings.HasPrefix(a.text, "--e") || strings.HasPrefix(a.text, "--sh") ||
			strings.Contains(upper, "EXEC:") || strings.Contains(upper, "SYSTEM:") || strings.Contains(upper, "SHELL:") {
			j.raise(Deny, c.node, "%s would hand a connection to a program", c.name)
		}
	}
	needsPerson("reaches the network")(j, c)
}

// optionsOrPerson returns the rule of a command that needs a person, and never runs with
// some options.
func optionsOrPerson(why string, o options) rule {
	return func(j *judge, c call) {
		j.options(c, o)
		needsPerson(why)(j, c)
	}
}

// manuals judges man.
func manuals(j *judge, c call) {
	p := j.options(c, options{only: "-a -f -k -w -K -1 -2 -3 -4 -5 -6 -7 -8 -9", effects: map[string]effect{"P": runs, "pag": runs, "H": runs, "ht": runs, "X": runs, "gx": runs}})
	for _, a := range p.operands {
		if strings.Contains(a.text, "/") { // it may name its preprocessors
			j.raise(Admin, c.node, "man with the file %s needs a person", show(a.text))
			j.mention(a, c.node)
		}
	}
}

// joins returns the rule of a command that hands its words to a shell.
func joins(w wrapper) rule {
	return func(j *judge, c call) {
		rest, done := w.peel(j, c)
		if done || len(rest) == 0 {
			return
		}
		code := arg{}
		for i, a := range rest {
			if _, known := a.lit(); !known {
				code = a
				break
			}
			if i > 0 {
				code.text += " "
			}
			code.text += a.text
		}
		judgeShellCode(j, c, code, true)
	}
}
