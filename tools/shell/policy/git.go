package policy

import "strings"

// gits judges git by its command, which it may also find in a repository's configuration:
// one that is not known may be an alias there, for any program.
func gits(j *judge, c call) {
	i := 0
	for ; i < len(c.args); i++ {
		a := c.args[i]
		text, known := a.lit()
		switch {
		case !known && !strings.HasPrefix(a.text, "-C"):
			j.raise(Deny, c.node, "what git does is only known at run time")
			return
		case text == "-C" && i+1 < len(c.args):
			i++
			changesFolder(j, call{name: "git -C", args: c.args[i : i+1], node: c.node})
		case text == "-c" || strings.HasPrefix(text, "--config-env"):
			if i+1 == len(c.args) {
				return
			}
			i++
			key, _, _ := strings.Cut(c.args[i].text, "=")
			if _, known := c.args[i].lit(); !known || !isWord("user.name user.email color.ui core.quotepath core.quotePath advice.detachedHead init.defaultBranch", key) {
				j.raise(Deny, c.node, "git -c can make git run any program: leave it out")
			}
		case isWord("--no-pager --version --help -h --no-optional-locks --literal-pathspecs --no-replace-objects -P", text):
		case strings.HasPrefix(text, "-c") || strings.HasPrefix(text, "--exec-path="):
			j.raise(Deny, c.node, "git %s can make git run any program: leave it out", shorten(text))
		case strings.HasPrefix(text, "-"):
			j.raise(Admin, c.node, "the option %s of git needs a person", shorten(text))
		default:
			judgeGitCommand(j, c, text, c.args[i+1:])
			return
		}
	}
}

// gitRuns are options by which commands of git run programs or use a pager.
var gitRuns = map[string]effect{
	"upload-pack": runs, "receive-pack": runs, "exec": runs, "open-files-in-pager": runs, "O": runs, "extcmd": runs, "tool": runs,
	"output": writesOne, "ext-diff": asks, "textconv": asks, "template": asks, "separate-git-dir": asks, "edit": asks, "interactive": asks, "no-index": asks,
}

// gitAsks are those of the commands that change the repository, of which none runs another
// program by an option.
var gitAsks = map[string]effect{
	"output": writesOne, "template": asks, "separate-git-dir": asks, "edit": asks, "interactive": asks,
}

func judgeGitCommand(j *judge, c call, command string, args []arg) {
	inner := call{name: "git " + command, args: args, node: c.node}
	looking := options{effects: gitRuns, longs: "output"}
	changing := options{effects: gitAsks, longs: "output", writes: true}
	if isWord("commit tag merge notes stash", command) { // elsewhere -m takes no value
		changing.values = "m"
	}
	switch command {
	case "status", "diff", "log", "show", "blame", "annotate", "shortlog", "describe", "rev-parse", "rev-list", "ls-files", "ls-tree", "cat-file", "name-rev",
		"merge-base", "show-ref", "for-each-ref", "show-branch", "whatchanged", "diff-tree", "diff-index", "diff-files", "count-objects", "check-ignore", "cherry",
		"range-diff", "var", "version", "help", "verify-commit", "verify-tag", "reflog":
		if command == "diff" || command == "log" || command == "show" {
			narrow := options{effects: map[string]effect{}, values: "LSGO", joined: "U", longs: "output"}
			for k, e := range gitRuns {
				if k != "O" {
					narrow.effects[k] = e
				}
			}
			looking = narrow
		}
		judgeGitOperands(j, inner, looking, Read)
		if command == "reflog" && len(args) > 0 && !args[0].is("show") && !args[0].is("list") {
			j.raise(Admin, c.node, "git reflog with arguments needs a person")
		}
	case "grep":
		judgeGitOperands(j, inner, looking, Read)
	case "branch", "tag", "remote", "stash", "worktree", "notes":
		switch {
		case isGitListing(command, args):
			judgeGitOperands(j, inner, looking, Read)
		case command == "remote":
			judgeGitOperands(j, inner, looking, Admin)
		default:
			judgeGitOperands(j, inner, changing, Write)
		}
	case "config":
		verdict := Admin
		if len(args) > 0 && (args[0].is("--get") || args[0].is("--list") || args[0].is("-l") || args[0].is("--get-all") || args[0].is("get") || args[0].is("list")) {
			verdict = Read
		}
		if len(args) == 1 && !args[0].isDynamic() && !strings.HasPrefix(args[0].text, "-") { // the key alone
			verdict = Read
		}
		judgeGitOperands(j, inner, looking, verdict)
	case "mv":
		judgeGitOperands(j, inner, changing, Write)
		for _, a := range args {
			if !strings.HasPrefix(a.text, "-") {
				j.writes(a, c.node, "git mv")
			}
		}
	case "checkout", "restore":
		judgeGitOperands(j, inner, changing, Write)
		for _, a := range args {
			if w := j.locate(a.text); w.root != "" && isTrusted(w, j.policy.config.Trusted) {
				j.raise(Admin, c.node, "git %s writes %s, which other programs trust later", command, show(a.text))
			}
		}
	case "add", "commit", "switch", "merge", "reset", "revert", "cherry-pick", "init":
		judgeGitOperands(j, inner, changing, Write)
	case "rebase":
		rebase := options{effects: map[string]effect{"x": runs, "exec": runs, "i": asks, "interactive": asks}}
		judgeGitOperands(j, inner, rebase, Write)
	case "bisect":
		if len(args) > 0 && args[0].is("run") {
			j.run(call{args: args[1:], node: c.node, wrapped: c.wrapped + 1})
		}
		j.raise(Admin, c.node, "git bisect needs a person")
	case "filter-branch", "difftool", "mergetool", "upload-pack", "receive-pack", "upload-archive", "instaweb", "daemon", "credential", "send-email":
		j.raise(Deny, c.node, "git %s runs other programs: it is always denied", command)
	case "submodule":
		if len(args) > 0 && args[0].is("foreach") {
			j.raise(Deny, c.node, "git submodule foreach runs other programs: it is always denied")
		}
		j.raise(Admin, c.node, "git submodule needs a person")
	default:
		judgeGitOperands(j, inner, looking, Admin)
		j.raise(Admin, c.node, "git %s needs a person", shorten(command))
	}
}

// judgeGitOperands judges the arguments of a command of git, whose own verdict is v.
func judgeGitOperands(j *judge, c call, o options, v Verdict) {
	p := j.options(c, o)
	if p.changes && v < Write {
		v = Write
	}
	switch v {
	case Write:
		j.raise(Write, c.node, "%s changes the repository", c.name)
		if j.policy.config.Exposed || j.policy.config.Networked { // its hooks and filters (decision 119)
			judgeWorkspaceCode(j, c)
		}
	case Admin:
		j.raise(Admin, c.node, "%s needs a person", c.name)
	}
	for _, a := range p.operands {
		if strings.HasPrefix(a.text, "/") || strings.HasPrefix(a.text, "../") || strings.HasPrefix(a.text, markHome) {
			j.reads(a, c.node)
		} else {
			j.mention(a, c.node)
		}
	}
}

// isGitListing reports whether a command of git with these arguments only lists.
func isGitListing(command string, args []arg) bool {
	if len(args) == 0 {
		return command != "stash"
	}
	text, known := args[0].lit()
	if !known {
		return false
	}
	switch command {
	case "branch":
		for _, a := range args {
			if text, known := a.lit(); !known || !isWord("-a -r -v -vv --list -l --all --remotes --show-current --verbose --merged --no-merged", text) {
				return false
			}
		}
		return true
	case "tag":
		return len(args) == 1 && isWord("-l --list", text)
	case "remote":
		return len(args) == 1 && isWord("-v --verbose show", text) || text == "get-url"
	}
	return isWord("list show", text)
}
