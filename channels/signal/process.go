package signal

import (
	"errors"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// process is a program that runs, in a group of its own: what ends parley does not
// reach it.
type process struct {
	cmd       *exec.Cmd
	hasKeeper bool          // a Keeper runs it, whose standard input ends with parley
	done      chan struct{} // closed when it has ended and nothing of its group is left

	mu    sync.Mutex // guards ended
	ended bool       // its number may be another's
	err   error      // set before done is closed
}

func (p *process) start() error {
	p.done = make(chan struct{})
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var lifeline io.Closer = io.NopCloser(nil)
	if p.hasKeeper {
		var err error
		if lifeline, err = p.cmd.StdinPipe(); err != nil {
			return err // the caller says what for
		}
	}
	if err := p.cmd.Start(); err != nil {
		return errors.Join(err, lifeline.Close())
	}
	go func() {
		defer close(p.done)
		defer func() { _ = lifeline.Close() }()
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
	return nil
}

// terminate asks the group to end, makes it after a time, and waits.
func (p *process) terminate(within time.Duration) {
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

// exitError is how it ended. It is asked after done.
func (p *process) exitError() error {
	if p.err != nil {
		return p.err
	}
	return errEnded
}
