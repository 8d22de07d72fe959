package policy_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"parley/tools/shell/policy"
)

// frames put a script into another one, where it runs, or may run.
var frames = []string{
	"( %s\n)", "{ %s\n}", "if true; then %s\nfi", "if %s\nthen true; fi", "while %s\ndo break; done", "for i in 1; do %s\ndone",
	"case x in x) %s\n;; esac", "true; %s", "true\n%s", "%s\ntrue", "true && { %s\n}", "! { %s\n}", "time { %s\n}", "{ %s\n} | cat", "{ %s\n} &",
	"echo \"$(%s\n)\"", "cat <(%s\n)", "x=$(%s\n)", "cat <<E\n$(%s\n)\nE", "echo ${x:-$(%s\n)}", "echo $((1 + $(%s\n)))", "a[$(%s\n)]=1", "[[ -n $(%s\n) ]]",
}

// checkProperties judges a script, and what it becomes when it is judged again and inside
// of others.
func checkProperties(t testing.TB, p *policy.Policy, script string) {
	t.Helper()
	j := p.Judge(script, sandboxed)
	if j.Reason == "" {
		t.Errorf("%q: no reason", script)
	}
	if strings.HasPrefix(j.Reason, "the command could not be analysed") {
		t.Errorf("%q: %s", script, j)
	}
	if j.Text == "" {
		if j.Verdict != policy.Deny {
			t.Errorf("%q: %s without a text", script, j.Verdict)
		}
		return
	}
	if again := p.Judge(j.Text, sandboxed); again != j {
		t.Errorf("%q\njudged %s as %q\nand again %s as %q", script, j.Verdict, j.Text, again.Verdict, again.Text)
	}
	for _, frame := range frames {
		framed := fmt.Sprintf(frame, j.Text)
		if got := p.Judge(framed, sandboxed); got.Verdict < j.Verdict {
			t.Errorf("%q is %s\nand inside %q only %s, as %q", j.Text, j.Verdict, frame, got.Verdict, got.Text)
		}
	}
	quoted, err := syntax.Quote(j.Text, syntax.LangBash)
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range []string{"bash -c %s", "env bash -c %s", "bash <<< %s", "flock f -c %s"} {
		if got := p.Judge(fmt.Sprintf(frame, quoted), sandboxed); got.Verdict < j.Verdict {
			t.Errorf("%q is %s\nand behind %q only %s", j.Text, j.Verdict, frame, got.Verdict)
		}
	}
}

func TestJudgeProperties(t *testing.T) {
	t.Parallel()
	p := mustNew(t, policy.Config{})
	t.Run("hold for the corpus", func(t *testing.T) {
		t.Parallel()
		for _, c := range corpus(t) {
			checkProperties(t, p, c.Input)
		}
	})
	t.Run("hold for random scripts", func(t *testing.T) {
		t.Parallel()
		g := generator{rand.New(rand.NewPCG(7, 7))}
		for range 150 {
			checkProperties(t, p, g.script())
		}
	})
}

// Every name of the blocklist is found in every spelling and behind every wrapper.
// (requirements J01, J03, TS13)
func TestBlockedNames(t *testing.T) {
	t.Parallel()
	p := mustNew(t, policy.Config{Denied: []string{"own-tool"}})
	names := []string{"rm", "sudo", "dd", "mkfs", "mkfs.ext4", "shutdown", "reboot", "halt", "poweroff", "unlink", "shred", "mount", "su", "crontab", "ld-linux-x86-64.so.2", "own-tool"}
	spellings := []func(string) string{
		func(s string) string { return s },
		func(s string) string { return `\` + s },
		func(s string) string { return `'` + s + `'` },
		func(s string) string { return s[:1] + `""` + s[1:] },
		func(s string) string { return s[:1] + "\\\n" + s[1:] },
		func(s string) string { return fmt.Sprintf(`$'\x%x%s'`, s[0], s[1:]) },
		func(s string) string { return fmt.Sprintf(`$'\%o'%s`, s[0], s[1:]) },
		func(s string) string { return "/bin/" + s },
		func(s string) string { return "../" + s },
		func(s string) string { return "$HOME/" + s },
		func(s string) string { return "~/" + s },
	}
	wrappers := []string{
		"%s x", "env %s x", "env -i a=1 %s x", "env -u y -- %s x", "time %s x", "time -p %s x", "nice %s x", "nice -n 5 %s x", "nice -5 %s x", "nohup %s x",
		"xargs %s", "xargs -0 -n 1 -P 2 %s", "timeout 5 %s x", "timeout -k 1 -s KILL 5 %s x", "busybox %s x", "stdbuf -oL %s x", "setsid -f %s x", "ionice -c 3 %s x",
		"find . -exec %s {} \\;", "find . -execdir %s {} +", "find . -ok %s {} \\;", "command %s x", "command -p %s x", "builtin %s x", "exec %s x", "exec -a ls %s x",
		"flock f %s x", "taskset 1 %s x", "chrt -f 1 %s x", "setarch -R %s x", "strace %s x", "git bisect run %s x", "npm exec %s x", "unbuffer %s x", "a=1 %s x", "2>&1 %s x",
		"coproc %s x", "f() { %s x; }; f", "trap '%s x' EXIT", "eval %s x", "alias ls=%s; ls", "hash -p /bin/%s ls", "bash -c '%s x'", "sh -c '%s x'", "watch %s x", "script -c '%s x' f",
		"nice nohup timeout 5 env %s x", "echo $(%s x)", "ls | %s", "ls & %s x", "%s",
	}
	for _, name := range names {
		for _, wrapper := range wrappers {
			for _, spell := range spellings {
				script := fmt.Sprintf(wrapper, spell(name))
				if j := p.Judge(script, sandboxed); j.Verdict != policy.Deny {
					t.Errorf("%q: %s, want deny (%s)", script, j.Verdict, j)
				}
			}
		}
	}
}
