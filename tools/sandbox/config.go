package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/problems"
)

// Modes of a Config.
const (
	// ModeAuto takes the strongest walls that the machine can build, and none below level C.
	ModeAuto = "auto"
	// ModeUnsafeHost runs programs without walls, as the user that the gateway is. They
	// can do whatever the gateway can.
	ModeUnsafeHost = "unsafe-host"
)

// Backends of a Config: who makes namespaces and mounts.
const (
	// BackendAuto is parley, and bubblewrap where parley may not and bubblewrap can.
	BackendAuto = "auto"
	// BackendParley is parley alone.
	BackendParley = "parley"
	// BackendBubblewrap is the program bwrap alone.
	BackendBubblewrap = "bubblewrap"
)

// Defaults of a Config.
const (
	DefaultMemory    = 2 << 30
	DefaultProcesses = 256
	DefaultFileSize  = 1 << 30
	DefaultScratch   = 256 << 20
	DefaultPrograms  = 16
	DefaultUID       = 64999

	minMemory    = 256 << 20 // the helper needs some
	minProcesses = 32        // the helper's own threads count
	minScratch   = 1 << 20
)

// Config is what an operator may say.
type Config struct {
	// Mode is ModeAuto or ModeUnsafeHost; empty: ModeAuto.
	Mode string `yaml:"mode"`
	// Backend is who makes the namespaces and mounts that walls consist of: BackendAuto,
	// BackendParley or BackendBubblewrap; empty: BackendAuto. All other walls are parley's.
	Backend string `yaml:"backend"`
	// Memory is how many bytes of its own each process may have; 0: DefaultMemory. Memory
	// that processes share does not count. When the machine has none left, the kernel ends
	// programs in the sandbox before anything else. Where runs have control groups (see
	// [Sandbox.Limits]), all processes of a run have as much together, and what is in memory
	// of files on top.
	Memory int64 `yaml:"memory"`
	// Processes is how many processes and threads a run may have; 0: DefaultProcesses.
	// Without namespaces and control groups those of other runs count.
	Processes int `yaml:"processes"`
	// FileSize is how many bytes one file may have that a program writes; 0:
	// DefaultFileSize.
	FileSize int64 `yaml:"file_size"`
	// Scratch is how many bytes /tmp has, which is in memory and new for each run; 0:
	// DefaultScratch.
	Scratch int64 `yaml:"scratch"`
	// Programs is how many programs run at a time that wait for a place; see [Sandbox.Enter]; 0:
	// DefaultPrograms.
	Programs int `yaml:"programs"`
	// UID is the user and group that programs run as if the gateway runs as root; 0:
	// DefaultUID. Nothing else on the machine should be of that user.
	UID int `yaml:"uid"`
	// Getenv looks up a variable of the gateway's environment, of which programs get PATH,
	// HOME, USER, LANG, LC_ALL, TERM, SHELL, TMPDIR and TZ, each only if it is set (H01);
	// inside, HOME, USER and TMPDIR name what is there. Nil: nothing is set.
	Getenv func(string) (string, bool)
	// After is [time.After], for tests that hold the clock by which runs are looked at; nil: that.
	After func(time.Duration) <-chan time.Time
}

// Defaults fills in what is not said.
func (c Config) Defaults() Config {
	c.Mode = cmp.Or(c.Mode, ModeAuto)
	c.Backend = cmp.Or(c.Backend, BackendAuto)
	c.Memory = cmp.Or(c.Memory, DefaultMemory)
	c.Processes = cmp.Or(c.Processes, DefaultProcesses)
	c.FileSize = cmp.Or(c.FileSize, DefaultFileSize)
	c.Scratch = cmp.Or(c.Scratch, DefaultScratch)
	c.Programs = cmp.Or(c.Programs, DefaultPrograms)
	c.UID = cmp.Or(c.UID, DefaultUID)
	if c.Getenv == nil {
		c.Getenv = func(string) (string, bool) { return "", false }
	}
	return c
}

// Validate reports what is wrong with c: a problems.List, with paths as memory.
func (c Config) Validate() error {
	var ps problems.List
	if c.Mode != "" && c.Mode != ModeAuto && c.Mode != ModeUnsafeHost {
		ps.Add("mode", "%q is neither %s nor %s", c.Mode, ModeAuto, ModeUnsafeHost)
	}
	switch c.Backend {
	case "", BackendAuto, BackendParley, BackendBubblewrap:
	default:
		ps.Add("backend", "%q is neither %s nor %s nor %s", c.Backend, BackendAuto, BackendParley, BackendBubblewrap)
	}
	if c.Backend == BackendBubblewrap && c.Mode == ModeUnsafeHost {
		ps.Add("backend", "%s builds walls, and mode %s has none", BackendBubblewrap, ModeUnsafeHost)
	}
	atLeast := func(path string, n, least int64) {
		if n != 0 && n < least {
			ps.Add(path, "%d is less than %d, with which hardly a program runs", n, least)
		}
	}
	atLeast("memory", c.Memory, minMemory)
	atLeast("processes", int64(c.Processes), minProcesses)
	atLeast("file_size", c.FileSize, 1)
	atLeast("scratch", c.Scratch, minScratch)
	if c.Programs < 0 {
		ps.Add("programs", "%d is negative", c.Programs)
	}
	if c.UID < 0 || c.UID > 1<<31-2 {
		ps.Add("uid", "%d is not the number of a user", c.UID)
	}
	return ps.Err()
}

// CanBeGiven reports whether a path may be one of a command's ReadOnly: an absolute one, but
// for the root and for what programs have of their own. Files in shared memory are files.
func CanBeGiven(path string) bool {
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) || path == "/" {
		return false
	}
	const memory = "/dev/shm"
	return below(path, memory) && path != memory ||
		!slices.ContainsFunc([]string{"/proc", "/dev", "/sys", Workspace}, func(dir string) bool { return below(path, dir) })
}

// check reports what is wrong with a command as its caller made it.
func (c Command) check() error {
	switch {
	case len(c.Args) == 0 || c.Args[0] == "":
		return errors.New("command without a program")
	case !filepath.IsAbs(c.Workspace) || filepath.Clean(c.Workspace) == "/":
		return fmt.Errorf("workspace %q is not the absolute path of a folder of its own", c.Workspace)
	case c.Network && c.Outlet != nil:
		return errors.New("command with the machine's network and an outlet, of which it can have one")
	case c.Dir != "" && !filepath.IsLocal(c.Dir):
		return fmt.Errorf("working directory %q is not inside the workspace", c.Dir)
	}
	for _, path := range c.ReadOnly {
		if !CanBeGiven(path) {
			return fmt.Errorf("read-only path %q: not one that can be given", path)
		}
	}
	for _, v := range c.Env {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
			return fmt.Errorf("environment: %q is not NAME=value", name)
		}
	}
	for _, s := range slices.Concat(c.Args, c.Env, c.ReadOnly, []string{c.Workspace, c.Dir}) {
		if strings.ContainsRune(s, 0) {
			return errors.New("command with a zero byte")
		}
	}
	return nil
}

// below reports whether path is dir or inside it, by their names.
func below(path, dir string) bool {
	path = filepath.Clean(path)
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
