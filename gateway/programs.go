package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"parley/gateway/admin"
	"parley/gateway/recording"
	"parley/gateway/redaction"
	"parley/gateway/settings"
	"parley/tools"
	"parley/tools/commandline"
	"parley/tools/mcp"
	"parley/tools/outlet"
	"parley/tools/programs"
	"parley/tools/sandbox"
	"parley/tools/shell"
	"parley/tools/shell/policy"
	"parley/tools/web/guard"
)

// openSandbox builds the walls for what tools run, and tries them; nil where no turn of this
// process may need them.
func (op opener) openSandbox(ctx context.Context) (*sandbox.Sandbox, error) {
	names := op.cfg.ProgramTools()
	if len(names) == 0 || !op.cfg.HasRole(settings.RoleWorker) {
		return nil, nil // that there is none is no error
	}
	c := op.cfg.Sandbox
	c.Getenv = os.LookupEnv
	s, err := sandbox.Open(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open the sandbox: %w", err)
	}
	if logSandbox(op.o.Logger, s, names); !s.Usable() {
		return s, nil
	}
	if err := lacksShell(op.cfg, os.LookupEnv); err != nil {
		op.o.Logger.Error("no shell on this machine, the tool is not offered", "tool", shell.Name, "error", err)
	}
	return s, op.tryNetworks(ctx, s)
}

// tryNetworks tries the walls around what has a network, if tools are to have one. Where a
// program cannot be kept to chosen hosts, its tool answers that.
func (op opener) tryNetworks(ctx context.Context, s *sandbox.Sandbox) error {
	if len(networked(op.cfg)) > 0 {
		if err := s.TryNetwork(ctx); err != nil {
			return fmt.Errorf("open the sandbox: %w", err)
		}
	}
	reaches := chosenHosts(op.cfg)
	if len(reaches) == 0 {
		return nil
	}
	err := s.TryOutlet(ctx)
	if errors.Is(err, sandbox.ErrNoOutlet) {
		op.o.Logger.Error("tools with a list of hosts do not run", "tools", admin.ReachingTools(reaches), "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the sandbox: %w", err)
	}
	return nil
}

// lacksShell returns why scripts cannot run although programs could: there is no bash, as in an image
// that holds parley alone; nil: they can, or agents have none. The programs of command lines and of
// MCP servers are looked for when the configuration is read.
func lacksShell(c settings.Config, getenv func(string) (string, bool)) error {
	if !c.Bash.Enabled {
		return nil
	}
	_, err := programs.FindProgram(shell.Name, sandbox.Config{Getenv: getenv}.Path())
	return err // it names the program
}

// toolsWithoutProgram returns the tools that are not offered because the machine has not got what they run.
func toolsWithoutProgram(c settings.Config) []string {
	if lacksShell(c, os.LookupEnv) != nil {
		return []string{shell.Name}
	}
	return nil
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
func sandboxStatus(s *sandbox.Sandbox, cfg settings.Config) *admin.Sandbox {
	if s == nil {
		return nil
	}
	runs, why := s.Limits()
	return &admin.Sandbox{
		LimitsOfRuns: runs, LimitsReason: why,
		Level: string(s.Level()), Backend: s.Backend(), Usable: s.Usable(), Reasons: s.Reasons(),
		Missing: toolsWithoutProgram(cfg), Tools: cfg.ProgramTools(), Network: networked(cfg), Hosts: chosenHosts(cfg), Confines: s.Confines(),
	}
}

// networked returns the names of the tools whose programs have the machine's network.
func networked(c settings.Config) []string {
	names := commandline.Networked(c.Tools.Commands)
	for _, s := range mcp.Programs(c.MCP.Servers) {
		if s.Network.Whole {
			names = append(names, mcp.Names([]mcp.Server{s})...)
		}
	}
	return names
}

// chosenHosts returns the tools whose programs reach the hosts of a list, with these.
func chosenHosts(c settings.Config) (all []admin.Reach) {
	add := func(n programs.Network, names ...string) {
		if len(n.Hosts) > 0 {
			all = append(all, admin.Reach{Tools: names, Hosts: n.Hosts})
		}
	}
	if c.Bash.Enabled {
		add(c.Bash.Network, shell.Name)
	}
	for _, s := range c.Tools.Commands {
		add(s.Network, s.Name)
	}
	for _, s := range mcp.Programs(c.MCP.Servers) {
		add(s.Network, mcp.Names([]mcp.Server{s})...)
	}
	return all
}

// programTools are the tools of an edition that run programs, and what runs them.
type programTools struct {
	commands []commandline.Spec
	network  programs.Network    // of scripts
	private  []guard.Network     // in which hosts of network may be although they are not public
	runner   shell.Runner        // nil: there are no such tools
	scripts  *policy.Config      // what those of the tool bash are judged by; nil: there is no such tool
	runsIn   string              // what runs programs, as people are told
	clean    *redaction.Redactor // takes secrets out of what programs write
	log      *slog.Logger
}

// newProgramTools lets turns run programs in s, if the agents of c may.
func newProgramTools(c settings.Config, s *sandbox.Sandbox, log *slog.Logger, clean *redaction.Redactor) programTools {
	p := programTools{commands: c.Tools.Commands, network: c.Bash.Network, private: c.Bash.AllowPrivate, clean: clean, log: log}
	if s == nil || !s.Usable() {
		return p
	}
	p.runner, p.runsIn = walls{Sandbox: s, log: log, takesTurns: true, space: max(0, c.Workspaces.MaxBytes)}, "a sandbox of level "+string(s.Level())
	if s.Level() == sandbox.LevelD {
		p.runsIn = "no sandbox: on the gateway's own machine, with all that it may do there"
	}
	if c.Bash.Enabled && lacksShell(c, os.LookupEnv) == nil {
		scripts := c.BashPolicy(s.Level() == sandbox.LevelD)
		p.scripts = &scripts
	}
	return p
}

// commandTools makes the operator's command-line tools; none where nothing can run them.
func (p programTools) commandTools() ([]tools.Tool, error) {
	if p.runner == nil {
		return nil, nil
	}
	return commandline.NewAll(p.commands, commandline.Options{Runner: p.runner, Clean: p.clean, Log: p.log, Where: p.runsIn}) // it names the tool
}

// recordedCommands returns the command-line tools as a recording has them; nil: no agent had
// any.
func (p programTools) recordedCommands() *recording.Commands {
	if p.runner == nil || len(p.commands) == 0 {
		return nil
	}
	c := &recording.Commands{Tools: p.commands, Where: p.runsIn}
	if hasOwnRoot(p.runner) {
		c.Inside = p.runner.Inside("/a")
	}
	return c
}

// warnNetwork names the tools that are not kept from the network.
func (e *edition) warnNetwork() {
	if names := networked(e.cfg); len(names) > 0 {
		e.log.Warn("tools connect to whatever this machine reaches, its own services too", "tools", names)
	}
	for _, r := range chosenHosts(e.cfg) {
		e.log.Info("tools connect to hosts of a list", "tools", r.Tools, "hosts", r.Hosts)
	}
}

// walls runs the programs of tools in a sandbox.
type walls struct {
	*sandbox.Sandbox

	log *slog.Logger // nil: silence
	// takesTurns: the programs are calls, of which only so many run at a time, and no servers.
	takesTurns bool
	space      int64 // bytes that a workspace may take; 0: any number
}

// Run implements [programs.Runner]. What a program is to reach by hosts of a list, it reaches by
// an outlet of its own. Which it was refused stands behind what it wrote to standard error.
func (w walls) Run(ctx context.Context, c shell.Command) (shell.Result, error) {
	if w.takesTurns {
		leave, err := w.Enter(ctx)
		if err != nil {
			return shell.Result{}, err // it is why the call ended
		}
		defer leave()
	}
	cmd := sandbox.Command{
		Args: c.Args, Dir: c.Dir, Workspace: c.Workspace, ReadOnly: c.ReadOnly, Env: c.Env,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Timeout: c.Timeout, Network: c.Network.Whole, Space: w.space,
	}
	if len(c.Network.Hosts) == 0 || c.Network.Whole {
		r, err := w.Sandbox.Run(ctx, cmd)
		return shell.Result(r), err // it says what did not run
	}
	way, err := outlet.New(outlet.Options{Hosts: c.Network.Hosts, Private: c.AllowPrivate, Log: w.log})
	if err != nil {
		return shell.Result{}, err // it names the host
	}
	cmd.Outlet = way.Serve
	r, err := w.Sandbox.Run(ctx, cmd)
	if text := way.Report(); text != "" && c.Stderr != nil {
		if _, writeErr := io.WriteString(c.Stderr, text); err == nil && writeErr != nil {
			err = fmt.Errorf("say which hosts were refused: %w", writeErr)
		}
	}
	return shell.Result(r), err // it says what did not run
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
