//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// addBubblewraps adds the worlds in which bubblewrap builds the walls. The whole suite runs
// in the first of them.
func addBubblewraps(t *testing.T, worlds map[string]world, base Level) {
	t.Helper()
	if base == LevelB || base == LevelD {
		t.Log("nobody makes namespaces on this machine, bubblewrap neither")
		return
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Fatalf("%v: install the package bubblewrap", err)
	}
	worlds["bubblewrap"] = world{away: "nothing", want: base, backend: BackendBubblewrap, builder: BackendBubblewrap}
	if os.Geteuid() != 0 {
		t.Log("only root can make the machine on which bubblewrap alone may make namespaces")
		return
	}
	worlds["a machine on which bubblewrap alone may make namespaces"] = world{away: "users", want: base, backend: BackendAuto, builder: BackendBubblewrap}
}

// takeUsersAway makes this process, which is root in a mount namespace of its own, an ordinary
// user whom the kernel lets make no namespace, as anybody in another root folder. First on its
// PATH is a bwrap with the rights of root, which makes them. The user is none of another world's:
// without a namespace of users the limit of processes counts all that a user has.
func takeUsersAway() error {
	const alone = 65533
	dir := filepath.Join(os.TempDir(), "root")
	bin := filepath.Join(os.TempDir(), "bin")
	err := errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		os.Mkdir(dir, 0o755), os.Mkdir(bin, 0o755),
		unix.Mount("tmpfs", bin, "tmpfs", 0, "mode=755"),
	)
	if err != nil {
		return err
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(bwrap)
	if err != nil {
		return err
	}
	mine := filepath.Join(bin, "bwrap")
	return errors.Join(
		os.WriteFile(mine, text, 0o755), os.Chmod(mine, 0o755|os.ModeSetuid),
		unix.Mount("/", dir, "", unix.MS_BIND|unix.MS_REC, ""),
		unix.Chroot(dir), os.Chdir(os.TempDir()),
		os.Chown(os.TempDir(), alone, alone), syscall.Setgroups(nil), syscall.Setgid(alone), syscall.Setuid(alone),
		os.Setenv("PATH", bin+":"+os.Getenv("PATH")),
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
	)
}

// insideUID is who a program is inside: without a namespace of users, who it is outside.
func insideUID(s *Sandbox) string {
	if s.system.walls.Built && !s.system.walls.Users {
		return itoa(s.system.uid)
	}
	return itoa(insideID)
}

// bubblewrapOf opens a sandbox whose bwrap is in a folder; empty: there is none.
func bubblewrapOf(t *testing.T, dir string) (*Sandbox, error) {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	t.Setenv("PATH", dir)
	s, err := Open(t.Context(), Config{Backend: BackendBubblewrap, Getenv: os.LookupEnv})
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

// What bwrap builds is believed no more than what parley builds: the self-test decides.
func TestBubblewrap(t *testing.T) {
	s := walled(t)
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal(err)
	}
	if s.system.asRoot() {
		s, err := bubblewrapOf(t, filepath.Dir(bwrap))
		if err != nil || s.Usable() || len(s.Reasons()) != 1 || !strings.Contains(s.Reasons()[0], "ordinary user") {
			t.Errorf("for root: %v, level %s, %q", err, s.Level(), s.Reasons())
		}
		return // the rest is in a world of TestWorlds
	}
	if s.config.Backend != BackendBubblewrap {
		t.Skip("this is in a world of TestWorlds, whose walls bubblewrap builds")
	}
	t.Run("that is missing builds nothing", func(t *testing.T) {
		s, err := bubblewrapOf(t, "")
		if err != nil || s.Usable() || s.Backend() != "" || !strings.Contains(strings.Join(s.Reasons(), ""), "not installed") {
			t.Errorf("%v, level %s by %q, %q", err, s.Level(), s.Backend(), s.Reasons())
		}
	})
	for name, c := range map[string]struct{ script, says string }{
		"that fails says why":                     {"echo bwrap: not today >&2; exit 1", "bwrap: not today"},
		"that makes no process namespace is none": {`while [ "$1" != -- ]; do shift; done; shift; exec "$@"`, "no process namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := bubblewrapOf(t, fake(t, c.script))
			if err != nil || s.Usable() || !strings.Contains(strings.Join(s.Reasons(), ""), c.says) {
				t.Errorf("%v, level %s, %q", err, s.Level(), s.Reasons())
			}
		})
	}
	t.Run("that leaves a way out is refused", func(t *testing.T) {
		open := fake(t, fmt.Sprintf(`n=$#; for a; do if [ "$a" = --chdir ]; then set -- "$@" --ro-bind %[1]s %[1]s; fi; set -- "$@" "$a"; done; shift $n; exec %[2]s "$@"`, os.TempDir(), bwrap))
		if _, err := bubblewrapOf(t, open); !errors.Is(err, ErrEscaped) || !strings.Contains(err.Error(), "read outside") {
			t.Errorf("asked for: %v", err)
		}
		other := *s
		other.config.Backend, other.backend, other.level, other.reasons = BackendAuto, "", LevelD, nil
		ok, err := other.findBubblewrap(t.Context(), LevelA, s.system.walls.Landlock)
		if ok || err != nil || other.Usable() || other.system.bubblewrap != "" || !strings.Contains(strings.Join(other.reasons, ""), "read outside") {
			t.Errorf("in the place of parley: %t, %v, level %s, %q", ok, err, other.Level(), other.reasons)
		}
	})
}

// fake is a folder with a bwrap that is a script.
func fake(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bwrap"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A program shares no namespace with the gateway but that of control groups, of which it sees
// nothing, and of clocks.
func TestProgramsShareNoNamespace(t *testing.T) {
	s := walled(t)
	if !s.system.walls.Proc || !s.system.walls.Namespaces {
		t.Skipf("level %s has no namespaces, or no /proc in which to see them", s.Level())
	}
	kinds := []string{"ipc", "mnt", "net", "pid", "uts"}
	if !s.system.walls.Built || s.system.walls.Users {
		kinds = append(kinds, "user")
	}
	res, out, err := sh(t, s, "for k in "+strings.Join(kinds, " ")+"; do readlink /proc/self/ns/$k; done")
	if err != nil || res.Code != 0 || strings.Count(out, "\n") != len(kinds) {
		t.Fatalf("%+v %q %v", res, out, err)
	}
	for _, kind := range kinds {
		outside, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out, outside+"\n") {
			t.Errorf("%s is shared", outside)
		}
	}
}

// Whoever ends the process between the gateway and the helper ends the run, and nothing of it
// is left.
func TestNothingSurvivesItsLauncher(t *testing.T) {
	s := walled(t)
	ws := t.TempDir()
	ctx, cancel := context.WithTimeoutCause(t.Context(), bound, errors.New("the program hangs"))
	defer cancel()
	mark := "SANDBOX_MARK=" + ws
	killed := 0
	out := whenWritten("ready", func() {
		pids, err := descendants(os.Getpid())
		if err != nil {
			t.Error(err)
		}
		for _, pid := range pids {
			line, _ := os.ReadFile("/proc/" + itoa(pid) + "/cmdline")
			if args := strings.Split(string(line), "\x00"); len(args) > 1 && (args[1] == launcherArg || args[1] == bubblewrapArg || s.Level() == LevelB && args[1] == helperArg) {
				killed++
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	})
	_, err := s.Run(ctx, Command{Args: []string{"bash", "-c", "(setsid sleep 1000 &); echo ready; sleep 1000; :"}, Workspace: ws, Env: []string{mark}, Stdout: out})
	if err == nil || killed != 1 {
		t.Errorf("%d were killed, and it answers %v", killed, err)
	}
	if s.Level() == LevelB {
		return // of what is below the helper, the program alone ends with it
	}
	for start := time.Now(); len(marked(t, mark)) > 0; {
		if time.Since(start) > bound {
			t.Fatalf("processes %v survive", marked(t, mark))
		}
	}
}
