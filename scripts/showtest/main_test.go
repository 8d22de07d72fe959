package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// said is what a run of events prints at its end.
func said(t *testing.T, events ...event) (out string, whole string) {
	t.Helper()
	var o, l strings.Builder
	r := newReport(&o, &l)
	for _, e := range events {
		r.add(e)
	}
	r.finish("FILE")
	return o.String(), l.String()
}

func output(name string, lines ...string) (es []event) {
	for _, l := range lines {
		es = append(es, event{Action: "output", Package: "p", Test: name, Output: l + "\n"})
	}
	return es
}

func TestReport(t *testing.T) {
	t.Parallel()
	t.Run("a run without failure says nothing of its tests", func(t *testing.T) {
		t.Parallel()
		es := append(output("TestA", "    a_test.go:1: fine"), event{Action: "pass", Package: "p", Test: "TestA"})
		es = append(es, output("", "ok  \tp\t0.1s")...)
		out, whole := said(t, append(es, event{Action: "pass", Package: "p"})...)
		if out != "ok  \tp\t0.1s\n" || !strings.Contains(whole, "fine") {
			t.Errorf("printed %q, logged %q", out, whole)
		}
	})
	t.Run("the end has name, seed and what was wrong, in 100 lines", func(t *testing.T) {
		t.Parallel()
		var es []event
		for n := range 30 {
			name := fmt.Sprintf("TestA/case_%d", n)
			lines := []string{"=== RUN   " + name, "    a_test.go:9: PARLEY_SEED=77", "    a_test.go:1: wrong " + name}
			for i := range 500 {
				lines = append(lines, fmt.Sprintf("time=x level=INFO msg=%d", i), fmt.Sprintf("    log %d", i))
			}
			es = append(append(es, output(name, lines...)...), event{Action: "fail", Package: "p", Test: name})
		}
		es = append(es, event{Action: "fail", Package: "p", Test: "TestA"}, event{Action: "fail", Package: "p"})
		out, _ := said(t, es...)
		if n := strings.Count(out, "\n"); n > maxLines+1 {
			t.Errorf("%d lines", n)
		}
		for _, want := range []string{"30 failed; all that was printed is in FILE", "--- FAIL: p TestA/case_0\n", "PARLEY_SEED=77", "wrong TestA/case_0", "and 18 more"} {
			if !strings.Contains(out, want) {
				t.Errorf("the end has no %q:\n%s", want, out)
			}
		}
		if strings.Contains(out, "level=INFO") || strings.Contains(out, "--- FAIL: p TestA\n") {
			t.Errorf("the end has noise:\n%s", out)
		}
	})
	t.Run("of a package that was cut off it is said what its test printed last", func(t *testing.T) {
		t.Parallel()
		es := append(output("TestA", "    a_test.go:9: PARLEY_SEED=77", "panic: seed 78: it does not end"), output("", "FAIL\tp\t1s")...)
		out, _ := said(t, append(es, event{Action: "fail", Package: "p"})...)
		for _, want := range []string{"--- FAIL: p TestA\n", "seed 78: it does not end"} {
			if !strings.Contains(out, want) {
				t.Errorf("the end has no %q:\n%s", want, out)
			}
		}
	})
	t.Run("of a package whose time was over it is said which test hung, and where", func(t *testing.T) {
		t.Parallel()
		es := append(output("TestHangs", "    a_test.go:9: PARLEY_SEED=77"), output("TestPasses", "--- PASS: TestPasses (0.00s)",
			"panic: test timed out after 20m0s", "\trunning tests:", "\t\tTestHangs (20m0s)", "", "goroutine 1 [running]:", "testing.(*M).startAlarm", "",
			"goroutine 7 [chan receive]:", "p.TestHangs(0x1)", "\tp/a_test.go:31 +0x2", "", "goroutine 8 [select]:", "net/http.(*Server)")...)
		es = append(es, event{Action: "pass", Package: "p", Test: "TestPasses"}, event{Action: "fail", Package: "p"})
		out, _ := said(t, es...)
		for _, want := range []string{"--- FAIL: p TestHangs\n", "PARLEY_SEED=77", "timed out after 20m0s", "a_test.go:31"} {
			if !strings.Contains(out, want) {
				t.Errorf("the end has no %q:\n%s", want, out)
			}
		}
		if strings.Contains(out, "startAlarm") || strings.Contains(out, "net/http") {
			t.Errorf("the end has stacks of no test:\n%s", out)
		}
	})
	t.Run("a package that does not compile says why", func(t *testing.T) {
		t.Parallel()
		out, _ := said(t, event{Action: "build-output", ImportPath: "p", Output: "p.go:2: undefined: y\n"},
			event{Action: "fail", Package: "p", FailedBuild: "p"})
		if strings.Count(out, "undefined: y") != 2 {
			t.Errorf("printed %q", out)
		}
	})
}

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.26\n",
		"a_test.go": `package m
import "testing"
func TestGood(t *testing.T) {}
func TestBad(t *testing.T) { t.Fatal("it is wrong") }
func TestPanics(t *testing.T) { panic("boom") }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "showtest")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log := filepath.Join(dir, "log")
	cmd := exec.CommandContext(t.Context(), program, "-log", log, "go", "test", "-json", "./...")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("ended with %v", err)
	}
	_, end, _ := strings.Cut(string(out), "2 failed;")
	for _, want := range []string{"--- FAIL: m TestBad", "it is wrong", "--- FAIL: m TestPanics", "boom"} {
		if !strings.Contains(end, want) {
			t.Errorf("the end has no %q:\n%s", want, out)
		}
	}
	if whole, err := os.ReadFile(log); err != nil || !strings.Contains(string(whole), "boom") {
		t.Errorf("logged %q, %v", whole, err)
	}
}
