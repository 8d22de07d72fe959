package policy_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Names of the stubs, by what a script that may run them is.
var (
	blockedStubs = []string{"rm", "sudo", "dd", "mkfs"}
	foreignStubs = []string{"mystery"}
	writingStubs = []string{"touch", "mkdir", "mv", "cp"}
	readingStubs = []string{"ls", "cat", "wc", "head", "grep", "sort"}
	passingStubs = []string{"env", "nice", "nohup", "timeout", "setsid", "stdbuf", "xargs", "time"}
)

// valuesOf is the options of the passing stubs behind which a value stands as a word of its own,
// as a pattern of sh.
var valuesOf = map[string]string{
	"env": "-u|-C", "nice": "-n", "nohup": "--none", "timeout": "-k|-s", "setsid": "--none", "stdbuf": "-i|-o|-e",
	"xargs": "-a|-d|-E|-I|-L|-n|-P|-s", "time": "-f|-o",
}

// generator writes random scripts: pieces of bash that hide a command name, as people and
// models spell them, and pieces that are harmless.
type generator struct{ *rand.Rand }

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g generator) name() string {
	if g.IntN(8) == 0 {
		return g.pick(append(blockedStubs, foreignStubs...)...)
	}
	return g.pick(append([]string{"echo", ":", "true", "printf", "pwd"}, append(readingStubs, writingStubs...)...)...)
}

// spell writes a word in one of the ways in which bash reads it as that word, or nearly.
func (g generator) spell(s string) string {
	if s == "" {
		return "''"
	}
	at := g.IntN(len(s))
	switch g.IntN(22) {
	case 0:
		return s[:at] + `\` + s[at:]
	case 1:
		return `"` + s[:at] + `"` + s[at:]
	case 2:
		return s[:at] + `''` + s[at:]
	case 3:
		return fmt.Sprintf(`$'\x%02x%s'`, s[0], s[1:])
	case 4:
		return fmt.Sprintf(`$'\%03o'%s`, s[0], s[1:])
	case 5:
		return s[:at] + "\\\n" + s[at:]
	case 6:
		return "${x:-" + s + "}"
	case 7:
		return "$(echo " + s + ")"
	case 8:
		return "{" + s + ",x}"
	case 9:
		return "`echo " + s + "`"
	case 10:
		return s[:at] + "$z" + s[at:]
	case 11:
		return s[:at] + "$''" + s[at:]
	}
	return s
}

func (g generator) word() string {
	switch g.IntN(30) {
	case 0:
		return g.pick(`"$x"`, `$x`, `$y`, `"${a[0]}"`, `${a[@]}`, `"$@"`, `$1`, `$_`, `a$x`, `"a${x:-$@}"`, `*$x`, `-"$x"`, `-v"$x"`, `-$x`, `"${@:1}"`, `"${a[@]}"`)
	case 1:
		return "$(" + g.list(1) + ")"
	case 2:
		return `"` + "`" + g.simple() + "`" + `"`
	case 3:
		return "<(" + g.list(1) + ")"
	case 4:
		return `'a[$(rm z)]'`
	case 5:
		return "$((" + g.number() + "))"
	case 6:
		return g.pick(`${x@P}`, `${!x}`, `${x:=rm}`, `${x/r/m}`, `${#x}`, `${x:1}`, `${x@Q}`, `${!a[@]}`)
	case 7:
		return g.pick(`*`, `?`, `[r]m`, `{rm,z}`, `{-v,'a[$(rm z)]'}`, `{1..3}`, `@(rm)`, `~`)
	case 8:
		return g.pick(`'rm z'`, `"rm z"`, `rm`, `-rf`, `--`, `-e`, `-v`, `#`, `a#b`, `=`, `!`, `{`, `}`, `[[`)
	}
	return g.spell(g.pick("x", "y", "z", "file", "rm", "-l", "1", "a b", "x=1"))
}

func (g generator) number() string {
	return g.pick("1", "x", "i", "i+1", "$x", "x=1", "a[0]", "a[x]", "$(wc -l)", "RANDOM", `"$y"`, "i++", `a[$(rm z)]`)
}

func (g generator) assign() string {
	return g.pick("x=", "y=", "i=", "z=", "a=(1 2)", "a=(x y)", "x+=") + g.pick("1", "rm", `'rm z'`, `'a[$(rm z)]'`, "$(ls)", "$y", "2", `"$(rm z)"`, `'3 rm'`, `'-pa[$(rm z)]'`, `'va[$(rm z)]'`, "-v", "16#a", "0xa", "")
}

func (g generator) simple() string {
	var b strings.Builder
	for g.IntN(6) == 0 {
		b.WriteString(g.assign() + " ")
	}
	if g.IntN(5) == 0 {
		b.WriteString(g.pick("env", "nice", "nohup", "timeout 3", "command", "builtin", "exec", "time", "xargs", "env x=1", "setsid", "stdbuf -o0", "!", "eval", "command -v", "bash -c", "nice -n 3", "\\time", "nice -n $x", "xargs -n $x", "timeout -k $x 3", "env -u $x") + " ")
	}
	switch g.IntN(16) {
	case 0:
		b.WriteString(g.pick("test -v", "[ -v", "[[ -v", "printf -v", "read", "unset", "declare", "export", "local", "let", "mapfile", "trap", "wait", "sleep 0 & wait -n", "printf", "printf -v x", "read -a", "wait -p", "test x -a", "set --", "getopts ab", "readonly", "declare -a", "declare -A", "exec {x}>", "alias", "set", "shopt -s", "hash -p x") + " ")
	case 1:
		b.WriteString(g.pick("[[ $x -eq 1 ]]", "[[ x -lt $y ]]", "[[ $x == @(a|b) ]]", "[[ $x =~ ^r ]]", "((i=1))", "((x))", "[ $x = y ]", `[ "$x" "$y" ]`, `[ "$x" = rm ]`, `[ * ]`, `echo $((${x#0}))`))
	case 2:
		b.WriteString(g.assign())
		return b.String()
	default:
		b.WriteString(g.spell(g.name()))
	}
	for n := g.IntN(4); n > 0; n-- {
		b.WriteString(" " + g.word())
	}
	switch g.IntN(12) {
	case 0:
		b.WriteString(g.pick(" > out", " >> out", " 2>&1", " < x", " >&2", " &> out", " 3>&1", " <<< x", " <<< rm", " > $x", " {x}>out", " >| out"))
	case 1:
		b.WriteString(g.pick(" #", " # rm z", "#rm", " #\\", `"a"#`))
		b.WriteString("\n" + g.simple())
	case 2:
		b.WriteString(" <<E\n" + g.pick("rm z", "$(rm z)", "`rm z`", "\\$(rm z)", "x") + "\nE\n")
	case 3:
		b.WriteString(" <<'E'\n" + g.pick("rm z", "$(rm z)") + "\nE\n")
	}
	return b.String()
}

// nested writes a script for another bash.
func (g generator) nested() string {
	inner := g.pick(g.simple(), g.simple()+"\nrm z", "echo \\\"; rm z; \\\"", "echo '\\'; rm z; '", "ls \\\nrm", "echo \\$(rm z)", "ls #\\\nrm z", "echo \"a\"#; rm z")
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(inner)
	switch g.IntN(7) {
	case 0:
		return "bash <<E\n" + inner + "\nE\n"
	case 1:
		return "bash <<'E'\n" + inner + "\nE\n"
	case 2:
		return "bash <<<\"" + escaped + "\""
	case 3:
		return "bash -c \"" + escaped + "\""
	case 4:
		return "sh -c \"" + escaped + "\""
	case 5:
		return "bash <<E\n" + strings.ReplaceAll(escaped, `\"`, `"`) + "\nE\n"
	}
	return "bash -c '" + strings.ReplaceAll(inner, "'", `'\''`) + "' " + g.word()
}

func (g generator) list(depth int) string {
	if depth > 3 {
		return g.simple()
	}
	switch g.IntN(20) {
	case 0:
		return "( " + g.list(depth+1) + " )"
	case 1:
		return "{ " + g.list(depth+1) + "\n}"
	case 2:
		return "if " + g.simple() + "\nthen " + g.list(depth+1) + "\nfi"
	case 3:
		return "for " + g.pick("x", "y", "i") + " in " + g.word() + " " + g.word() + "\ndo " + g.list(depth+1) + "\ndone"
	case 4:
		return "case " + g.word() + " in\n" + g.pick("x", "*", "rm") + ") " + g.list(depth+1) + "\n;;\nesac"
	case 5:
		return g.pick("f", "ls") + "() { " + g.list(depth+1) + "\n}"
	case 6:
		return g.nested()
	case 7, 8:
		return g.list(depth+1) + g.pick(" | ", " && ", " || ", "\n", " & ", "; ", " |& ") + g.list(depth+1)
	}
	return g.simple()
}

func (g generator) script() string {
	s := g.list(0)
	for g.IntN(3) == 0 {
		s += g.pick("\n", "; ", " && ") + g.list(0)
	}
	if g.IntN(10) == 0 && len(s) > 1 { // and now and then one byte too many or too few
		at := g.IntN(len(s))
		s = s[:at] + g.pick("", `\`, "'", `"`, "#", "$", "`", ";", "\n", "{", ")", " ") + s[min(at+g.IntN(2), len(s)):]
	}
	return s
}
