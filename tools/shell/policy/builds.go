package policy

import "strings"

// goes judges the go command.
func goes(j *judge, c call) {
	if len(c.args) == 0 {
		return
	}
	command, known := c.args[0].lit()
	if !known {
		j.raise(Admin, c.node, "what go does is only known at run time")
		return
	}
	for i, a := range c.args[1:] {
		name, value, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(a.text, "-"), "-"), "=")
		name = strings.TrimPrefix(name, "test.")
		if a.mayBeOption() && !a.isPattern() {
			j.raise(Admin, c.node, "an argument of go may turn out to be an option: put ./ before it")
		}
		if !strings.HasPrefix(a.text, "-") {
			judgeGoOperand(j, c, a)
			continue
		}
		switch {
		case isWord("exec toolexec vettool modfile overlay pgo fixtool", name):
			j.raise(Deny, c.node, "go -%s runs another program or other code: it is always denied", name)
		case isWord("ldflags gcflags asmflags gccgoflags compiler", name):
			j.raise(Admin, c.node, "go -%s steers other programs: a person has to decide", name)
		case isWord("o coverprofile cpuprofile memprofile blockprofile mutexprofile trace outputdir", name):
			target := arg{text: value, splits: a.splits, node: a.node}
			if !has {
				if i+2 >= len(c.args) {
					return
				}
				target = c.args[i+2]
			}
			j.writes(target, c.node, "go -"+name)
		case name == "C":
			j.raise(Admin, c.node, "go -C leads to another folder: use cd")
		}
	}
	switch command {
	case "version", "doc", "help":
	case "env":
		for _, a := range c.args[1:] {
			if strings.HasPrefix(a.text, "-") && !a.is("-json") {
				j.raise(Admin, c.node, "go env -w changes how go works")
			}
		}
	case "build", "test", "vet", "list", "run", "fmt", "clean", "fix":
		judgeWorkspaceCode(j, c)
	case "mod":
		if len(c.args) > 1 && (c.args[1].is("tidy") || c.args[1].is("graph") || c.args[1].is("why") || c.args[1].is("verify") || c.args[1].is("init") || c.args[1].is("edit")) {
			judgeWorkspaceCode(j, c)
			return
		}
		j.raise(Admin, c.node, "go mod with these arguments needs a person")
	default:
		j.raise(Admin, c.node, "go %s needs a person", shorten(command))
	}
}

// judgeGoOperand judges a package or a file that go is given.
func judgeGoOperand(j *judge, c call, a arg) {
	if strings.Contains(a.text, "@") {
		j.raise(Admin, c.node, "go fetches code from the network for %s", show(a.text))
	}
	if strings.HasPrefix(a.text, "/") || strings.HasPrefix(a.text, "..") || strings.HasPrefix(a.text, markHome) {
		j.reads(a, c.node)
		return
	}
	j.mention(a, c.node)
}

// makes judges make: the targets of the workspace's own file.
func makes(j *judge, c call) {
	judgeWorkspaceCode(j, c)
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		text, known := a.lit()
		switch {
		case !known && (a.mayBeOption() || strings.ContainsAny(text, "=-")):
			j.raise(Admin, c.node, "what make does is only known at run time")
		case strings.HasPrefix(text, "--eval") || strings.HasPrefix(text, "-E"):
			judgeForeignWords(j, c, strings.Join(textsOf(c.args), " "))
			j.raise(Admin, c.node, "make is given rules in its arguments: a person has to read them")
		case isWord("-n -k -s -B -j --dry-run --keep-going --silent --always-make --no-print-directory --version", text),
			strings.HasPrefix(text, "-j") && leading(text[2:], 3, "0123456789") == text[2:]:
		case (text == "-C" || text == "-f") && i+1 < len(c.args):
			i++
			if w := j.locate(c.args[i].text); w.root == "" || c.args[i].splits || c.args[i].is("-") {
				j.raise(Admin, c.node, "make %s leads out of the workspace", text)
			}
			j.reads(c.args[i], c.node)
		case strings.HasPrefix(text, "-"):
			j.raise(Admin, c.node, "the option %s of make needs a person", shorten(text))
		case strings.Contains(text, "="):
			judgeForeignWords(j, c, text)
			j.raise(Admin, c.node, "make is given %s, which may hold commands", shorten(text))
		}
	}
}

func textsOf(args []arg) []string {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.text
	}
	return texts
}

// packages judges the package managers that run a project's scripts.
func packages(j *judge, c call) {
	for _, a := range c.args {
		if strings.HasPrefix(a.text, "--script-shell") || strings.HasPrefix(a.text, "--node-options") || strings.HasPrefix(a.text, "--shell") {
			j.raise(Deny, c.node, "%s %s runs another program: it is always denied", c.name, show(a.text))
		}
		if a.mayBeOption() {
			j.raise(Admin, c.node, "an argument of %s may turn out to be an option: put -- before it", c.name)
		}
		if a.is("--") {
			break
		}
	}
	if len(c.args) == 0 {
		j.raise(Admin, c.node, "%s by itself may fetch code from the network", c.name)
		return
	}
	command, _ := c.args[0].lit()
	for _, a := range c.args[1:] {
		if strings.HasPrefix(a.text, "-") && !a.is("--") && !a.is("--silent") {
			command = ""
		}
		if a.is("--") {
			break
		}
	}
	switch command {
	case "test", "run", "run-script", "t":
		judgeWorkspaceCode(j, c)
	case "ls", "list":
		if c.name == "yarn" { // which has a script of this name, or none
			judgeWorkspaceCode(j, c)
		}
	case "--version", "-v":
	case "exec", "x", "dlx":
		j.raise(Admin, c.node, "%s %s runs another program", c.name, command)
		if len(c.args) > 1 {
			j.run(call{args: c.args[1:], node: c.node, wrapped: c.wrapped + 1})
		}
	default:
		j.raise(Admin, c.node, "%s with these arguments may fetch and run code from the network", c.name)
	}
}

// cargos judges cargo.
func cargos(j *judge, c call) {
	for _, a := range c.args {
		if a.is("--") {
			break
		}
		name, _, _ := strings.Cut(a.text, "=")
		if isWord("--config --target-dir --artifact-dir --out-dir --manifest-path --open -C -Z", name) || strings.HasPrefix(a.text, "+") || a.mayBeOption() {
			j.raise(Admin, c.node, "cargo %s needs a person", show(a.text))
		}
	}
	if len(c.args) == 0 {
		return
	}
	switch command, _ := c.args[0].lit(); command {
	case "build", "test", "check", "clippy", "fmt", "run", "bench", "doc", "b", "t", "c", "r",
		"tree", "metadata": // they start the compiler, which .cargo/config.toml may name
		judgeWorkspaceCode(j, c)
	case "--version", "-V":
	default:
		j.raise(Admin, c.node, "cargo with these arguments needs a person")
	}
}
