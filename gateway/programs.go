package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"parley/gateway/admin"
	"parley/gateway/recording"
	"parley/gateway/settings"
	"parley/tools"
	"parley/tools/commandline"
	"parley/tools/mcp"
	"parley/tools/sandbox"
	"parley/tools/shell"
)

// openSandbox builds the walls for what tools run, and tries them; nil where no turn of this
// process may need them.
func (g *Gateway) openSandbox(ctx context.Context) (*sandbox.Sandbox, error) {
	names := g.cfg.ProgramTools()
	if len(names) == 0 || !g.cfg.HasRole(settings.RoleWorker) {
		return nil, nil //nolint:nilnil // that there is none is no error
	}
	c := g.cfg.Sandbox
	c.Getenv = os.LookupEnv
	s, err := sandbox.Open(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open the sandbox: %w", err)
	}
	if logSandbox(g.o.Logger, s, names); !s.Usable() || len(networked(g.cfg)) == 0 {
		return s, nil
	}
	if err := s.TryNetwork(ctx); err != nil {
		return s, fmt.Errorf("open the sandbox: %w", err)
	}
	return s, nil
}

// logSandbox says which walls there are around the programs of the tools.
func logSandbox(log *slog.Logger, s *sandbox.Sandbox, names []string) {
	reasons := strings.Join(s.Reasons(), "; ")
	if !s.Usable() {
		log.Error("sandbox not available, tools that run programs are not offered", "tools", names, "reasons", reasons)
		return
	}
	about := []any{"level", string(s.Level()), "backend", s.Backend()}
	if reasons != "" {
		about = append(about, "reasons", reasons)
	}
	limits, why := s.Limits()
	if about = append(about, "limits_of_runs", limits); why != "" {
		about = append(about, "limits_reason", why)
	}
	if s.Level() != sandbox.LevelA {
		log.Warn("sandbox opened, not with all walls", about...)
		return
	}
	log.Info("sandbox opened", about...)
}

// sandboxStatus returns which walls there are; nil: nothing needs any.
func (g *Gateway) sandboxStatus() *admin.Sandbox {
	s, cfg := g.opened.sandbox, g.present().cfg
	if s == nil {
		return nil
	}
	runs, why := s.Limits()
	return &admin.Sandbox{
		LimitsOfRuns: runs, LimitsReason: why,
		Level: string(s.Level()), Backend: s.Backend(), Usable: s.Usable(), Reasons: s.Reasons(),
		Tools: cfg.ProgramTools(), Network: networked(cfg),
	}
}

// networked returns the names of the tools whose programs have the machine's network.
func networked(c settings.Config) []string {
	names := commandline.Networked(c.Tools.Commands)
	for _, s := range mcp.Programs(c.MCP.Servers) {
		if s.Network {
			names = append(names, mcp.Names([]mcp.Server{s})...)
		}
	}
	return names
}

// lacksSandbox reports whether e has tools that run programs, and the gateway was started
// without any, so that there is nothing to run them in.
func (g *Gateway) lacksSandbox(e *edition) bool {
	return g.opened.sandbox == nil && len(e.cfg.Tools.Commands) > 0 && g.cfg.HasRole(settings.RoleWorker)
}

// giveRunner lets turns of e run programs in s, if its agents may.
func (e *edition) giveRunner(s *sandbox.Sandbox) {
	if s == nil || !s.Usable() {
		return
	}
	e.runner, e.runsIn = walls{s}, "a sandbox of level "+string(s.Level())
	if s.Level() == sandbox.LevelD {
		e.runsIn = "no sandbox: on the gateway's own machine, with all that it may do there"
	}
	if e.cfg.Bash.Enabled {
		p := e.cfg.BashPolicy(s.Level() == sandbox.LevelD)
		e.scripts = &p
	}
}

// commandTools makes the operator's command-line tools; none where nothing can run them.
func (e *edition) commandTools() ([]tools.Tool, error) {
	if e.runner == nil {
		return nil, nil
	}
	return commandline.NewAll(e.cfg.Tools.Commands, commandline.Options{Runner: e.runner, Clean: e.clean, Log: e.log, Where: e.runsIn}) //nolint:wrapcheck // it names the tool
}

// recordedCommands returns the command-line tools as a recording has them; nil: no agent had
// any.
func (e *edition) recordedCommands() *recording.Commands {
	if e.runner == nil || len(e.cfg.Tools.Commands) == 0 {
		return nil
	}
	c := &recording.Commands{Tools: e.cfg.Tools.Commands, Where: e.runsIn}
	if hasOwnRoot(e.runner) {
		c.Inside = e.runner.Inside("/a")
	}
	return c
}

// warnNetwork names the tools that are not kept from the network.
func (e *edition) warnNetwork() {
	if names := networked(e.cfg); len(names) > 0 {
		e.log.Warn("tools connect to whatever this machine reaches, its own services too", "tools", names)
	}
}

// walls runs the programs of tools in a sandbox.
type walls struct{ *sandbox.Sandbox }

func (w walls) Run(ctx context.Context, c shell.Command) (shell.Result, error) {
	r, err := w.Sandbox.Run(ctx, sandbox.Command(c))
	return shell.Result(r), err //nolint:wrapcheck // it says what did not run
}

// recordedRunner judges scripts as they were judged, and runs nothing.
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
