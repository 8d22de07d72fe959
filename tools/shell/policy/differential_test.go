package policy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/tools/shell/policy"
)

// arena is an empty folder with programs that only write down their own names, and a real
// bash that finds no others.
type arena struct {
	bash, stubs, work, log string
}

func newArena(t testing.TB) arena {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("bash is not installed: apt-get install bash")
	}
	dir := t.TempDir()
	a := arena{bash: bash, stubs: filepath.Join(dir, "bin"), work: filepath.Join(dir, "work"), log: filepath.Join(dir, "log")}
	for _, d := range []string{a.stubs, a.work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, path := range map[string]string{"bash": bash, "sh": "/bin/sh"} { // with the same PATH
		if err := os.Symlink(path, filepath.Join(a.stubs, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Concat(blockedStubs, foreignStubs, writingStubs, readingStubs, passingStubs) {
		script := fmt.Sprintf("#!/bin/sh\necho %s >> '%s'\n", name, a.log)
		if slices.Contains(passingStubs, name) { // what is not an option of its own is run
			script += "while :; do case \"$1\" in " + valuesOf[name] + ") shift; [ $# = 0 ] || shift ;; -*|*=*|[0-9]) shift ;; *) break ;; esac; done\n[ $# = 0 ] || exec \"$@\"\n"
		}
		if err := os.WriteFile(filepath.Join(a.stubs, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// isUnsafe reports whether a script could reach more than the arena, were the policy wrong.
func isUnsafe(text string) bool {
	for _, s := range []string{"/", "kill", "-p", "-i", "exec -", "while", "until", "((;", "ulimit", "suspend"} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// run runs a script as the tool does. It returns the stubs that ran and the files that
// were made.
func (a arena) run(t testing.TB, text string) (ran, files []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.bash, "--noprofile", "--norc", "-c", text)
	cmd.Dir, cmd.Env, cmd.Stdin = a.work, []string{"PATH=" + a.stubs, "HOME=" + a.work, "LC_ALL=C"}, strings.NewReader("z\n")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	alive, held, err := os.Pipe() // everything that the script starts holds it
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = alive.Close() }()
	cmd.ExtraFiles = []*os.File{held, held, held, held}
	err = cmd.Run()
	_ = held.Close()
	_ = alive.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.Copy(io.Discard, alive); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && (!exited || ctx.Err() != nil) {
		t.Fatalf("%q: %v", text, err)
	}
	log, err := os.ReadFile(a.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	ran = strings.Fields(string(log))
	entries, err := os.ReadDir(a.work)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		files = append(files, e.Name())
	}
	if len(ran) > 0 || len(files) > 0 {
		_ = os.Remove(a.log)
		if err := os.RemoveAll(a.work); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(a.work, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return ran, files
}

// checkRun runs what was judged, and compares what happened with the verdict.
func (a arena) checkRun(t testing.TB, input string, j policy.Judgement) {
	t.Helper()
	ran, files := a.run(t, j.Text)
	forbidden := slices.Concat(blockedStubs, foreignStubs)
	if j.Verdict == policy.Read {
		forbidden = slices.Concat(forbidden, writingStubs)
		if len(files) > 0 {
			t.Errorf("input %q\njudged %s and run as %q\nmade the files %q", input, j.Verdict, j.Text, files)
		}
	}
	for _, name := range ran {
		if slices.Contains(forbidden, name) {
			t.Errorf("input %q\njudged %s and run as %q\nran %s", input, j.Verdict, j.Text, name)
		}
	}
}

// A script that was judged to read or to write never runs a command of the list of those
// that never run, whatever bash makes of its reprint. (requirements J01, J02, TS13)
func TestReprintRunsNothingThatIsDenied(t *testing.T) {
	t.Parallel()
	a, p := newArena(t), mustNew(t, policy.Config{})
	place := policy.Place{Roots: []string{a.work}}
	runs, seed := 120, uint64(1)
	if os.Getenv("PARLEY_LONG") != "" {
		runs, seed = 20_000, uint64(time.Now().UnixNano())
	}
	g := generator{rand.New(rand.NewPCG(seed, 0))}
	verdicts := map[policy.Verdict]int{}
	for done := 0; done < runs; {
		input := g.script()
		j := p.Judge(input, place)
		verdicts[j.Verdict]++
		if j.Verdict > policy.Write || isUnsafe(j.Text) {
			continue
		}
		done++
		a.checkRun(t, input, j)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("seed %d: %d scripts run, of %v", seed, runs, verdicts)
}
