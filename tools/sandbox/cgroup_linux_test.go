//go:build amd64 || arm64

package sandbox

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOwnGroup(t *testing.T) {
	t.Parallel()
	const (
		mixed   = "30 29 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 29 0:27 / /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw\n" //nolint:dupword // as the kernel writes it
		systemd = "30 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"                                                    //nolint:dupword // as the kernel writes it
		part    = "30 24 0:26 /machine/a /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
	)
	for name, c := range map[string]struct {
		mounts, own, want string
		top               bool
	}{
		"a service":              {systemd, "0::/system.slice/parley.service\n", "/sys/fs/cgroup/system.slice/parley.service", false},
		"the whole tree":         {mixed, "4:memory:/x\n0::/\n", "/sys/fs/cgroup/unified", true},
		"part of a tree":         {part, "0::/machine/a/b\n", "/sys/fs/cgroup/b", false},
		"the top of a part":      {part, "0::/machine/a\n", "/sys/fs/cgroup", false},
		"beside what is mounted": {part, "0::/machine/ab\n", "", false},
		"out of sight":           {systemd, "0::/../x\n", "", false},
		"only version 1":         {mixed, "4:memory:/x\n", "", false},
		"nothing mounted":        {"", "0::/\n", "", false},
	} {
		got, top, err := ownGroup(c.mounts, c.own)
		if got != c.want || top != c.top || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %t, %v", name, got, top, err)
		}
	}
}

// What is not delegated is left alone, also by root.
func TestOnlyWhatIsDelegatedIsDivided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dir       string
		mine      bool
		delegated string
		want      string
	}{
		"a delegated service":        {"/s/parley.service", false, "/s/parley.service", "/s/parley.service"},
		"one that was divided":       {"/s/parley.service/" + gatewayGroup, false, "/s/parley.service", "/s/parley.service"},
		"what stands in another's":   {"/s/user.service/x.service", false, "/s/user.service", ""},
		"somebody's session":         {"/s/session-1.scope", false, "", ""},
		"a tree of this very system": {"/s", true, "", "/s"},
	} {
		got, err := divisible(c.dir, c.mine, func(dir string) bool { return dir == c.delegated })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// tree is a folder with the files of a control group that has controllers.
func tree(t *testing.T, have string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"cgroup.controllers": have, "cgroup.subtree_control": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What is written is what bounds a run. The kernel's own tree is tried below, and has no
// controllers on every machine.
func TestGroupsBoundARun(t *testing.T) {
	t.Parallel()
	for have, want := range map[string]map[string]string{
		"cpu memory pids": {"memory.max": itoa(3<<30 + 64<<20), "pids.max": "148"},
		"cpu pids":        {"memory.max": "", "pids.max": "148"},
		"hugetlb":         {"memory.max": "", "pids.max": ""},
	} {
		g, err := divide(tree(t, have))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range controllers {
			if given := strings.Contains(have, c); given == slices.Contains(g.missing, c) || given == strings.Contains(g.lacks(), c) {
				t.Errorf("of %q it says %q", have, g.lacks())
			}
		}
		c := Config{Memory: 2 << 30, Scratch: 512 << 20}
		gr, err := g.make(c.memoryOfRun(), 100)
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range want {
			got, err := os.ReadFile(filepath.Join(gr.path, file))
			if string(got) != text || (err == nil) != (text != "") {
				t.Errorf("%s with %q is %q, want %q (%v)", file, have, got, text, err)
			}
		}
		if enabled, _ := os.ReadFile(filepath.Join(g.dir, "cgroup.subtree_control")); strings.Contains(have, "pids") && string(enabled) != "+pids" {
			t.Errorf("with %q it enables %q", have, enabled) // the last of them
		}
	}
	if _, err := divide(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("what is not there is divided")
	}
}

// grouped is a sandbox whose runs have control groups.
func grouped(t *testing.T) *Sandbox {
	t.Helper()
	s := walled(t)
	runs, why := s.Limits()
	if (why == "") != runs || runs && s.system.groups == nil {
		t.Fatalf("limits of runs: %t, %q", runs, why)
	}
	if s.system.groups == nil {
		t.Skipf("runs have no control groups here: %s", why)
	}
	t.Logf("groups in %s, %q", s.system.groups.dir, why)
	return s
}

// Each run is in a group of its own, with everything that it starts, and the group ends with it.
func TestEachRunHasAGroup(t *testing.T) {
	s := grouped(t)
	mark := "SANDBOX_MARK=" + t.TempDir()
	var in []string
	seen, look := io.Pipe() // it waits until it has been seen
	res, out, err := sh(t, s, "(sleep 1000 &) ; echo ready; read x; exit 0", func(c *Command) {
		c.Env, c.Stdin, c.Stdout = []string{mark}, seen, whenWritten("ready", func() {
			defer func() { _ = look.Close() }()
			for _, pid := range marked(t, mark) {
				text, _ := os.ReadFile("/proc/" + itoa(pid) + "/cgroup")
				in = append(in, string(text))
			}
		})
	})
	if err != nil || res.Code != 0 {
		t.Fatal(res, out, err)
	}
	if len(in) == 0 || slices.ContainsFunc(in, func(text string) bool { return !strings.Contains(text, "/"+groupPrefix+itoa(os.Getpid())+"-") }) {
		t.Errorf("its processes are in %q", in)
	}
	if left, err := filepath.Glob(filepath.Join(s.system.groups.dir, groupPrefix+itoa(os.Getpid())+"-*")); err != nil || len(left) > 0 {
		t.Errorf("%q are left, %v", left, err)
	}
}

// inGroup starts processes in a group that nothing else ends.
func inGroup(t *testing.T, gr *group, mark string) *exec.Cmd {
	t.Helper()
	ready := make(chan struct{})
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "read; trap '' TERM INT HUP; (setsid sleep 1000 > /dev/null &); echo ready; sleep 1000; :")
	cmd.Env = append(os.Environ(), mark)
	cmd.Stdout = whenWritten("ready", func() { close(ready) })
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(filepath.Join(gr.path, "cgroup.procs"), []byte(itoa(cmd.Process.Pid)), 0o644)
	if _, writeErr := in.Write([]byte("\n")); err != nil || writeErr != nil {
		t.Fatal(err, writeErr)
	}
	<-ready
	awaitTwo(t, mark)
	return cmd
}

// All of a group is ended with it: by who has made it, or, if that is no more, by the next that
// divides the folder.
func TestAGroupEndsItsProcesses(t *testing.T) {
	s := grouped(t)
	g := s.system.groups
	t.Run("when it is removed", func(t *testing.T) {
		gr, err := g.make(minMemory, minProcesses)
		if err != nil {
			t.Fatal(err)
		}
		mark := "SANDBOX_MARK=" + t.TempDir()
		cmd := inGroup(t, gr, mark)
		if err := gr.end(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err == nil || len(marked(t, mark)) > 0 {
			t.Errorf("it ended with %v, and %v survive", err, marked(t, mark))
		}
	})
	t.Run("when its gateway is no more", func(t *testing.T) {
		gone := exec.CommandContext(t.Context(), "true")
		if err := gone.Run(); err != nil {
			t.Fatal(err)
		}
		gr := &group{path: filepath.Join(g.dir, groupPrefix+itoa(gone.Process.Pid)+"-1")}
		if err := os.Mkdir(gr.path, 0o755); err != nil {
			t.Fatal(err)
		}
		mark := "SANDBOX_MARK=" + t.TempDir()
		cmd := inGroup(t, gr, mark)
		other, err := g.make(minMemory, minProcesses) // of a gateway that is there
		if err != nil {
			t.Fatal(err)
		}
		if err := g.sweep(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err == nil || len(marked(t, mark)) > 0 {
			t.Errorf("it ended with %v, and %v survive", err, marked(t, mark))
		}
		if err := other.end(); err != nil {
			t.Error(err)
		}
	})
}

// Sandboxes of one process share its tree: the gateway's, and the one that a check opens beside it.
func TestGroupsOfSeveralSandboxes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		g := &groups{dir: dir, missing: controllers}
		if _, err := g.make(minMemory, minProcesses); err != nil {
			t.Error(err)
		}
	}
}
