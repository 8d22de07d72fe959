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

// killChildren kills all that is below this process, which adopts what loses its parent.
func killChildren() error {
	for {
		pids, err := children(os.Getpid())
		if err != nil {
			return err
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		// One of these ends for sure, if there is one.
		_, err = unix.Wait4(-1, nil, 0, nil)
		switch {
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("end what the program left: %w", err)
		}
	}
}

// children returns the children of the process parent.
func children(parent int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		// pid (name) state parent; a name may be anything.
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(f) > 1 && f[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
