//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"parley/folders"
)

// What a program is inside, whoever it is outside.
const (
	insideUser = "agent"
	insideID   = 1000
	insideHost = "sandbox"
	insideHome = "/tmp/home"
)

// endTime is how long a helper has for ending what it started. Only a process that the
// kernel itself cannot end takes so long.
const endTime = time.Minute

// run runs c inside the walls of s.
func (s *Sandbox) run(ctx context.Context, c Command) (_ Result, err error) {
	w := s.system.walls
	r := &running{}
	defer func() { err = errors.Join(err, r.close()) }()
	job := spec{
		Walls: w, Args: c.Args, Dir: c.Dir, Memory: s.config.Memory, Processes: s.config.Processes,
		FileSize: s.config.FileSize, Scratch: s.config.Scratch, Network: c.Network,
	}
	inside := map[string]string{"HOME": insideHome, "USER": insideUser, "TMPDIR": "/tmp"}
	if !w.Namespaces {
		if job.Private, err = r.makePrivate(); err != nil {
			return Result{}, err
		}
		inside = map[string]string{"HOME": job.Private, "TMPDIR": job.Private}
	}
	if s.config.Mode == ModeUnsafeHost {
		inside = nil
	}
	job.Env = environment(s.config.Getenv, inside, c.environment())
	job.Path = lookupPath(job.Env)
	if err := s.system.take(r, &job, c); err != nil {
		return Result{}, err
	}
	if c.Outlet != nil {
		if r.outlet, err = openOutlet(r, &job); err != nil {
			return Result{}, err
		}
	}
	if g := s.system.groups; g != nil {
		if r.group, err = g.make(s.config.memoryOfRun(), s.config.Processes); err != nil {
			return Result{}, err
		}
	}
	watched, err := r.spaces(s, c)
	if err != nil {
		return Result{}, err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	cmd, err := r.command(ctx, s.system, c)
	if err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, context.Cause(ctx)
	}
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		return Result{}, fmt.Errorf("start the helper: %w", err)
	}
	r.closeChildEnds()
	if r.outlet != nil {
		r.outlet.begin(ctx, c.Outlet)
	}
	after := time.After
	if s.config.After != nil {
		after = s.config.After
	}
	looking, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { watch(looking, end, after, watched) })
	sendErr := send(r.lifeline, job)
	waitErr := cmd.Wait()
	stop()
	watcher.Wait()
	return r.result(ctx, waitErr, sendErr)
}

// lookupPath is the PATH of env, or the usual one.
func lookupPath(env []string) string {
	for _, v := range env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			return path
		}
	}
	return standardPath
}

// send writes job behind its length, so that its reader needs no end of file.
func send(to io.Writer, job spec) error {
	b, err := json.Marshal(job)
	if err != nil {
		return err
	}
	_, err = to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)) // far below 4 GiB
	return err
}

// running is what the gateway holds of one run.
type running struct {
	lifeline *os.File // its end ends the run
	reports  *os.File
	input    *os.File // what the program reads, and its end of it
	stdin    *os.File
	child    []*os.File // of the helper: descriptors 3, 4 and so on
	private  string

	bubblewrap []string   // how bwrap is started; empty: it is not
	group      *group     // nil: there are none
	outlet     *outletEnd // nil: there is none
}

func (r *running) makePrivate() (string, error) {
	dir, err := os.MkdirTemp("", "parley-sandbox-")
	if err != nil {
		return "", fmt.Errorf("make a folder for temporary files: %w", err)
	}
	r.private = dir
	return dir, nil
}

// command makes the command of the helper. After it, the descriptors of mounts follow
// those of the helper itself.
func (r *running) command(ctx context.Context, sys system, c Command) (*exec.Cmd, error) {
	specOut, specIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r.lifeline = specIn
	reportOut, reportIn, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, specOut.Close())
	}
	r.reports = reportOut
	r.child = append([]*os.File{specOut, reportIn}, r.child...)

	args := []string{helperArg}
	switch {
	case sys.walls.Built:
		args = append([]string{bubblewrapArg, strconv.Itoa(len(r.child))}, r.bubblewrap...)
	case sys.walls.Namespaces:
		args = launch{sys.uid, sys.gid, sys.asRoot(), c.Network, c.Outlet != nil, len(r.child)}.args()
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...) // this very program
	cmd.Dir = "/"
	cmd.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=none"}
	// A file would be handed over as it is. The program gets pipes only.
	cmd.Stdout, cmd.Stderr = hideWriter(c.Stdout), hideWriter(c.Stderr)
	if c.Stdin != nil {
		in, err := r.feed(c.Stdin)
		if err != nil {
			return nil, err
		}
		cmd.Stdin = in
	}
	cmd.ExtraFiles = r.child
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if r.group != nil {
		if err := r.group.take(cmd); err != nil {
			return nil, err
		}
	}
	cmd.WaitDelay = endTime
	// Killed, it could not wait until nothing is left.
	cmd.Cancel = r.lifeline.Close
	return cmd, nil
}

// feed copies from until it ends or the run does. Nothing waits for it: a reader may
// block for ever.
func (r *running) feed(from io.Reader) (*os.File, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r.input, r.stdin = in, out
	go func() {
		_, _ = io.Copy(in, from)
		_ = in.Close()
	}()
	return out, nil
}

func hideWriter(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok {
		return struct{ io.Writer }{f}
	}
	return w
}

func (r *running) closeChildEnds() {
	for _, f := range append(slices.Clone(r.child), r.stdin) {
		if f != nil {
			_ = f.Close()
		}
	}
	r.child, r.stdin = nil, nil
}

// result says what came of a helper that has ended.
func (r *running) result(ctx context.Context, waitErr, sendErr error) (Result, error) {
	var rep report
	b, err := io.ReadAll(r.reports)
	if err == nil && len(b) > 0 {
		err = json.Unmarshal(b, &rep)
	}
	switch {
	case ctx.Err() != nil && (err != nil || len(b) == 0 || rep.Failed != "" || rep.Start != "" || rep.Signal != 0):
		return Result{Code: -1, Signal: syscall.SIGKILL}, context.Cause(ctx)
	case err != nil || len(b) == 0:
		return Result{}, fmt.Errorf("the helper ended without a report: %w", errors.Join(err, sendErr, waitErr))
	case rep.Errno != 0:
		return Result{}, explainStart(syscall.Errno(rep.Errno))
	case rep.Failed != "":
		return Result{}, &setupError{rep.Failed}
	case rep.Start != "":
		return Result{}, fmt.Errorf("%w: %s", ErrStart, rep.Start)
	}
	res := Result{Code: rep.Code, Signal: syscall.Signal(rep.Signal)}
	if waitErr != nil {
		return res, fmt.Errorf("deliver the output: %w", waitErr)
	}
	return res, nil
}

// setupError is a wall that could not be built.
type setupError struct{ reason string }

func (e *setupError) Error() string { return "set up the sandbox: " + e.reason }

func (r *running) close() error {
	r.closeChildEnds()
	if r.outlet != nil {
		r.outlet.close()
	}
	for _, f := range []*os.File{r.lifeline, r.reports, r.input} {
		if f != nil {
			_ = f.Close()
		}
	}
	var err error
	if r.group != nil {
		err = r.group.end()
	}
	return errors.Join(err, r.removePrivate())
}

func (r *running) removePrivate() error {
	if r.private == "" {
		return nil
	}
	if err := folders.Remove(r.private); err != nil {
		return fmt.Errorf("remove the folder for temporary files: %w", err)
	}
	return nil
}

// give hands a file over to the helper, and returns its descriptor there.
func (r *running) give(f *os.File) int {
	own := 5 // descriptors of the helper below
	if len(r.bubblewrap) > 0 {
		own = filesFD
	}
	r.child = append(r.child, f)
	return own + len(r.child) - 1
}

// take decides how the helper gets at the folders of c.
func (sys *system) take(r *running, job *spec, c Command) error {
	job.Workspace.Path = c.Workspace
	for _, path := range c.ReadOnly {
		job.ReadOnly = append(job.ReadOnly, source{Path: path})
	}
	if sys.walls.Built {
		return sys.takeBubblewrap(r, job)
	}
	if sys.idmap == nil || !sys.walls.Namespaces {
		return nil
	}
	open := func(src *source, attrs uint64) error {
		f, err := sys.mapped(src.Path, attrs)
		if err != nil {
			return err
		}
		src.FD = r.give(f)
		return nil
	}
	if err := open(&job.Workspace, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
		return err
	}
	for i := range job.ReadOnly {
		if err := open(&job.ReadOnly[i], unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_RDONLY); err != nil {
			return err
		}
	}
	return nil
}
