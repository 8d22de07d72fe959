package signal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/channels/internal/markup"
	"parley/channels/internal/receive"
	"parley/disks"
	"parley/pause"
)

var (
	errNotReady  = errors.New("signal-cli does not answer")
	errNotInPath = errors.New("signal-cli is not there: install it, or say in command where it is")
)

// daemon keeps signal-cli running for as long as somebody needs it.
type daemon struct {
	o            Options
	journal      *journal
	subscription *subscription
	queryVersion func(ctx context.Context) (string, error) // asks whether it lives; set once, by New

	mu       sync.Mutex // held also while it ends, so that two never run
	users    int
	stop     context.CancelFunc
	owned    chan struct{} // closed when the folder is ours, until ended
	answered chan struct{} // closed when a signal-cli has answered, which may have ended since
	ended    chan struct{}

	upSince time.Time // since when it answers, or zero; run's own
}

func newDaemon(o Options, identity func() []any) *daemon {
	return &daemon{o: o, subscription: newSubscription(o, identity), journal: &journal{dir: o.Dir, reclaim: o.Reclaim, maxLine: int64(o.MaxLine), log: o.Log}}
}

func (d *daemon) socketPath() string { return socketPath(d.o.Dir) }

// outgoingDir returns the folder of files that are being sent.
func (d *daemon) outgoingDir() string { return filepath.Join(d.o.Dir, "outgoing") }

// ownsDir reports whether the folder is ours by now.
func (d *daemon) ownsDir() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users == 0 {
		return false
	}
	select {
	case <-d.owned:
		return true
	default:
		return false
	}
}

// hold has the daemon run until release is called by everybody who holds it; the
// last one returns when it has ended. The journal may be read once mine is closed,
// and until release.
func (d *daemon) hold() (mine <-chan struct{}, release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users++; d.users == 1 {
		ctx, stop := context.WithCancel(context.Background())
		d.stop, d.owned, d.answered, d.ended = stop, make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(d.ended)
			d.run(ctx)
		}()
	}
	return d.owned, sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.users--; d.users == 0 {
			d.stop()
			<-d.ended
		}
	})
}

// started is closed when a signal-cli has answered for the first time. The caller holds
// the daemon.
func (d *daemon) started() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answered
}

// noteStart closes what started returns. Only run calls it, and takes no lock: the last
// release holds mu until run has ended.
func (d *daemon) noteStart() {
	select {
	case <-d.answered:
	default:
		close(d.answered)
	}
}

// run makes the folder ours, and starts signal-cli again and again until ctx ends.
func (d *daemon) run(ctx context.Context) {
	var own *os.File
	d.await(ctx, "signal-cli is not started, and what it wrote is not read", func() (err error) {
		own, err = claimDir(d.o.Dir)
		return err
	})
	if own == nil {
		return
	}
	defer func() { _ = own.Close() }()
	if err := os.RemoveAll(d.outgoingDir()); err != nil {
		d.o.Log.Error("leftover outgoing files not removed", "error", err)
	}
	close(d.owned)
	pauses := receive.Pauses(d.o.Common)
	for ctx.Err() == nil {
		d.await(ctx, "signal-cli is not started while the disk of its journal is full; what people write waits at Signal", d.checkRoom)
		err := d.runOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		// One that answers and ends again at once has not recovered.
		if !d.upSince.IsZero() && time.Since(d.upSince) >= d.o.MaxPause {
			pauses.Reset()
		}
		wait := pauses.Next()
		d.o.Observer.SetConnected(d.o.Name, false)
		d.o.Log.Error("signal-cli not running, restarting it", "error", err, "wait", wait)
		_ = pause.For(ctx, wait)
	}
}

// await tries, until it succeeds or ctx ends, what somebody else has to make
// possible: it says once why it waits.
func (d *daemon) await(ctx context.Context, what string, try func() error) {
	told := ""
	for ctx.Err() == nil {
		err := try()
		if err == nil {
			return
		}
		if told != err.Error() {
			told = err.Error()
			d.o.Observer.SetConnected(d.o.Name, false)
			d.o.Log.Error(what, "error", err)
		}
		_ = pause.For(ctx, d.o.Room)
	}
}

// checkRoom reports whether the journal may grow. Without room signal-cli would confirm to
// the service what it cannot write down.
func (d *daemon) checkRoom() error {
	if err := disks.Check(d.o.Dir); disks.IsFull(err) {
		return err // it says all
	}
	return nil
}

// runOnce is the life of one signal-cli.
func (d *daemon) runOnce(ctx context.Context) error {
	d.upSince = time.Time{}
	lock, err := d.lockAlone(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := os.Remove(d.socketPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the socket of an earlier daemon: %w", err)
	}
	out, err := d.journal.createFile()
	if err != nil {
		return err
	}
	defer d.journal.removeEmpty(out.Name())
	defer func() { _ = out.Close() }()
	said := &tail{log: d.o.Log}
	cmd := d.command()
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out, said, []*os.File{lock}
	p := &process{cmd: cmd, hasKeeper: len(d.o.Keeper) > 0}
	if err := p.start(); err != nil {
		return startError(d.o.Command[0], err)
	}
	// Only the daemon's own keep the lock and the journal open.
	_, _ = lock.Close(), out.Close()
	answers := make(chan struct{})
	hearing, deafen := context.WithCancelCause(context.WithoutCancel(ctx))
	var heard sync.WaitGroup
	heard.Go(func() {
		select {
		case <-answers:
			d.subscription.run(hearing, d.socketPath())
		case <-hearing.Done():
		}
	})
	why := d.watch(ctx, p, answers)
	deafen(cmp.Or(why, errEnded)) // first: a signal-cli that is told to end loses what it is busy with
	heard.Wait()
	d.o.Observer.SetConnected(d.o.Name, false)
	p.terminate(d.o.StopWithin)
	if why != nil {
		return why
	}
	return fmt.Errorf("signal-cli ended: %w%s", p.exitError(), said.lastLines())
}

// startError reports why a program could not be started.
func startError(program string, err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w (%s)", errNotInPath, program)
	}
	return fmt.Errorf("start signal-cli: %w", err)
}

// command is signal-cli as a daemon. Of the environment it gets what programs
// need, and no secret of parley's.
func (d *daemon) command() *exec.Cmd {
	args := slices.Concat(d.o.Keeper, d.o.Command, []string{
		"-a", d.o.Account, "-o", "json", "--trust-new-identities", d.o.Trust,
		"daemon", "--receive-mode", "manual", "--socket", d.socketPath(),
	})
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // the operator's own; it is ended by its group
	cmd.WaitDelay = time.Second
	cmd.Env = childEnv()
	return cmd
}

// childEnv returns what of ours signal-cli gets.
func childEnv() []string {
	env := []string{}
	for _, kv := range os.Environ() {
		if k, _, _ := strings.Cut(kv, "="); isAllowedEnv(k) {
			env = append(env, kv)
		}
	}
	return env
}

func isAllowedEnv(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "SHELL", "JAVA_HOME", "JAVA_OPTS", "JAVA_TOOL_OPTIONS", "SIGNAL_CLI_OPTS":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// maxMissed is how many questions in a row signal-cli may leave unanswered.
const maxMissed = 3

// watch asks the daemon whether it lives until it has ended, nil; or it must be
// ended, and why. It closes answers when it lives and may receive.
func (d *daemon) watch(ctx context.Context, p *process, answers chan<- struct{}) error {
	missed := 0
	deadline, ask := time.NewTimer(d.o.StartWithin), time.NewTimer(d.o.Look)
	defer deadline.Stop()
	defer ask.Stop()
	var looking sync.WaitGroup
	defer looking.Wait()
	ctx, full := context.WithCancelCause(ctx)
	defer full(nil)
	looking.Go(func() { // by itself: a question may wait long for its answer
		for pause.For(ctx, d.o.Room) == nil {
			if err := d.checkRoom(); err != nil {
				full(fmt.Errorf("signal-cli stopped before it confirms what it cannot store: %w", err))
			}
		}
	})
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx) // the caller asks it too
		case <-p.done:
			return nil
		case <-deadline.C:
			if d.upSince.IsZero() {
				return fmt.Errorf("%w within %s of its start", errNotReady, d.o.StartWithin)
			}
			continue
		case <-ask.C:
		}
		version, err := d.queryVersion(ctx)
		switch {
		case ctx.Err() != nil: // the next round says why
		case err == nil && d.upSince.IsZero():
			if err := checkVersion(version, d.o.Account); err != nil {
				return err
			}
			d.upSince = time.Now()
			d.o.Log.Info("signal-cli started", "version", markup.Brief(version))
			d.noteStart()
			close(answers)
		case err == nil:
			missed = 0
		case !d.upSince.IsZero():
			if missed++; missed >= maxMissed {
				return fmt.Errorf("%w: %w", errNotReady, err)
			}
		}
		if d.upSince.IsZero() {
			ask.Reset(min(d.o.Look, d.o.Health))
		} else {
			ask.Reset(d.o.Health)
		}
	}
}
