//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLevel(t *testing.T) {
	s := walled(t)
	inPlace := s.Backend() == BackendBubblewrap && s.config.Backend != BackendBubblewrap // which needs a reason
	if !s.Usable() || (s.Level() == LevelA && !inPlace) != (len(s.Reasons()) == 0) && s.system.walls.Proc {
		t.Errorf("level %s, usable %t, reasons %q", s.Level(), s.Usable(), s.Reasons())
	}
	if w := s.system.walls; w.Namespaces != (s.Level() != LevelB) || (w.Landlock > 0) != (s.Level() != LevelC) || !w.Seccomp {
		t.Errorf("level %s has the walls %+v", s.Level(), w)
	}
}

func TestRun(t *testing.T) {
	s := walled(t)
	for name, c := range map[string]struct {
		script string
		change func(*Command)
		want   Result
		out    string
		err    error
	}{
		"exit status":          {script: "exit 7", want: Result{Code: 7}},
		"signal":               {script: "kill -SEGV $$", want: Result{Code: -1, Signal: syscall.SIGSEGV}},
		"kill by itself":       {script: "kill -9 $$", want: Result{Code: -1, Signal: syscall.SIGKILL}},
		"both outputs":         {script: "echo a; echo b >&2", out: "a\nb\n"},
		"no input":             {script: "cat", out: ""},
		"input":                {script: "cat", change: func(c *Command) { c.Stdin = strings.NewReader("in") }, out: "in"},
		"input nobody reads":   {script: "true", change: func(c *Command) { c.Stdin = bytes.NewReader(make([]byte, 1<<20)) }},
		"workspace":            {script: "pwd; echo x > f; mkdir d; mv f d/g; ln d/g h; cat d/g", out: "WORKSPACE\nx\n"},
		"directory":            {script: "pwd", change: func(c *Command) { _ = os.MkdirAll(c.Workspace+"/a/b", 0o700); c.Dir = "a/b" }, out: "WORKSPACE/a/b\n"},
		"directory missing":    {script: "pwd", change: func(c *Command) { c.Dir = "missing" }, err: ErrStart},
		"directory by a link":  {script: "pwd", change: func(c *Command) { _ = os.Symlink("/usr", c.Workspace+"/l"); c.Dir = "l" }, err: ErrStart},
		"no such program":      {change: func(c *Command) { c.Args = []string{"no-such-program"} }, err: ErrStart},
		"no such path":         {change: func(c *Command) { c.Args = []string{"/no/such/program"} }, err: ErrStart},
		"not to be executed":   {change: func(c *Command) { _ = os.WriteFile(c.Workspace+"/p", nil, 0o600); c.Args = []string{"./p"} }, err: ErrStart},
		"program of workspace": {change: func(c *Command) { script(c.Workspace + "/p"); c.Args = []string{"./p", "a b"} }, out: "ran a b\n"},
		"arguments as they are": {
			change: func(c *Command) { c.Args = []string{"printf", "%s|", "a b", "$HOME", "*", "", "; id"} },
			out:    "a b|$HOME|*||; id|",
		},
		"temporary files":     {script: "set -e; f=$(mktemp); echo x > $f; cat $f", out: "x\n"},
		"pipes":               {script: "seq 1000 | sort -rn | head -n 1", out: "1000\n"},
		"output to /dev/null": {script: "echo x > /dev/null; head -c 2 /dev/zero | wc -c", out: "2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ws string
			res, out, err := sh(t, s, c.script, func(cmd *Command) {
				ws = cmd.Workspace
				if c.change != nil {
					c.change(cmd)
				}
			})
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Fatalf("error %v, not %v (%q)", err, c.err, out)
			}
			want := strings.ReplaceAll(c.out, "WORKSPACE", s.Inside(ws))
			if res != c.want || out != want {
				t.Errorf("%+v %q, not %+v %q", res, out, c.want, want)
			}
		})
	}
}

func script(path string) {
	_ = os.WriteFile(path, []byte("#!/bin/sh\necho ran \"$1\"\n"), 0o700)
}

// What a program leaves in its workspace belongs to the gateway's user, whoever the
// program was.
func TestFilesOfTheWorkspaceBelongToTheGateway(t *testing.T) {
	s := walled(t)
	ws := t.TempDir()
	if err := os.WriteFile(ws+"/given", []byte("given"), 0o600); err != nil {
		t.Fatal(err)
	}
	res, out, err := sh(t, s, "cat given && echo more >> given && echo x > made && id -u", func(c *Command) { c.Workspace = ws })
	if err != nil || res.Code != 0 {
		t.Fatal(res, out, err)
	}
	if s.Level() != LevelB && !strings.HasSuffix(out, insideUID(s)+"\n") {
		t.Errorf("the program is user %q", out)
	}
	for _, name := range []string{"given", "made"} {
		info, err := os.Stat(filepath.Join(ws, name))
		if err != nil {
			t.Fatal(err)
		}
		if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
			t.Errorf("%s belongs to %d:%d", name, st.Uid, st.Gid)
		}
	}
}

// What the machine mounts below a workspace while a program runs would have none of the
// workspace's flags. systemd makes all mounts such that copies of them follow.
func TestMountsOfTheMachineDoNotFollow(t *testing.T) {
	s := walled(t)
	if !s.system.walls.Proc {
		t.Logf("level %s: programs have no /proc in which to see mounts", s.Level())
		return
	}
	ws := t.TempDir()
	if s.Backend() == BackendBubblewrap {
		t.Log("bubblewrap lets them follow")
		return
	}
	if s.system.asRoot() {
		for _, flags := range []uintptr{unix.MS_BIND, unix.MS_SHARED} {
			if err := unix.Mount(ws, ws, "", flags, ""); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() {
			if err := unix.Unmount(ws, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	res, out, err := sh(t, s, "cat /proc/self/mountinfo", func(c *Command) { c.Workspace, c.ReadOnly = ws, []string{filepath.Dir(ws)} })
	if err != nil || res.Code != 0 || !strings.Contains(out, " "+Workspace+" ") {
		t.Fatalf("%+v %q %v", res, out, err)
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, "shared:") || strings.Contains(line, "master:") {
			t.Errorf("what is mounted below follows: %s", line)
		}
	}
}

// The name of a machine says what it is for, and often whose it is. Without namespaces
// there is no other.
func TestProgramsDoNotKnowTheMachine(t *testing.T) {
	s := walled(t)
	want, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if s.Level() != LevelB {
		want = "sandbox"
	}
	res, out, err := sh(t, s, "uname -n")
	if err != nil || res.Code != 0 || out != want+"\n" {
		t.Errorf("%+v %q %v, want %q", res, out, err, want)
	}
}

// No program is the machine's root, whoever the gateway is; and none has rights.
func TestProgramsAreNotRoot(t *testing.T) {
	s := walled(t)
	pid := make(chan int, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	mark := "ROOT_MARK=" + filepath.Base(t.TempDir()) + t.Name()
	go func() {
		_, err := s.Run(ctx, Command{Args: []string{"bash", "-c", "echo ready; sleep 1000; :"}, Workspace: t.TempDir(), Env: []string{mark}, Stdout: whenWritten("ready", func() {
			for _, p := range marked(t, mark) {
				pid <- p
				return
			}
			pid <- 0
		})})
		done <- err
	}()
	p := <-pid
	status, err := os.ReadFile("/proc/" + itoa(p) + "/status")
	cancel()
	if e := <-done; !errors.Is(e, context.Canceled) {
		t.Error(e)
	}
	if err != nil {
		t.Fatal(err)
	}
	owner := "Uid:\t" + itoa(s.system.uid) + "\t"
	for _, want := range []string{owner, "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("no %q in:\n%s", want, status)
		}
	}
	if s.system.uid == 0 && os.Getenv(worldEnv) == "" {
		t.Error("it is root")
	}
	if s.system.walls.Namespaces && !strings.Contains(string(status), "CapBnd:\t0000000000000000") {
		t.Errorf("it could gain rights:\n%s", status)
	}
}

// H01: nine variables, only if set; H02: declared ones on top; H03: nothing else.
func TestEnvironment(t *testing.T) {
	s := walled(t)
	gateway := map[string]string{
		"PATH": "/usr/bin:.:relative::/workspace/bin:/bin", "HOME": "/root", "USER": "root", "LANG": "C.UTF-8", "TMPDIR": "/var/tmp",
		"TZ": "UTC", "ANTHROPIC_API_KEY": "canary", "LD_PRELOAD": "/evil.so", "BASH_ENV": "/evil", "LC_CTYPE": "C",
	}
	s = with(s, func(c *Config) {
		c.Getenv = func(name string) (string, bool) { v, ok := gateway[name]; return v, ok }
	})
	_, out, err := sh(t, s, "", func(c *Command) {
		c.Args = []string{"env"}
		c.Env = []string{"TOOL=1", "TZ=CET", "TOOL=2"}
	})
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(strings.Lines(out))
	want := []string{"HOME=/tmp/home\n", "LANG=C.UTF-8\n", "PATH=/usr/bin:/bin\n", "TMPDIR=/tmp\n", "TOOL=2\n", "TZ=CET\n", "USER=agent\n"}
	if s.Level() == LevelB {
		if len(got) != 7 || !strings.HasPrefix(got[0], "HOME=/") || got[0] == "HOME=/root\n" || got[3][len("TMPDIR="):] != got[0][len("HOME="):] {
			t.Fatalf("%q", got)
		}
		want[0], want[3], want[6] = got[0], got[3], "USER=root\n"
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// H03: a key in the gateway's environment is in no file that a program can read.
func TestNoSecretOfTheGatewayIsInSight(t *testing.T) {
	s := walled(t)
	canary := os.Getenv(canaryEnv)
	if canary == "" {
		canary = "canary-of-the-gateway" // in TestWorlds
	}
	_, out, err := sh(t, s, "env; cat /proc/*/environ /proc/*/cmdline /proc/*/task/*/environ 2>/dev/null | tr '\\0' '\\n'; echo done")
	if err != nil || !strings.HasSuffix(out, "done\n") {
		t.Fatal(out, err)
	}
	if strings.Contains(out, canary) {
		t.Errorf("it sees %s", out)
	}
}

func TestReadOnly(t *testing.T) {
	s := walled(t)
	dir, err := os.MkdirTemp("/tmp", "readonly") // the tests' folders may be in /dev/shm, which cannot be given
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.MkdirAll(dir+"/sub", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f", "sub/g"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	give := func(paths ...string) func(*Command) { return func(c *Command) { c.ReadOnly = paths } }
	for name, c := range map[string]struct {
		script, out string
		paths       []string
	}{
		"folder":               {"cat " + dir + "/f " + dir + "/sub/g", strings.Repeat("text\n", 2), []string{dir}},
		"file":                 {"cat " + dir + "/f; cat " + dir + "/sub/g 2>/dev/null || echo hidden", "text\nhidden\n", []string{dir + "/f"}},
		"folder in a folder":   {"cat " + dir + "/sub/g", "text\n", []string{dir + "/sub", dir}},
		"no change":            {"echo x 2>/dev/null > " + dir + "/f || echo refused; rm " + dir + "/f 2>/dev/null || echo refused; touch " + dir + "/new 2>/dev/null || echo refused", strings.Repeat("refused\n", 3), []string{dir}},
		"part of the system":   {"test -x /usr/bin/env && echo there", "there\n", []string{"/usr/bin"}},
		"nothing if not given": {"ls " + dir + " 2>/dev/null || echo hidden", "hidden\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			res, out, err := sh(t, s, c.script, give(c.paths...))
			if err != nil || out != c.out {
				t.Errorf("%+v %q %v, not %q", res, out, err, c.out)
			}
		})
	}
	for _, path := range []string{"/", "relative", "/proc/1", "/dev", "/sys", "/workspace/x"} {
		if _, _, err := sh(t, s, "true", give(path)); err == nil {
			t.Errorf("%s was given", path)
		}
	}
	if _, _, err := sh(t, s, "true", give(dir+"/missing")); err == nil {
		t.Error("what is missing was given")
	}
}

func TestRefusedCommands(t *testing.T) {
	s := walled(t)
	for name, change := range map[string]func(*Command){
		"no program":             func(c *Command) { c.Args = nil },
		"no workspace":           func(c *Command) { c.Workspace = "" },
		"relative workspace":     func(c *Command) { c.Workspace = "x" },
		"the machine":            func(c *Command) { c.Workspace = "/" },
		"missing workspace":      func(c *Command) { c.Workspace += "/missing" },
		"directory outside":      func(c *Command) { c.Dir = "../x" },
		"absolute directory":     func(c *Command) { c.Dir = "/usr" },
		"zero byte":              func(c *Command) { c.Args = []string{"echo", "a\x00b"} },
		"nameless variable":      func(c *Command) { c.Env = []string{"=x"} },
		"variable without value": func(c *Command) { c.Env = []string{"x"} },
	} {
		if _, out, err := sh(t, s, "echo ran", change); err == nil || out != "" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}

// A wall that cannot be built is an error: nothing runs without it.
func TestFailsClosed(t *testing.T) {
	s := walled(t)
	for name, change := range map[string]func(*Sandbox){
		"a Landlock that is unknown": func(s *Sandbox) { s.system.walls.Landlock = 99 },
		"a Landlock that the kernel lacks": func(s *Sandbox) {
			if s.system.walls.Landlock = len(handled) - 1; landlockVersion() == len(handled)-1 {
				s.system.walls.Landlock++ // it lacks nothing
			}
		},
	} {
		other := *s
		change(&other)
		if _, out, err := sh(t, &other, "echo ran"); err == nil || out != "" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}

func TestLimits(t *testing.T) {
	s := walled(t)
	for name, c := range map[string]struct {
		script string
		change func(*Config)
		ok     func(Result, string) bool
	}{
		"size of a file": {
			"head -c 3000000 /dev/zero > f", func(c *Config) { c.FileSize = 1 << 20 },
			func(r Result, _ string) bool { return r.Code != 0 },
		},
		"memory": {
			"dd if=/dev/zero of=/dev/null bs=1200M count=1", func(c *Config) { c.Memory = 1 << 30 },
			func(r Result, out string) bool { return r.Code == 1 && strings.Contains(out, "memory exhausted") },
		},
		"scratch": {
			"head -c 3000000 /dev/zero > /tmp/f || echo full; head -c 3000000 /dev/zero > /dev/shm/f || echo full", func(c *Config) { c.Scratch = 1 << 20 },
			func(_ Result, out string) bool {
				return strings.Count(out, "full\n") == 2 || s.Level() == LevelB || s.system.walls.OnDisk
			},
		},
		"priority": {"nice; (nice -n -5 true) 2>&1 | head -n 1", func(*Config) {}, func(_ Result, out string) bool {
			return !strings.HasPrefix(out, "0\n") && strings.Contains(out, "cannot set niceness")
		}},
		"memory of the machine": {"cat /proc/self/oom_score_adj", func(*Config) {}, func(_ Result, out string) bool {
			return out == "1000\n" || !s.system.walls.Proc
		}},
		"core files": {"ulimit -c", func(*Config) {}, func(_ Result, out string) bool { return out == "0\n" }},
		"limits stay": {
			"ulimit -Hn unlimited 2>/dev/null || echo no; ulimit -Hd unlimited 2>/dev/null || echo no", func(*Config) {},
			func(_ Result, out string) bool { return out == strings.Repeat("no\n", 2) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			res, out, err := sh(t, with(s, c.change), c.script)
			if err != nil || !c.ok(res, out) {
				t.Errorf("%+v %q %v", res, out, err)
			}
		})
	}
}

// A writer bounds the output: what it refuses is not kept anywhere, and the program that
// goes on writing ends.
func TestOutputIsBoundedByItsWriter(t *testing.T) {
	s := walled(t)
	full := errors.New("full")
	w := &limited{left: 100_000, err: full}
	res, _, err := sh(t, s, "exec yes", func(c *Command) { c.Stdout, c.Stderr = w, nil })
	if !errors.Is(err, full) || res.Signal != syscall.SIGPIPE && res.Code != 1 {
		t.Errorf("%+v %v", res, err)
	}
}

type limited struct {
	left int
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, l.err
	}
	return len(p), nil
}

func TestManyAtATime(t *testing.T) {
	s := walled(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if res, out, err := sh(t, s, "echo x > f; cat f; ls | wc -l"); err != nil || res.Code != 0 || out != "x\n1\n" {
				t.Errorf("%+v %q %v", res, out, err)
			}
		})
	}
	wg.Wait()
}

// Descriptors that the gateway was started with, and which are not closed when a program
// is executed, do not reach programs.
func TestNoDescriptorReachesAProgram(t *testing.T) {
	s := walled(t)
	fd, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	_, out, err := sh(t, s, "exec 2> /dev/null; for i in $(seq 3 "+itoa(fd+3)+"); do ( : <&$i ) && echo $i; done; echo done")
	if err != nil || out != "done\n" {
		t.Errorf("%q %v", out, err)
	}
}

// A file that the caller gives is not handed over: the program could read it, move in it
// and lock it.
func TestFilesOfTheCallerAreBehindPipes(t *testing.T) {
	s := walled(t)
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	in, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	_, _, err = sh(t, s, "for i in 0 1 2; do stat -c %F - <&$i; done", func(c *Command) { c.Stdin, c.Stdout, c.Stderr = in, f, f })
	got, readErr := os.ReadFile(f.Name())
	if err != nil || readErr != nil || string(got) != strings.Repeat("fifo\n", 3) {
		t.Errorf("%q %v %v", got, err, readErr)
	}
}
