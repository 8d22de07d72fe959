//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// mainCalled is whether this binary is a helper where it is started as one. A binary
// that is not would do all that it does again instead, and start itself again there.
var mainCalled atomic.Bool

// Main is the first call of a program's main function, and of TestMain in tests that run
// commands. In a process that the sandbox has started it does that process's work and
// does not return; in any other it does nothing.
func Main() {
	mainCalled.Store(true)
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case launcherArg, bubblewrapArg, helperArg, idleArg:
		if enterGroup() != nil {
			exit(2)
		}
	}
	switch os.Args[1] {
	case launcherArg:
		runtime.LockOSThread()
		exit(launcher(os.Args[2:]))
	case bubblewrapArg:
		runtime.LockOSThread()
		exit(bubblewrapLauncher(os.Args[2:]))
	case helperArg:
		runtime.LockOSThread()
		exit(helper())
	case probeArg:
		exit(probeMain(os.Stdin, os.Stdout))
	case idleArg:
		_, err := io.Copy(os.Stdout, os.Stdin)
		exit(exitStatus(err))
	}
}

func exitStatus(err error) int {
	if err != nil {
		return 1
	}
	return 0
}

// exit ends the process at once: os.Exit may wait for the race detector.
func exit(status int) {
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(status), 0, 0)
	}
}

// Descriptors of a helper.
const (
	specFD   = 3
	reportFD = 4
)

// helper does what its descriptor 3 says and reports to 4. It runs on the main thread.
// It returns the exit status: 0 once it has reported.
func helper() int {
	// Whatever else the gateway was started with stays here.
	if err := unix.CloseRange(specFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return 2
	}
	in, out := os.NewFile(specFD, "spec"), os.NewFile(reportFD, "report")
	job, err := receive(in)
	if err != nil {
		return 2
	}
	if job.Walls.Built {
		if unix.Dup3(errorsFD, int(os.Stderr.Fd()), 0) != nil { // a descriptor
			return 2
		}
	}
	h := &run{spec: job}
	go func() { // until the gateway lets go, or is no more
		_, _ = io.Copy(io.Discard, in)
		h.abort()
	}()
	rep := h.run()
	if rep.write(out) != nil {
		return 2
	}
	return 0
}

func (r report) write(to io.Writer) error { return json.NewEncoder(to).Encode(r) }

func receive(in io.Reader) (spec, error) {
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return spec{}, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(in, b); err != nil {
		return spec{}, err
	}
	var job spec
	return job, json.Unmarshal(b, &job)
}

// run is the helper's side of one run.
type run struct {
	spec

	program process
}

// startError is a program that did not start behind its walls.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }

// run builds the walls, starts the program behind them and waits for it.
func (r *run) run() report {
	if err := r.prepare(); err != nil {
		return report{Failed: err.Error()}
	}
	started := make(chan error)
	go func() {
		// Walls hold for this thread and what it starts. It must outlive the program, which
		// is killed when it ends, and is not the main one: who may not send signals to the
		// helper is judged by that.
		runtime.LockOSThread()
		started <- r.confine()
		select {}
	}()
	if err := <-started; err != nil {
		if e, ok := errors.AsType[*startError](err); ok {
			return report{Start: e.Error()}
		}
		return report{Failed: err.Error()}
	}
	if r.Walls.Namespaces {
		if err := dropRights(); err != nil {
			return report{Failed: err.Error()}
		}
	}
	status, err := r.program.wait()
	if err == nil && !r.Walls.Namespaces {
		err = killAll()
	}
	if err != nil {
		return report{Failed: err.Error()}
	}
	if status.Signaled() {
		return report{Code: -1, Signal: int(status.Signal())}
	}
	return report{Code: status.ExitStatus()}
}

// abort ends the run from outside of it.
func (r *run) abort() {
	if r.Walls.Namespaces {
		exit(3) // and all processes of the namespace with it
	}
	if !r.program.kill() {
		exit(3) // nothing was started yet
	}
}

// prepare does what is for the whole helper: its folders, limits, and that nobody
// looks into it.
func (r *run) prepare() error {
	unix.Umask(0o022)
	if r.Walls.Built {
		if err := enterBuilt(); err != nil {
			return err
		}
	} else if err := r.build(); err != nil {
		return err
	}
	if err := r.openProxy(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep programs from reading the helper: %w", err)
	}
	return r.limit()
}

// build gives the helper its own root and name, or, without namespaces, what its program
// leaves behind.
func (r *run) build() error {
	// When memory ends, this ends first. A program cannot take it back: /proc is not
	// writable for it.
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600); err != nil {
		return err
	}
	if r.Walls.Namespaces {
		if err := unix.Sethostname([]byte(insideHost)); err != nil {
			return fmt.Errorf("give the machine another name: %w", err)
		}
		if err := r.buildRoot(); err != nil {
			return err
		}
	} else if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt what programs leave behind: %w", err)
	}
	return nil
}

// limit sets what one process may use, and how many there may be. The helper is bound
// by it too, which needs little.
func (r *run) limit() error {
	processes := uint64(r.Processes) // validated
	if !r.Walls.Namespaces {
		// All of the user's count, not only those of this run.
		n, err := countTasks(os.Getuid())
		if err != nil {
			return err
		}
		processes += uint64(n) // not negative
	}
	for _, l := range []struct {
		name  string
		which int
		max   uint64
	}{
		{"memory", unix.RLIMIT_DATA, uint64(r.Memory)}, // validated
		{"processes", unix.RLIMIT_NPROC, processes},
		{"size of files", unix.RLIMIT_FSIZE, uint64(r.FileSize)}, // validated
		{"open files", unix.RLIMIT_NOFILE, 4096},
		{"core files", unix.RLIMIT_CORE, 0},
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.which, &now); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
		l.max = min(l.max, now.Max)
		if err := unix.Setrlimit(l.which, &unix.Rlimit{Cur: l.max, Max: l.max}); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
	}
	return nil
}

// confine takes every right from this thread and starts the program.
func (r *run) confine() error {
	root := Workspace
	if !r.Walls.Namespaces {
		root = r.Workspace.Path
	}
	if r.Walls.Seccomp {
		// Whoever is root somewhere, if only in a container, has rights again in each program
		// that is executed, up to these bounds. Others gain nothing by no_new_privs.
		if err := dropBounds(); err != nil && (r.Walls.Namespaces || os.Geteuid() == 0) {
			return err
		}
		if err := dropRights(); err != nil {
			return err
		}
	}
	if err := yieldToOthers(); err != nil {
		return err
	}
	dir, err := openInside(root, r.Dir)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if r.Walls.Landlock > 0 {
		if err := r.restrictFiles(); err != nil {
			return err
		}
	}
	if err := unix.Fchdir(dir); err != nil {
		return &startError{fmt.Errorf("enter the working directory: %w", err)}
	}
	path, err := lookUp(r.Args[0], r.Path)
	if err != nil {
		return &startError{err}
	}
	if r.Walls.Seccomp {
		if err := filterCalls(r.Walls, r.socketRefusals()); err != nil {
			return err
		}
	}
	if err := r.program.start(path, r.Args, r.Env, !r.Walls.Namespaces); err != nil {
		return &startError{fmt.Errorf("%s: %w", r.Args[0], err)}
	}
	return nil
}

// yieldToOthers makes this thread and what it starts nicer than the helper, which must
// be able to end it, and than the gateway.
func yieldToOthers() error {
	prio, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return fmt.Errorf("read the priority: %w", err)
	}
	nice := 20 - prio // what the system call returns is never negative
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, min(nice+5, 19)); err != nil {
		return fmt.Errorf("lower the priority: %w", err)
	}
	return nil
}

// openInside opens the folder dir of the workspace, which no link may lead out of.
func openInside(workspace, dir string) (int, error) {
	root, err := unix.Open(workspace, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open the workspace: %w", err)
	}
	if dir == "" {
		return root, nil
	}
	fd, err := unix.Openat2(root, dir, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return -1, &startError{fmt.Errorf("working directory %s: %w", dir, err)}
	}
	return fd, nil
}

// lookUp finds the program name as a shell does.
func lookUp(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && unix.Access(file, unix.X_OK) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: not found on %s", name, path)
}
