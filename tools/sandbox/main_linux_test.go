//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The tests run in several worlds: as who ran them, as an ordinary user, and with
// features of the kernel taken away. A world is this test binary again, with these
// variables; see TestWorlds.
const (
	worldEnv   = "SANDBOX_TEST_WORLD"   // what to take away: words of landlock, namespaces, proc, users
	levelEnv   = "SANDBOX_TEST_LEVEL"   // the level that must be found
	backendEnv = "SANDBOX_TEST_BACKEND" // who is to build the walls
	builderEnv = "SANDBOX_TEST_BUILDER" // who must have built them
	canaryEnv  = "SANDBOX_TEST_CANARY"  // a secret of the gateway
	aloneEnv   = "SANDBOX_TEST_ALONE"   // the workspace of a gateway that is killed
)

func TestMain(m *testing.M) {
	Main()
	if err := takeAway(os.Getenv(worldEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	if len(os.Args) > 1 && os.Args[1] == clientArg {
		client(os.Args[2:])
	}
	if ws := os.Getenv(aloneEnv); ws != "" {
		runAlone(ws)
	}
	os.Exit(m.Run())
}

func takeAway(what string) error {
	if what == "" {
		return nil
	}
	// As the gateway is: nobody looks into it.
	err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	for word := range strings.FieldsSeq(what) {
		switch word {
		case "landlock":
			err = errors.Join(err, hideLandlock())
		case "proc": // as containers do
			err = errors.Join(err, unix.Mount("tmpfs", "/proc/sys", "tmpfs", 0, ""))
		case "namespaces":
			err = errors.Join(err, os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0o600))
		case "users":
			err = errors.Join(err, takeUsersAway())
		}
	}
	return err
}

// hideLandlock is a kernel without Landlock, for this process and all below it.
func hideLandlock() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	p := assemble([]refusal{{nr: unix.SYS_LANDLOCK_CREATE_RULESET, err: unix.ENOSYS}})
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		return e
	}
	return nil
}

var opened = sync.OnceValues(func() (*Sandbox, error) {
	return Open(context.Background(), Config{Getenv: os.LookupEnv, Backend: os.Getenv(backendEnv)})
})

// walled is the sandbox of this world. Its level is what the machine allows; a world in
// which it is known says so. Tests of running do not skip at a level without walls: it
// must refuse.
func walled(t *testing.T) *Sandbox {
	t.Helper()
	s, err := opened()
	if err != nil {
		t.Fatal(err)
	}
	if want := os.Getenv(levelEnv); want != "" && Level(want) != s.Level() {
		t.Fatalf("level %s, not %s: %q", s.Level(), want, s.Reasons())
	}
	if want := os.Getenv(builderEnv); want != "" && want != s.Backend() {
		t.Fatalf("walls of %q, not of %s: %q", s.Backend(), want, s.Reasons())
	}
	if s.Level() == LevelD {
		_, err := s.Run(t.Context(), Command{Args: []string{"true"}, Workspace: t.TempDir()})
		if !errors.Is(err, ErrNoWalls) || len(s.Reasons()) == 0 {
			t.Fatalf("at level D it answers %v, with the reasons %q", err, s.Reasons())
		}
		t.Skipf("level D, which refuses: %q", s.Reasons())
	}
	t.Logf("level %s by %s %q", s.Level(), s.Backend(), s.Reasons())
	return s
}

// with is the sandbox of this world with other limits.
func with(s *Sandbox, change func(*Config)) *Sandbox {
	other := *s
	change(&other.config)
	return &other
}

// bound is what only a hang reaches.
const bound = 2 * time.Minute

// sh runs a script of bash and returns what it writes.
func sh(t *testing.T, s *Sandbox, script string, change ...func(*Command)) (Result, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), bound, errors.New("the program hangs"))
	defer cancel()
	var out bytes.Buffer
	c := Command{Args: []string{"bash", "-c", script}, Workspace: t.TempDir(), Stdout: &out, Stderr: &out}
	for _, f := range change {
		f(&c)
	}
	res, err := s.Run(ctx, c)
	return res, out.String(), err
}

// TestWorlds runs the tests of this package again where less is possible, and with the
// user that a gateway should have.
func TestWorlds(t *testing.T) {
	if os.Getenv(worldEnv) != "" {
		t.Skip("this process is one of the worlds that this test starts")
	}
	s, err := opened()
	if err != nil {
		t.Fatal(err)
	}
	base, version := s.Level(), landlockVersion()
	without := LevelD // no namespaces
	if version >= signalsScoped {
		without = LevelB
	}
	unlocked := LevelD // no Landlock
	if base == LevelA || base == LevelC {
		unlocked = LevelC
	}
	ordinary, namespaces, proc := base, "namespaces", "proc"
	if base == LevelB || base == LevelD { // there are none to take away, and root runs nothing
		ordinary, namespaces, proc = without, "nothing", "nothing"
	}
	worlds := map[string]world{
		"an ordinary user":              {away: "nothing", want: ordinary},
		"a kernel without Landlock":     {away: "landlock", want: unlocked},
		"a kernel of no namespaces":     {away: namespaces, want: without},
		"a container that hides a proc": {away: proc, want: ordinary},
		"a kernel that has neither":     {away: "landlock " + namespaces, want: LevelD},
	}
	addBubblewraps(t, worlds, base)
	done := map[world]bool{}
	for name, w := range worlds {
		if done[w] {
			t.Logf("%s: the same as another on this machine", name)
			continue
		}
		done[w] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := inWorld(t, w)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			ran := "--- PASS: TestLevel"
			if w.want == LevelD {
				ran = "--- SKIP: TestLevel" // once it has refused
			}
			if !strings.Contains(out, ran) || w.away == "proc" && !strings.Contains(out, "have no /proc") {
				t.Fatalf("the tests of this world did not run:\n%s", out)
			}
			t.Logf("level %s", w.want)
		})
	}
}

// world is where the tests run, and what they must find there.
type world struct {
	away    string
	want    Level
	backend string // empty: parley's own
	builder string // who must build the walls; empty: it is not looked at
}

// inWorld runs all tests in another world.
func inWorld(t *testing.T, w world) (string, error) {
	t.Helper()
	dir, self := reachable(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	which := "^(TestLevel|TestEscapes|TestNetwork|TestOutlet|TestEnvironment|TestNothingSurvives|TestSpace)$"
	if os.Getenv("PARLEY_LONG") != "" || w.backend == BackendBubblewrap {
		which = "."
	}
	cmd := exec.CommandContext(ctx, self, "-test.v", "-test.run="+which)
	cmd.Dir = dir
	backend := cmp.Or(w.backend, BackendParley)
	cmd.Env = append(os.Environ(), worldEnv+"="+w.away, levelEnv+"="+string(w.want), backendEnv+"="+backend, builderEnv+"="+w.builder, canaryEnv+"=canary-of-the-gateway", "TMPDIR="+dir, "HOME="+dir, "USER=somebody")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	uid := os.Geteuid()
	switch {
	case strings.Contains(w.away, "users"): // it gives itself up
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWNS
	case uid == 0:
		uid = 65534
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	}
	if strings.Contains(w.away, "namespaces") || strings.Contains(w.away, "proc") {
		// The limit of namespaces is set, and parts of /proc are hidden, from inside a
		// namespace. There, the user is called root, and is none.
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.Credential = &syscall.Credential{NoSetGroups: true}
		if os.Geteuid() != 0 {
			cmd.SysProcAttr.GidMappings[0].HostID = os.Getegid()
		}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// reachable is a folder that an ordinary user has, with this binary.
func reachable(t *testing.T) (dir, self string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "parley-world-") // a test's own folder is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	self = filepath.Join(dir, filepath.Base(exe))
	if err := exec.CommandContext(t.Context(), "cp", exe, self).Run(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(self, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	return dir, self
}
