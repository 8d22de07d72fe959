package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"parley/tools/shell/policy"
)

// addSeeds adds the attacks, and in long runs all commands whose verdicts are known.
func addSeeds(f *testing.F) {
	f.Helper()
	cases := corpus(f)
	if os.Getenv("PARLEY_LONG") != "" {
		cases = append(cases, verdicts(f)...)
	}
	for _, c := range cases {
		f.Add(c.Input)
	}
}

// FuzzJudge looks for scripts that are judged less strictly when they are judged again or
// stand inside of others, and for panics.
func FuzzJudge(f *testing.F) {
	addSeeds(f)
	p := mustNew(f, policy.Config{})
	f.Fuzz(func(t *testing.T, script string) { checkProperties(t, p, script) })
}

// FuzzReprint looks for scripts that are judged to read or to write, and run something
// else when real bash gets their reprint.
func FuzzReprint(f *testing.F) {
	addSeeds(f)
	p, shared := mustNew(f, policy.Config{}), newArena(f)
	f.Fuzz(func(t *testing.T, script string) {
		a := shared
		a.work = filepath.Join(t.TempDir(), "work")
		if err := os.Mkdir(a.work, 0o755); err != nil {
			t.Fatal(err)
		}
		j := p.Judge(script, policy.Place{Roots: []string{a.work}})
		if j.Verdict > policy.Write || isUnsafe(j.Text) {
			return
		}
		a.checkRun(t, script, j)
	})
}

func BenchmarkJudge(b *testing.B) {
	p := mustNew(b, policy.Config{})
	for name, script := range map[string]string{
		"short": "ls -la",
		"usual": "set -euo pipefail; for f in *.go; do wc -l \"$f\"; done | sort -n | tail -5 && git status",
		"bad":   "nice nohup timeout 5 env a=1 r\\m -rf x",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p.Judge(script, sandboxed)
			}
		})
	}
}
