package signal

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is a program that runs.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and nothing of its group is left

	mu    sync.Mutex // guards ended
	ended bool       // its number may be another's
	err   error      // set before done is closed
}

// start starts it. The thread that does so must live as long as the program.
func (p *process) start() error {
	p.done = make(chan struct{})
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		pid := p.cmd.Process.Pid
		looked := awaitEnd(pid) == nil
		p.mu.Lock()
		if looked { // the child is not taken yet, so its group is still its own
			_ = syscall.Kill(-pid, syscall.SIGKILL)
			p.ended = true
		}
		p.mu.Unlock()
		p.err = p.cmd.Wait()
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
	}()
	return <-started
}

// end asks the group to end, makes it after a time, and waits.
func (p *process) end(within time.Duration) {
	p.signal(syscall.SIGTERM)
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.done:
		return
	case <-t.C:
	}
	p.signal(syscall.SIGKILL)
	<-p.done
}

func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		_ = syscall.Kill(-p.cmd.Process.Pid, sig)
	}
}

var errEnded = errors.New("without a word")

// state is how it ended. It is asked after done.
func (p *process) state() error {
	if p.err != nil {
		return p.err
	}
	return errEnded
}
