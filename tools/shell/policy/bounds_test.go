package policy_test

import (
	"runtime"
	"strings"
	"testing"

	"parley/tools/shell/policy"
)

// Scripts that are built to take long are refused, or judged with little memory. What
// takes long here also takes memory, which can be measured on any machine.
func TestJudgeIsBounded(t *testing.T) { // not parallel: it measures
	p := mustNew(t, policy.Config{})
	for name, script := range map[string]string{
		"parentheses":      strings.Repeat("(", policy.MaxScript),
		"substitutions":    strings.Repeat("$(", policy.MaxScript/2),
		"quotes":           strings.Repeat("\"$(", 5000),
		"backquotes":       strings.Repeat("`", policy.MaxScript),
		"open braces":      strings.Repeat("{a,", 5000),
		"many braces":      "echo " + strings.Repeat("{a,b}", 3000),
		"nested braces":    "echo " + strings.Repeat("{a,", 60) + strings.Repeat("}", 60),
		"a few braces":     "echo " + strings.Repeat("{a,b,c,d,e}", 40),
		"here-documents":   strings.Repeat("<<a ", 4000) + "\n" + strings.Repeat("a\n", 100),
		"parameters":       strings.Repeat("${a:-", 3000),
		"sums":             "echo $((" + strings.Repeat("1+", 7000) + "1))",
		"lists":            strings.Repeat("ls && ", 2500) + "ls",
		"statements":       strings.Repeat("ls;", 5000),
		"words":            "ls " + strings.Repeat("a ", 8000),
		"climbing":         "ls " + strings.Repeat("../", 5000),
		"patterns":         "cat /" + strings.Repeat("*", 8000) + "x",
		"variables":        "cat /" + strings.Repeat("$a", 8000),
		"scripts of sed":   "sed '" + strings.Repeat("s/a/b/;", 2000) + "'",
		"programs of awk":  "awk '" + strings.Repeat("print ", 2000) + "'",
		"scripts in paths": strings.Repeat("cat $a/x$b/y ", 1200),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		j := p.Judge(script, sandboxed)
		runtime.ReadMemStats(&after)
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 48 {
			t.Errorf("%s: %d MiB for %s, %s", name, mib, j.Verdict, j.Reason)
		}
	}
}
