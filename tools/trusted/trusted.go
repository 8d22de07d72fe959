// Package trusted knows which files something outside a session believes or runs later: a
// shell that starts, a version control hook, an editor, another agent. Writing one is of
// category Admin.
package trusted

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Includes reports whether a path, which is below a root and clean, leads to such a file. It
// judges every name of the path. more are further names, as [Fold] returns them.
func Includes(rel string, more []string) bool {
	for name := range strings.SplitSeq(rel, "/") {
		name = foldName(name)
		if slices.Contains(names, name) || strings.HasPrefix(name, ".env.") || slices.Contains(more, name) {
			return true
		}
	}
	return false
}

// Names returns the names that are known, in lower case.
func Names() []string { return slices.Clone(names) }

// Fold returns further names for Includes: upper and lower case are the same.
func Fold(more []string) []string {
	folded := make([]string, len(more))
	for i, name := range more {
		folded[i] = foldName(name)
	}
	return folded
}

// foldName returns one spelling for all that a file system, or the program that reads the
// file, may take for the same name: some do not tell cases or full-width letters apart,
// some pass over characters that nobody sees, or over dots and spaces at the end.
func foldName(name string) string {
	name = strings.ToLower(strings.ToUpper(norm.NFKC.String(strings.Map(dropInvisible, name))))
	return strings.TrimRight(name, ". ")
}

// dropInvisible leaves out what shows nothing.
func dropInvisible(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
		return -1
	}
	return r
}

// names are what is believed, folded.
var names = []string{
	// version control
	".git", "git~1", ".hg", ".svn", ".bzr", ".jj", ".gitconfig", ".gitmodules", ".gitattributes", ".hgrc",
	".githooks", ".husky", ".lefthook.yml", "lefthook.yml", ".pre-commit-config.yaml",
	// builders
	".github", ".gitlab", ".gitlab-ci.yml", ".circleci", ".buildkite", ".travis.yml", "jenkinsfile",
	// shells
	".profile", ".login", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".zshrc",
	".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".inputrc",
	".xprofile", ".xinitrc", ".xsession", ".tmux.conf", ".screenrc", ".lesskey", ".less", ".config", ".local",
	// environments
	".env", ".envrc", ".direnv", ".tool-versions", ".mise.toml", "mise.toml",
	// editors
	".vimrc", ".exrc", ".nvimrc", ".nvim.lua", ".emacs", ".emacs.d", ".dir-locals.el", ".gdbinit", ".lldbinit",
	".vscode", ".idea", ".zed", ".devcontainer", ".devcontainer.json", ".editorconfig",
	// programs
	".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pypirc", ".pythonrc", ".pythonstartup",
	"sitecustomize.py", "usercustomize.py", ".irbrc", ".gemrc", ".cargo", ".m2", ".curlrc", ".wgetrc", ".netrc",
	// identities
	".ssh", "authorized_keys", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".rhosts", "crontab",
	// agents
	"claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md", "tools.md", "soul.md",
	"identity.md", "bootstrap.md", "heartbeat.md", "memory.md", ".memory", "qwen.md", "warp.md", "crush.md",
	"opencode.md", "copilot-instructions.md", "opencode.json", "opencode.jsonc", "crush.json", ".crush.json",
	".rules", ".kiro", ".junie", ".continue", ".continuerc.json", ".opencode", ".crush", ".qwen", ".amazonq",
	".augment", ".augment-guidelines", ".trae", ".claude", ".codex", ".gemini", ".cursor", ".cursorrules",
	".windsurf", ".windsurfrules", ".clinerules", ".roo", ".goosehints", ".aider.conf.yml", ".mcp.json",
	"mcp.json",
}
