//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayBeClosed are probes that a machine may refuse without a sandbox: to users other than
// root, or because it has no such thing.
var mayBeClosed = []string{
	"raw socket", "raw internet socket", "vsock", "environment of the first process", "mount", "new user namespace", "io_uring", "keyring",
	"ptrace", "read a process's memory", "environment of the victim", "environment of the parent", "abstract unix socket", "call of a future kernel", "lower oom_score_adj",
}

// newStage is a stage whose victim is another process of this user.
func newStage(t *testing.T) *stage {
	t.Helper()
	dir := t.TempDir()
	st, err := setStage(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.close(); err != nil {
			t.Error(err)
		}
	})
	victim := exec.CommandContext(t.Context(), st.Self, idleArg)
	in, err := victim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = victim.Wait()
	})
	st.Victim = victim.Process.Pid
	return st
}

// unwalled runs the probes as this process's user, with nothing in their way.
func unwalled(t *testing.T, st *stage) []outcome {
	t.Helper()
	in, err := json.Marshal(st.targets)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), st.Self, probeArg)
	cmd.Dir, cmd.Stdin = st.workspace, bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []outcome
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// Each way out is open without the sandbox, so that the probe can fail, and closed inside.
func TestEscapes(t *testing.T) {
	s := walled(t)
	open := unwalled(t, newStage(t))
	st := newStage(t)
	inside, err := s.probe(t.Context(), st, Command{})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range probes {
		t.Run(p.name, func(t *testing.T) {
			if o := open[i]; o.Name != p.name || o.Err != "" {
				if !slices.Contains(mayBeClosed, p.name) {
					t.Errorf("closed without the sandbox, so it proves nothing: %s", o.Err)
				}
				t.Logf("closed without the sandbox: %s", o.Err)
			}
			o := inside[i]
			if p.seen && s.Level() == LevelB {
				if o.Err != "" {
					t.Errorf("level B keeps in what it is said not to: %s", o.Err)
				}
				return
			}
			if o.Name != p.name || o.Err == "" {
				t.Error("it got out")
			}
			t.Logf("inside: %s", o.Err)
		})
	}
	// What the probes themselves say is one thing. What is outside is another.
	entries, err := os.ReadDir(st.Outside)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{"moved", "secret", "socket", "victim"}) {
		t.Errorf("outside are %q", names)
	}
	info, err := os.Stat(filepath.Join(st.Outside, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(st.Outside, "secret"))
	if string(text) != "outside" || err != nil || info.Mode() != 0o666 || info.ModTime().Unix() < 1e9 {
		t.Errorf("the file outside is %q, %v: %v", text, info.Mode(), err)
	}
	for _, name := range []string{"owned", "created"} {
		if info, err := os.Stat(filepath.Join(st.workspace, name)); err == nil && info.Mode()&os.ModeSetuid != 0 {
			t.Errorf("%s runs as its owner", name)
		}
	}
}

// The self-test can fail: it refuses walls that are none.
func TestOpen(t *testing.T) {
	t.Run("refuses walls that let a program out", func(t *testing.T) {
		s := walled(t)
		for name, w := range map[string]walls{
			"none":          {},
			"seccomp alone": {Seccomp: true},
		} {
			other := *s
			other.system.walls = w
			ok, err := other.try(t.Context(), LevelA, w)
			if other.system.asRoot() {
				// Without namespaces nobody becomes another user: it is root that gets out.
				other.system.uid, other.system.gid = 0, 0
			}
			if ok || !errors.Is(err, ErrEscaped) || !strings.Contains(err.Error(), "read outside") {
				t.Errorf("%s: %t, %v", name, ok, err)
			}
		}
	})
	t.Run("refuses a wrong configuration", func(t *testing.T) {
		if _, err := Open(t.Context(), Config{Mode: "off"}); err == nil || !strings.Contains(err.Error(), "mode") {
			t.Error(err)
		}
	})
	t.Run("refuses a program that would start itself for ever", func(t *testing.T) {
		mainCalled.Store(false)
		defer mainCalled.Store(true)
		for _, mode := range []string{ModeAuto, ModeUnsafeHost} {
			if _, err := Open(t.Context(), Config{Mode: mode}); err == nil {
				t.Errorf("%s: opened", mode)
			}
		}
	})
	t.Run("runs without walls only where the operator says so", func(t *testing.T) {
		s, err := Open(t.Context(), Config{Mode: ModeUnsafeHost, Getenv: os.LookupEnv})
		if err != nil || s.Level() != LevelD || !s.Usable() || len(s.Reasons()) != 1 {
			t.Fatal(s, err)
		}
		ws := t.TempDir()
		// What is left is out of its group by then, with which it would end in any case.
		_, out, err := sh(t, s, "pwd; mkfifo out; (setsid sh -c 'echo > out; exec sleep 1000' > /dev/null 2>&1 &); read x < out", func(c *Command) { c.Workspace, c.Env = ws, []string{"SANDBOX_MARK=" + ws} })
		if err != nil || out != ws+"\n" {
			t.Errorf("%q, %v", out, err)
		}
		if left := marked(t, "SANDBOX_MARK="+ws); len(left) > 0 {
			t.Errorf("processes %v are left", left)
		}
	})
}
