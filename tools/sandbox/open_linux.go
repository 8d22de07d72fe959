//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// trialTime is how long the self-test of one level may take. It takes a tenth of a second.
const trialTime = time.Minute

// Open finds out which walls this machine can build, builds them, and has a program try
// to get out of them in every way that is known, at each start. It takes the strongest
// level of A, C and B at which the walls stand; namespaces are made by parley itself, or, if
// that cannot be, by bubblewrap, as c says. If there is none, the level is D: that is
// not an error, since a gateway does much without running programs, but Run refuses.
//
// Returns ErrEscaped, with how, if a program got out: then something is wrong with the
// machine or with this package, and nothing may be run. Other errors are about c, or end
// of ctx.
func Open(ctx context.Context, c Config) (*Sandbox, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if !mainCalled.Load() {
		return nil, errors.New("sandbox: the main function of this program does not call Main first")
	}
	s := &Sandbox{config: c.Defaults(), level: LevelD, network: &trial{}, outlet: &trial{}}
	s.places = make(chan struct{}, s.config.Programs)
	groups, err := findGroups()
	if err != nil {
		groups, s.processes = nil, err.Error()
	} else {
		s.processes = groups.lacks()
	}
	s.system.groups = groups
	if s.config.Mode == ModeUnsafeHost {
		s.system.uid, s.system.gid = os.Geteuid(), os.Getegid()
		s.reasons = []string{"the configuration says unsafe-host: programs run without walls"}
		return s, nil
	}
	if err := s.find(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// find sets the level.
func (s *Sandbox) find(ctx context.Context) error {
	version := landlockVersion()
	sys, err := identify(s.config.UID)
	if err != nil {
		s.reasons = append(s.reasons, err.Error())
		return nil
	}
	if version == 0 {
		s.reasons = append(s.reasons, "the kernel has no Landlock")
	}
	sys.groups = s.system.groups
	s.system = sys
	inside := LevelA
	if version == 0 {
		inside = LevelC
	}
	if s.config.Backend != BackendBubblewrap {
		if ok, err := s.findOwn(ctx, inside, version); ok || err != nil {
			return err
		}
	}
	if s.config.Backend != BackendParley {
		if ok, err := s.findBubblewrap(ctx, inside, version); ok || err != nil {
			return err
		}
	}
	switch {
	case s.config.Backend == BackendBubblewrap:
		return nil
	case sys.asRoot():
		s.reasons = append(s.reasons, "without namespaces, programs do not run as another user than the gateway: run it as an ordinary user, not as root")
		return nil
	case version < signalsScoped:
		s.reasons = append(s.reasons, fmt.Sprintf("without namespaces, Landlock must keep programs from signalling others: version %d, not %d", signalsScoped, version))
		return nil
	}
	_, err = s.try(ctx, LevelB, walls{Landlock: version, Seccomp: true})
	return err
}

// findOwn tries walls in namespaces that parley makes itself. It takes level if they hold.
func (s *Sandbox) findOwn(ctx context.Context, level Level, landlock int) (bool, error) {
	if s.system.asRoot() {
		idmap, err := s.system.openIDMap()
		if err != nil {
			s.reasons = append(s.reasons, "no namespaces: "+err.Error())
			return false, nil //nolint:nilerr // it is a reason
		}
		s.system.idmap = idmap
	}
	// Where a container hides parts of /proc, the kernel allows no new one inside.
	for _, proc := range []bool{true, false} {
		ok, err := s.try(ctx, level, walls{Namespaces: true, Proc: proc, Landlock: landlock, Seccomp: true})
		if errors.Is(err, errNoNamespaces) {
			s.reasons = append(s.reasons, err.Error())
			return false, nil
		}
		if ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// errNoNamespaces is a helper that did not get its namespaces.
var errNoNamespaces = errors.New("no namespaces")

// explainStart says why a helper did not start.
func explainStart(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EUSERS):
		return fmt.Errorf("%w: the kernel's limit of them is reached, see user.max_user_namespaces: %w", errNoNamespaces, err)
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL):
		return fmt.Errorf("%w: the kernel or the container does not let this user make them: %w", errNoNamespaces, err)
	}
	return fmt.Errorf("start the helper: %w", err)
}

// signalsScoped is the version of Landlock from which a program cannot signal its
// helper, or the gateway.
const signalsScoped = 6

// try runs the self-test behind w, and takes the level if it holds. Walls that cannot
// be built are a reason.
func (s *Sandbox) try(ctx context.Context, level Level, w walls) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, trialTime, errors.New("the self-test took too long"))
	defer cancel()
	s.system.walls = w
	err := s.selfTest(ctx, Command{})
	switch {
	case ctx.Err() != nil:
		return false, fmt.Errorf("self-test of the sandbox: %w", context.Cause(ctx))
	case errors.Is(err, ErrEscaped):
		return false, fmt.Errorf("level %s: %w", level, err)
	case err != nil:
		s.system.walls = walls{}
		if errors.Is(err, errNoNamespaces) {
			// Nor without /proc.
			return false, err
		}
		if w.Namespaces && !w.Proc {
			return false, nil // for the same reason as with it
		}
		s.reasons = append(s.reasons, fmt.Sprintf("level %s: %v", level, err))
		return false, nil
	}
	s.level, s.backend = level, BackendParley
	if w.Namespaces && !w.Proc {
		// In the place of why the attempt with it failed.
		s.reasons[len(s.reasons)-1] = "programs have no /proc: the container hides parts of it"
	}
	return true, nil
}

// tryNetwork runs the self-test behind the walls of a program that has the machine's network.
func (s *Sandbox) tryNetwork(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, trialTime, errors.New("the self-test took too long"))
	defer cancel()
	if err := s.selfTest(ctx, Command{Network: true}); err != nil {
		return fmt.Errorf("self-test of the sandbox with the network: %w", err)
	}
	return nil
}

// selfTest returns nil if the walls could be built around a command with the network of like,
// and no probe got out. Where that is the machine's, it is no way out.
func (s *Sandbox) selfTest(ctx context.Context, like Command) (err error) {
	dir, err := os.MkdirTemp("", "parley-self-test-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	st, err := setStage(dir)
	if err != nil {
		return fmt.Errorf("set the stage of the self-test: %w", err)
	}
	defer func() { err = errors.Join(err, st.close()) }()
	got, err := s.probe(ctx, st, like)
	if err != nil {
		return err
	}
	var out []string
	for i, o := range got {
		if o.Err == "" && (s.system.walls.Namespaces || !probes[i].seen) && (!like.Network || !probes[i].network) {
			out = append(out, o.Name)
		}
	}
	if len(out) > 0 {
		return fmt.Errorf("%w: %s", ErrEscaped, strings.Join(out, ", "))
	}
	return nil
}

// probe runs all probes inside, with the network of like.
func (s *Sandbox) probe(ctx context.Context, st *stage, like Command) ([]outcome, error) {
	in, err := json.Marshal(st.targets)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	res, err := s.run(ctx, Command{
		Args: []string{st.Self, probeArg}, Workspace: st.workspace, ReadOnly: []string{st.Self},
		Stdin: bytes.NewReader(in), Stdout: &stdout, Stderr: &stderr, Network: like.Network, Outlet: like.Outlet,
	})
	if err != nil {
		return nil, err
	}
	var got []outcome
	if err := json.Unmarshal(stdout.Bytes(), &got); res.Code != 0 || err != nil || len(got) != len(probes) {
		return nil, fmt.Errorf("the self-test did not run: status %d, signal %d, %q", res.Code, res.Signal, bytes.TrimSpace(stderr.Bytes()))
	}
	return got, nil
}
