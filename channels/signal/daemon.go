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

	"parley/disks"
	"parley/pause"
)

var (
	errUnwell    = errors.New("signal-cli does not answer")
	errNotInPath = errors.New("signal-cli is not there: install it, or say in command where it is")
)

// daemon keeps signal-cli running for as long as somebody needs it.
type daemon struct {
	o       Options
	journal *journal
	hearing *subscription
	version func(ctx context.Context) (string, error) // asks whether it lives; set once, by New

	mu    sync.Mutex // held also while it ends, so that two never run
	users int
	stop  context.CancelFunc
	mine  chan struct{} // closed when the folder is ours, until ended
	first chan struct{} // closed when a signal-cli has answered, which may have ended since
	ended chan struct{}

	up time.Time // since when it answers, or zero; run's own
}

func newDaemon(o Options, identity func() []any) *daemon {
	return &daemon{o: o, hearing: newSubscription(o, identity), journal: &journal{dir: o.Dir, reclaim: o.Reclaim, maxLine: int64(o.MaxLine), log: o.Log}}
}

func (d *daemon) socket() string { return socketIn(d.o.Dir) }

// outgoing is the folder of files that are being sent.
func (d *daemon) outgoing() string { return filepath.Join(d.o.Dir, "outgoing") }

// ours says whether the folder is ours by now.
func (d *daemon) ours() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users == 0 {
		return false
	}
	select {
	case <-d.mine:
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
		d.stop, d.mine, d.first, d.ended = stop, make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(d.ended)
			d.run(ctx)
		}()
	}
	return d.mine, sync.OnceFunc(func() {
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
	return d.first
}

// noteStart closes what started returns. Only run calls it, and takes no lock: the last
// release holds mu until run has ended.
func (d *daemon) noteStart() {
	select {
	case <-d.first:
	default:
		close(d.first)
	}
}

// run makes the folder ours, and starts signal-cli again and again until ctx ends.
func (d *daemon) run(ctx context.Context) {
	var own *os.File
	d.await(ctx, "signal-cli is not started, and what it wrote is not read", func() (err error) {
		own, err = claim(d.o.Dir)
		return err
	})
	if own == nil {
		return
	}
	defer func() { _ = own.Close() }()
	if err := os.RemoveAll(d.outgoing()); err != nil {
		d.o.Log.Error("files that an earlier parley was about to send cannot be removed", "error", err)
	}
	close(d.mine)
	pauses := d.o.pauses()
	for ctx.Err() == nil {
		d.await(ctx, "signal-cli is not started while the disk of its journal is full; what people write waits at Signal", d.room)
		err := d.once(ctx)
		if ctx.Err() != nil {
			return
		}
		// One that answers and ends again at once has not recovered.
		if !d.up.IsZero() && time.Since(d.up) >= d.o.MaxPause {
			pauses.Reset()
		}
		wait := pauses.Next()
		d.o.Observer.Up(d.o.Name, false)
		d.o.Log.Error("signal-cli does not run; it is started again", "error", err, "wait", wait)
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
			d.o.Observer.Up(d.o.Name, false)
			d.o.Log.Error(what, "error", err)
		}
		_ = pause.For(ctx, d.o.Room)
	}
}

// room says whether the journal may grow. Without room signal-cli would confirm to
// the service what it cannot write down.
func (d *daemon) room() error {
	if err := disks.Check(d.o.Dir); disks.Full(err) {
		return err //nolint:wrapcheck // it says all
	}
	return nil
}

// once is the life of one signal-cli.
func (d *daemon) once(ctx context.Context) error {
	d.up = time.Time{}
	lock, err := d.alone(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := os.Remove(d.socket()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the socket of an earlier daemon: %w", err)
	}
	out, err := d.journal.begin()
	if err != nil {
		return err
	}
	defer d.journal.drop(out.Name())
	defer func() { _ = out.Close() }()
	said := &tail{log: d.o.Log}
	cmd := d.command()
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out, said, []*os.File{lock}
	p := &process{cmd: cmd, kept: len(d.o.Keeper) > 0}
	if err := p.start(); err != nil {
		return notStarted(d.o.Command[0], err)
	}
	// Only the daemon's own keep the lock and the journal open.
	_, _ = lock.Close(), out.Close()
	answers := make(chan struct{})
	hearing, deafen := context.WithCancelCause(context.WithoutCancel(ctx))
	var heard sync.WaitGroup
	heard.Go(func() {
		select {
		case <-answers:
			d.hearing.keep(hearing, d.socket())
		case <-hearing.Done():
		}
	})
	why := d.watch(ctx, p, answers)
	deafen(cmp.Or(why, errEnded)) // first: a signal-cli that is told to end loses what it is busy with
	heard.Wait()
	d.o.Observer.Up(d.o.Name, false)
	p.end(d.o.StopWithin)
	if why != nil {
		return why
	}
	return fmt.Errorf("it ended: %w%s", p.state(), said.last())
}

// notStarted says why a program could not be started.
func notStarted(program string, err error) error {
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
		"daemon", "--receive-mode", "manual", "--socket", d.socket(),
	})
	cmd := exec.Command(args[0], args[1:]...) //nolint:gosec,noctx // the operator's own; it is ended by its group
	cmd.WaitDelay = time.Second
	cmd.Env = environment()
	return cmd
}

// environment is what of ours signal-cli gets.
func environment() []string {
	env := []string{}
	for _, kv := range os.Environ() {
		if k, _, _ := strings.Cut(kv, "="); harmless(k) {
			env = append(env, kv)
		}
	}
	return env
}

func harmless(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "SHELL", "JAVA_HOME", "JAVA_OPTS", "JAVA_TOOL_OPTIONS", "SIGNAL_CLI_OPTS":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// mostMissed is how many questions in a row signal-cli may leave unanswered.
const mostMissed = 3

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
			if err := d.room(); err != nil {
				full(fmt.Errorf("it is ended before it confirms what it cannot write down: %w", err))
			}
		}
	})
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx) //nolint:wrapcheck // the caller asks it too
		case <-p.done:
			return nil
		case <-deadline.C:
			if d.up.IsZero() {
				return fmt.Errorf("%w within %s of its start", errUnwell, d.o.StartWithin)
			}
			continue
		case <-ask.C:
		}
		version, err := d.version(ctx)
		switch {
		case ctx.Err() != nil: // the next round says why
		case err == nil && d.up.IsZero():
			if err := checkVersion(version, d.o.Account); err != nil {
				return err
			}
			d.up = time.Now()
			d.o.Log.Info("signal-cli runs", "version", brief(version))
			d.noteStart()
			close(answers)
		case err == nil:
			missed = 0
		case !d.up.IsZero():
			if missed++; missed >= mostMissed {
				return fmt.Errorf("%w: %w", errUnwell, err)
			}
		}
		if d.up.IsZero() {
			ask.Reset(min(d.o.Look, d.o.Health))
		} else {
			ask.Reset(d.o.Health)
		}
	}
}
