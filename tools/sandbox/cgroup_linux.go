//go:build amd64 || arm64

package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// groups makes a control group for each run, in a folder of the kernel's tree that is this
// process's to divide. All of a run is ended by it at once; and where the kernel has its
// controllers there, memory and processes are bounded for the run as a whole.
type groups struct {
	dir     string
	missing []string // controllers that the groups do not have
}

const (
	// groupPrefix begins the name of a run's group; the process that makes it and a random text
	// follow.
	groupPrefix = "parley-run-"
	// gatewayGroup is where this process goes if nobody may be in a folder that is divided.
	gatewayGroup = "parley-gateway"

	// What is in the group of a run besides the program: launcher, bwrap and helper.
	ownMemory    = 64 << 20
	ownProcesses = 48
)

// controllers are those that bound a run.
var controllers = []string{"memory", "pids"}

// findGroups returns what makes groups for runs, once it has made one, and ended a process by
// it. The error says why there is none.
func findGroups() (*groups, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	dir, top, err := ownGroup(string(mounts), string(own))
	if err != nil {
		return nil, err
	}
	if dir, err = divisible(dir, top && os.Geteuid() == 0, delegated); err != nil {
		return nil, err
	}
	g, err := divide(dir)
	if err != nil {
		return nil, err
	}
	return g, g.try()
}

// ownGroup returns the folder of this process's control group, and whether it is the whole
// tree's. It reads mountinfo and cgroup of /proc.
func ownGroup(mounts, own string) (dir string, top bool, err error) {
	path, ok := "", false
	for line := range strings.Lines(own) {
		if path, ok = strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			break
		}
	}
	if !ok {
		return "", false, errors.New("the kernel has no control groups of version 2")
	}
	if strings.HasPrefix(path, "/..") {
		return "", false, errors.New("the control group of parley is out of its sight")
	}
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		f := strings.Fields(before)
		if len(f) < 5 || !strings.HasPrefix(after, "cgroup2 ") || !below(path, f[3]) {
			continue
		}
		rel, err := filepath.Rel(f[3], filepath.Clean(path))
		return filepath.Join(f[4], rel), rel == "." && f[3] == "/", err
	}
	return "", false, errors.New("the tree of control groups of version 2 is not mounted where parley sees it")
}

// divisible returns the folder that this process may divide: dir, if systemd says so, or if it
// is the whole tree and nobody else's; or the one above, if this process has left it.
func divisible(dir string, mine bool, delegated func(dir string) bool) (string, error) {
	if filepath.Base(dir) == gatewayGroup && delegated(filepath.Dir(dir)) {
		return filepath.Dir(dir), nil
	}
	if mine || delegated(dir) {
		return dir, nil
	}
	return "", errors.New("no control group is delegated to parley, as systemd does with Delegate=")
}

// delegated reports whether systemd, from version 251 on, has given a folder away.
func delegated(dir string) bool {
	value := make([]byte, 8)
	return slices.ContainsFunc([]string{"user.delegate", "trusted.delegate"}, func(name string) bool {
		n, err := unix.Getxattr(dir, name, value)
		return err == nil && string(value[:n]) == "1"
	})
}

// divide takes dir for groups of runs. It ends what runs of gateways that are no more have left
// there.
func divide(dir string) (*groups, error) {
	if err := unix.Access(dir, unix.W_OK); err != nil {
		return nil, &os.PathError{Op: "write to the control group", Path: dir, Err: err}
	}
	g := &groups{dir: dir}
	if err := g.sweep(); err != nil {
		return nil, err
	}
	have, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	for _, c := range controllers {
		if !slices.Contains(strings.Fields(string(have)), c) {
			g.missing = append(g.missing, c)
			continue
		}
		if err := g.enable(c); err != nil {
			return nil, fmt.Errorf("control group %s: %w", dir, err)
		}
	}
	return g, nil
}

// sweep ends and removes the groups of processes that are no more.
func (g *groups) sweep() error {
	entries, err := os.ReadDir(g.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), groupPrefix)
		maker, _, _ := strings.Cut(name, "-")
		pid, err := strconv.Atoi(maker)
		if !ok || err != nil || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			continue
		}
		if err := end(filepath.Join(g.dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// enable gives a controller to the groups in the folder.
func (g *groups) enable(controller string) error {
	file := filepath.Join(g.dir, "cgroup.subtree_control")
	have, err := os.ReadFile(file)
	if err != nil || slices.Contains(strings.Fields(string(have)), controller) {
		return err
	}
	err = os.WriteFile(file, []byte("+"+controller), 0o644) // it is there
	if !errors.Is(err, unix.EBUSY) {
		return err
	}
	// Whoever is in a folder competes with the groups in it, which the kernel does not allow.
	home := filepath.Join(g.dir, gatewayGroup)
	if err := os.Mkdir(home, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { // it has no secret
		return err
	}
	if err := os.WriteFile(filepath.Join(home, "cgroup.procs"), []byte("0"), 0o644); err != nil { // it is there
		return err
	}
	return os.WriteFile(file, []byte("+"+controller), 0o644) // it is there
}

// lacks says what the groups do not bound; empty: they bound a run as a whole.
func (g *groups) lacks() string {
	if len(g.missing) == 0 {
		return ""
	}
	return fmt.Sprintf("the control groups here have no controller of %s", strings.Join(g.missing, " and "))
}

// try has a group made, and ended with a process in it.
func (g *groups) try() error {
	gr, err := g.make(minMemory, minProcesses)
	if err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe", idleArg) //nolint:noctx // it ends with its input
	cmd.Env = []string{}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = gr.take(cmd)
	}
	if err != nil {
		return errors.Join(err, gr.end())
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("start a process in a control group: %w", err), gr.end())
	}
	_, err = in.Write([]byte("."))
	if err == nil { // it answers once it is in its group
		_, err = io.ReadFull(out, make([]byte, 1))
	}
	err = errors.Join(err, gr.end())
	closeErr := in.Close() // if it has not ended
	waitErr := cmd.Wait()
	if err != nil {
		return fmt.Errorf("have a process in a control group: %w", err)
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		return errors.Join(errors.New("a control group does not end its processes"), closeErr, ignoreExit(waitErr))
	}
	return nil
}

// group is that of one run.
type group struct {
	path  string
	procs *os.File // who writes to it is in the group; nil: nobody is to be
}

// make makes a group of so many bytes, of memory and of files in memory, and so many processes
// and threads.
func (g *groups) make(memory int64, processes int) (*group, error) {
	gr := &group{path: filepath.Join(g.dir, fmt.Sprintf("%s%d-%s", groupPrefix, os.Getpid(), rand.Text()))}
	if err := os.Mkdir(gr.path, 0o755); err != nil { // it has no secret
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	set := func(controller, file string, n int64) error {
		if slices.Contains(g.missing, controller) {
			return nil
		}
		return os.WriteFile(filepath.Join(gr.path, file), []byte(strconv.FormatInt(n, 10)), 0o644) // it is there
	}
	err := errors.Join(set("memory", "memory.max", memory+ownMemory), set("pids", "pids.max", int64(processes+ownProcesses)))
	// Where the kernel counts swap, what is moved there is not beside the limit.
	if _, statErr := os.Stat(filepath.Join(gr.path, "memory.swap.max")); statErr == nil {
		err = errors.Join(err, set("memory", "memory.swap.max", 0))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a control group: %w", err), os.Remove(gr.path))
	}
	return gr, nil
}

// groupEnv is the variable that names the descriptor by which a process of the sandbox enters
// its group.
const groupEnv = "PARLEY_SANDBOX_GROUP"

// take has the process of cmd, which is this binary, enter the group before all else. It could
// be born there, but by clone3, which filters of system calls refuse altogether: that of systemd
// that bounds namespaces, and those of containers.
func (gr *group) take(cmd *exec.Cmd) (err error) {
	if gr.procs, err = os.OpenFile(filepath.Join(gr.path, "cgroup.procs"), os.O_WRONLY, 0); err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", groupEnv, specFD+len(cmd.ExtraFiles)))
	cmd.ExtraFiles = append(slices.Clip(cmd.ExtraFiles), gr.procs)
	return nil
}

// enterGroup enters the group that this process was started for, if there is one. What it starts
// is born there.
func enterGroup() error {
	text, ok := os.LookupEnv(groupEnv)
	if !ok {
		return nil
	}
	fd, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte("0"))
	return errors.Join(err, unix.Close(fd), os.Unsetenv(groupEnv))
}

// end ends every process of the group, and removes it.
func (gr *group) end() error {
	var err error
	if gr.procs != nil {
		err = gr.procs.Close()
	}
	return errors.Join(err, end(gr.path))
}

func end(path string) error {
	for start := time.Now(); ; {
		err := unix.Rmdir(path)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Since(start) > endTime {
			return fmt.Errorf("end what a program left: %w", &os.PathError{Op: "rmdir", Path: path, Err: err})
		}
		// Something lives in it.
		if err := os.WriteFile(filepath.Join(path, "cgroup.kill"), []byte("1"), 0o644); err != nil { // it is there
			return fmt.Errorf("end what a program left: %w", err)
		}
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil) // for its end
	}
}

// memoryOfRun is how much all processes of a run may have, with what is in /tmp and /dev/shm.
func (c Config) memoryOfRun() int64 { return c.Memory + 2*c.Scratch }
