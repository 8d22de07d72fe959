//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is the program. It may be killed by another goroutine than the one that waits.
type process struct {
	mu   sync.Mutex // over pid, and over reaping it: a number in it is still its own
	pid  int        // 0: not started, or gone
	gone bool
}

// start starts the program from this thread. With mortal set, it dies with the thread.
func (p *process) start(path string, args, env []string, mortal bool) error {
	attr := &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}}
	if mortal {
		attr.Sys.Pdeathsig = syscall.SIGKILL
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	pid, err := syscall.ForkExec(path, args, attr)
	if err != nil {
		return err
	}
	p.pid = pid
	return nil
}

// kill kills it, and reports whether it was ever started.
func (p *process) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 {
		_ = unix.Kill(p.pid, unix.SIGKILL)
	}
	return p.pid != 0 || p.gone
}

// wait returns how it ended. Meanwhile it reaps what others have left.
func (p *process) wait() (unix.WaitStatus, error) {
	for {
		// Looked at, not reaped yet.
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("wait for the program: %w", err)
		}
		pid, status, err := p.reap()
		if err != nil {
			return 0, err
		}
		if pid {
			return status, nil
		}
	}
}

// reap takes one process that has ended, and reports whether it was the program.
func (p *process) reap() (bool, unix.WaitStatus, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var status unix.WaitStatus
	pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return false, 0, fmt.Errorf("wait for the program: %w", err)
	}
	if err != nil || pid != p.pid {
		return false, 0, nil
	}
	p.pid, p.gone = 0, true
	return true, status, nil
}

// killAll kills all that is below this process, which adopts what loses its parent.
//
// Nothing is reaped until nothing lives. What is dead keeps its place among the
// processes that the program may have, so that a program which starts processes faster
// than they are killed runs out of places.
func killAll() error {
	self := os.Getpid()
	for {
		pids, err := descendants(self)
		if err != nil {
			return err
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if len(pids) > 0 {
			// They are dying. The time is for them, not for looking.
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
			continue
		}
		// The look may have missed one that was just started.
		if done, err := reapAll(); done || err != nil {
			return err
		}
	}
}

// reapAll takes what has ended, and reports whether no child is left.
func reapAll() (bool, error) {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.ECHILD):
			return true, nil
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return false, fmt.Errorf("end what the program left: %w", err)
		case pid == 0:
			return false, nil
		}
	}
}

// descendants returns the processes below root that live.
func descendants(root int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	below, alive := map[int][]int{}, map[int]bool{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		// pid (name) state parent …; a name may be anything.
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(f) < 18 {
			continue
		}
		parent, err := strconv.Atoi(f[1])
		if err != nil {
			continue
		}
		below[parent] = append(below[parent], pid)
		// The first thread of a process may have ended before the others.
		alive[pid] = f[0] != "Z" && f[0] != "X" || f[17] != "1" && f[17] != "0"
	}
	var living []int
	for todo := []int{root}; len(todo) > 0; {
		pids := below[todo[0]]
		todo = append(todo[1:], pids...)
		for _, pid := range pids {
			if alive[pid] {
				living = append(living, pid)
			}
		}
	}
	return living, nil
}
