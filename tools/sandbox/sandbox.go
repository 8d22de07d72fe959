// Package sandbox runs a program so that it can break nothing outside of one folder: no
// file beside its workspace, no network, no other process, no secret of the gateway.
//
// A run has these processes:
//
//	gateway ── launcher ── helper ── program
//	                       builds the walls, waits, reports
//
// Launcher and helper are this binary again ([Main] must stand first in its main
// function). The helper starts as the first process of new user, mount, pid, network, ipc and uts namespaces,
// builds a root folder that has nothing but system programs and the workspace, takes
// every right from one of its threads, and starts the program from there. When the
// program ends, the helper ends, and the kernel ends whatever else the program started.
//
// Which walls a machine can build is its [Level]. [Open] finds out by trying to break
// out of them. Namespaces and mounts can be left to bubblewrap, where it may make some and
// parley may not. See docs/decisions/0077 and 0113.
//
// There is no network inside, unless a command asks for the machine's own, or for an
// [Outlet]: then there is a proxy on loopback, and nothing else.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Level is how much of a wall this machine can build.
type Level string

// The levels, strongest first.
const (
	// LevelA has all walls: namespaces, Landlock and seccomp.
	LevelA Level = "A"
	// LevelB has no namespaces: Landlock and seccomp alone. A program sees that files
	// outside exist and how big they are. It cannot change modes, owners and times of files
	// by their names; of what it may read, it can by a descriptor, if it belongs to the
	// gateway's user. It finds no /proc, and its folder for temporary files has no limit of
	// size.
	LevelB Level = "B"
	// LevelC has namespaces and seccomp, but no Landlock behind them.
	LevelC Level = "C"
	// LevelD has no walls. [Sandbox.Run] refuses, unless the operator has said
	// [ModeUnsafeHost].
	LevelD Level = "D"
)

// Workspace is where the workspace is for a program at the levels A and C; see
// [Sandbox.Inside].
const Workspace = "/workspace"

var (
	// ErrNoWalls is returned by Run at level D: this machine cannot build walls, and the
	// operator has not said that programs may run without.
	ErrNoWalls = errors.New("no sandbox on this machine")
	// ErrEscaped is returned by Open if a program got out of walls that were built. Nothing
	// may run then.
	ErrEscaped = errors.New("escape from the sandbox")
	// ErrStart is returned by Run if the walls stand but the program did not start: there
	// is none of that name inside, it cannot be executed, or its folder is missing.
	ErrStart = errors.New("program not started")
	// ErrTimeout is returned by Run if the program had to be ended after Command.Timeout.
	ErrTimeout = errors.New("program ended after its time")
)

// Command is one program to run.
type Command struct {
	// Args is the argument vector. Args[0] is an absolute path inside, a path with a slash
	// relative to Dir, or a name that is looked up on PATH. The kernel takes 128 KiB for
	// one argument.
	Args []string
	// Dir is the working directory: a path relative to the workspace, which no link may
	// lead out of. Empty is the workspace itself.
	Dir string
	// Workspace is the absolute path, outside, of the folder that the program may write.
	Workspace string
	// ReadOnly are absolute paths of further folders and files that the program may read
	// and execute, at the same paths inside. See [CanBeGiven].
	ReadOnly []string
	// Env is NAME=value, on top of the allow-list of [Config]; the last of a name holds.
	Env []string
	// Stdin is empty if nil. It may be read ahead, and once more after Run has returned; a
	// reader that blocks for ever keeps one goroutine.
	Stdin io.Reader
	// Stdout and Stderr get what the program writes, by way of a pipe; nil discards. They
	// may be the same, and are then written one at a time. A writer that returns an error
	// gets nothing more: the program's next write fails.
	Stdout, Stderr io.Writer
	// Timeout is how long the program may run; 0: as long as the context lasts.
	Timeout time.Duration
	// Space is how many bytes of the disk the workspace may take; 0: any number. A program that
	// goes beyond is killed within a second or so, with a SpaceError.
	Space int64
	// Network lets the program connect to whatever the machine reaches by TCP and UDP, its
	// own services on 127.0.0.1 too. It accepts no connections, and has no other sockets.
	// All other walls stand.
	Network bool
	// Outlet, if not nil, lets the program connect to a proxy, which Outlet is, and to
	// nothing else. Variables such as HTTPS_PROXY name it. Not together with Network.
	Outlet Outlet
}

// SpaceError is returned by Run if a program took more of the disk than it may. Its text is for
// the model.
type SpaceError struct {
	What string // of the program
	Most int64
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("the program was stopped, or not started, because %s would take more than %d bytes of the disk: delete what is not needed, and have it write less", e.What, e.Most)
}

// Result is how a program ended.
type Result struct {
	// Code is its exit status, -1 if a signal ended it.
	Code int
	// What ended it; 0: it exited.
	Signal syscall.Signal
}

// Sandbox runs programs. It may be used concurrently.
type Sandbox struct {
	config  Config
	level   Level
	backend string // empty: nobody builds walls
	reasons []string

	processes string // why limits hold for processes and not for runs; empty: for runs
	system    system
	places    chan struct{} // of which each program that is under way has one
	network   *trial        // of the walls around a program with the machine's network
	outlet    *trial        // and around one with an outlet
}

// trial is a self-test that is made once, when it is first needed.
type trial struct {
	mu   sync.Mutex // held while it is made; guards held
	held bool
}

// Level returns which walls programs run in.
func (s *Sandbox) Level() Level { return s.level }

// Backend returns who makes the namespaces and mounts of the walls, BackendParley or
// BackendBubblewrap; empty at level D.
func (s *Sandbox) Backend() string { return s.backend }

// Usable reports whether Run runs anything: at the levels A to C, and at D if the
// operator wants programs to run without walls. Tools that run programs are offered to
// models only then.
func (s *Sandbox) Usable() bool { return s.level != LevelD || s.config.Mode == ModeUnsafeHost }

// Reasons says in plain sentences why the level is not A, and why bubblewrap is in the place of
// parley where both might be; empty where neither has to be said.
func (s *Sandbox) Reasons() []string { return slices.Clone(s.reasons) }

// Inside returns the path by which a program knows a workspace.
func (s *Sandbox) Inside(workspace string) string {
	if s.level == LevelA || s.level == LevelC {
		return Workspace
	}
	return workspace
}

// Limits says for what Config.Memory and Config.Processes hold: for each run as a whole, in a
// control group of its own, or, and why, for each process and for the processes of a user.
func (s *Sandbox) Limits() (runs bool, why string) { return s.processes == "", s.processes }

// Run runs c and returns when nothing of it is left: no process, no descriptor. An exit
// status other than 0 is a Result, not an error.
//
// If ctx ends or the time is over, the program and all that it started are killed, and
// the error is the cause of it. What was written until then has arrived. Any other error
// means that the program did not run, or that its output could not be delivered, and
// says why; Run never goes on with fewer walls than its level has.
func (s *Sandbox) Run(ctx context.Context, c Command) (Result, error) {
	if !s.Usable() {
		return Result{}, fmt.Errorf("%w: %s", ErrNoWalls, strings.Join(s.reasons, "; "))
	}
	if err := c.check(); err != nil {
		return Result{}, err
	}
	if c.Network {
		if err := s.TryNetwork(ctx); err != nil {
			return Result{}, err
		}
	}
	if c.Outlet != nil {
		if err := s.TryOutlet(ctx); err != nil {
			return Result{}, err
		}
	}
	if c.Timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, c.Timeout, ErrTimeout)
		defer cancel()
		ctx = limited
	}
	return s.run(ctx, c)
}

// Enter waits until fewer than Config.Programs that have entered are under way, and returns what
// the caller calls when its own has ended. The error is the cause of the end of ctx. What runs as
// long as the gateway does not enter: it would take a place for good.
func (s *Sandbox) Enter(ctx context.Context) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case s.places <- struct{}{}:
		return func() { <-s.places }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// TryNetwork has a program try to get out of the walls that stand around a command with
// [Command.Network], as [Open] does for all others. It does so once; Run calls it before the
// first such command. Returns ErrEscaped, with how, if a program got out.
func (s *Sandbox) TryNetwork(ctx context.Context) error {
	if s.level == LevelD {
		return nil // nothing runs, or without walls
	}
	return s.network.once(func() error { return s.tryNetwork(ctx) })
}

// once makes the trial, unless it was made and the walls held.
func (t *trial) once(try func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held {
		return nil
	}
	err := try()
	t.held = err == nil
	return err
}

// Close lets go of what Open holds. No Run may be under way.
func (s *Sandbox) Close() error { return s.system.close() }
