package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"parley/gateway/admin"
	"parley/gateway/recording"
	"parley/gateway/settings"
	"parley/tools"
	"parley/tools/sandbox"
	"parley/tools/shell"
	"parley/tools/shell/policy"
)

// openSandbox builds the walls for what the tool bash runs, and tries them; nil where no
// turn of this process may need them.
func (g *Gateway) openSandbox(ctx context.Context) (*sandbox.Sandbox, error) {
	if !g.cfg.Bash.Enabled || !g.cfg.HasRole(settings.RoleWorker) {
		return nil, nil //nolint:nilnil // that there is none is no error
	}
	c := g.cfg.Sandbox
	c.Getenv = os.LookupEnv
	s, err := sandbox.Open(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open the sandbox: %w", err)
	}
	reasons := strings.Join(s.Reasons(), "; ")
	switch {
	case !s.Usable():
		g.o.Logger.Error("sandbox not available, bash is not offered", "reasons", reasons)
	case s.Level() != sandbox.LevelA:
		g.o.Logger.Warn("sandbox opened, not with all walls", "level", string(s.Level()), "reasons", reasons)
	default:
		g.o.Logger.Info("sandbox opened", "level", string(s.Level()))
	}
	return s, nil
}

// sandboxStatus returns which walls there are; nil: nothing needs any.
func (g *Gateway) sandboxStatus() *admin.Sandbox {
	s := g.opened.sandbox
	if s == nil {
		return nil
	}
	return &admin.Sandbox{Level: string(s.Level()), Usable: s.Usable(), Reasons: s.Reasons()}
}

// giveShell lets turns of e run scripts in s, if its agents may.
func (e *edition) giveShell(s *sandbox.Sandbox) {
	if s != nil && s.Usable() && e.cfg.Bash.Enabled {
		e.runner, e.scripts = walls{s}, e.cfg.BashPolicy(s.Level() == sandbox.LevelD)
		e.runsIn = "a sandbox of level " + string(s.Level())
		if s.Level() == sandbox.LevelD {
			e.runsIn = "no sandbox: on the gateway's own machine, with all that it may do there"
		}
	}
}

// bashTool makes the tool bash; none where e has no shell.
func (e *edition) bashTool() ([]tools.Tool, error) {
	if e.runner == nil {
		return nil, nil
	}
	p, err := policy.New(e.scripts)
	if err != nil {
		return nil, fmt.Errorf("make the policy of the tool bash: %w", err)
	}
	var scratch []string
	if hasOwnRoot(e.runner) {
		scratch = []string{"/tmp"}
	}
	t, err := shell.New(shell.Options{Runner: e.runner, Policy: p, Scratch: scratch, Where: e.runsIn})
	if err != nil {
		return nil, err
	}
	return []tools.Tool{t}, nil
}

// recordedShell returns the tool bash as a recording has it; nil: no agent had it.
func (e *edition) recordedShell() *recording.Bash {
	if e.runner == nil {
		return nil
	}
	b := &recording.Bash{Policy: e.scripts, Where: e.runsIn}
	if hasOwnRoot(e.runner) {
		b.Inside = e.runner.Inside("/a")
	}
	return b
}

// hasOwnRoot reports whether programs of r have a root folder of their own, with the
// workspace at one place for all and a /tmp that nobody else sees.
func hasOwnRoot(r shell.Runner) bool { return r.Inside("/a") != "/a" }

// walls runs the programs of the tool bash in a sandbox.
type walls struct{ *sandbox.Sandbox }

func (w walls) Run(ctx context.Context, c shell.Command) (shell.Result, error) {
	r, err := w.Sandbox.Run(ctx, sandbox.Command(c))
	return shell.Result(r), err //nolint:wrapcheck // it says what did not run
}

// recordedRunner judges scripts as they were judged, and runs none.
type recordedRunner struct{ inside string }

var errNotRun = errors.New("a replay runs no programs")

func (recordedRunner) Run(context.Context, shell.Command) (shell.Result, error) {
	return shell.Result{}, errNotRun
}

func (r recordedRunner) Inside(workspace string) string {
	if r.inside == "" {
		return workspace
	}
	return r.inside
}
