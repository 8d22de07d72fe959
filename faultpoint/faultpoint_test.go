package faultpoint_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// hitter builds the program of testdata with further arguments for go build.
func hitter(t *testing.T, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hitter")
	args = append(append([]string{"build", "-o", path}, args...), "parley/faultpoint/testdata/hitter")
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, out)
	}
	return path
}

func TestWithTheTagTheProcessDiesAtTheHitThatIsNamed(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), hitter(t, "-tags", "faultpoints"))
	cmd.Env = append(os.Environ(), "PARLEY_FAULTS=here=kill@3")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the process ended with %v, not by SIGKILL", err)
	}
	if got := stdout.String(); got != "alive 1\nalive 2\n" {
		t.Errorf("it said %q before it died at the third hit", got)
	}
	if want := "{\"msg\":\"fault\",\"plan\":\"here=kill@3\"}\n"; stderr.String() != want {
		t.Errorf("it died with %q, not with %q", &stderr, want)
	}
}

func TestWithTheTagAMisspeltFaultEndsTheProcess(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), hitter(t, "-tags", "faultpoints"))
	cmd.Env = append(os.Environ(), "PARLEY_FAULTS=here=klil")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "klil") {
		t.Errorf("it ended with %v and said %q", err, out)
	}
}

func TestWithoutTheTagNothingIsReadAndNothingHappens(t *testing.T) {
	t.Parallel()
	path := hitter(t)
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Env = append(os.Environ(), "PARLEY_FAULTS=here=kill")
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "alive") != 3 {
		t.Errorf("it ended with %v and said %q", err, out)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"PARLEY_FAULTS", "parley/faultpoint.Hit"} {
		if bytes.Contains(binary, []byte(name)) {
			t.Errorf("the binary holds %q", name)
		}
	}
}

func TestWithoutTheTagAHitIsInlinedAway(t *testing.T) {
	t.Parallel()
	// -a of this one small package, so that the compiler speaks.
	out, err := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-m", "parley/faultpoint").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"can inline Hit", "can inline HitOn"} {
		if !bytes.Contains(out, []byte(name+"\n")) && !bytes.Contains(out, []byte(name+" ")) {
			t.Errorf("the compiler does not say %q but\n%s", name, out)
		}
	}
}
