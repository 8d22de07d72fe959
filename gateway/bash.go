package gateway

import (
	"fmt"

	"parley/gateway/recording"
	"parley/tools"
	"parley/tools/shell"
	"parley/tools/shell/policy"
)

// bashTool makes the tool bash; none where e has no shell.
func (e *edition) bashTool() ([]tools.Tool, error) {
	if e.scripts == nil {
		return nil, nil
	}
	p, err := policy.New(*e.scripts)
	if err != nil {
		return nil, fmt.Errorf("make the policy of the tool bash: %w", err)
	}
	var scratch []string
	if hasOwnRoot(e.runner) {
		scratch = []string{"/tmp"}
	}
	t, err := shell.New(shell.Options{Runner: e.runner, Policy: p, Scratch: scratch, Where: e.runsIn, Clean: e.clean, Network: e.cfg.Bash.Network, AllowPrivate: e.cfg.Bash.AllowPrivate})
	if err != nil {
		return nil, err
	}
	return []tools.Tool{t}, nil
}

// folderTool makes the tool by which agents choose where commands begin; none where they can run
// none.
func (e *edition) folderTool() ([]tools.Tool, error) {
	if e.runner == nil || e.scripts == nil && len(e.cfg.Tools.Commands) == 0 {
		return nil, nil
	}
	t, err := shell.NewFolder(e.runner)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the tool
	}
	return []tools.Tool{t}, nil
}

// recordedShell returns the tool bash as a recording has it; nil: no agent had it.
func (e *edition) recordedShell() *recording.Bash {
	if e.scripts == nil {
		return nil
	}
	b := &recording.Bash{Policy: *e.scripts, Where: e.runsIn, Network: e.cfg.Bash.Network}
	if hasOwnRoot(e.runner) {
		b.Inside = e.runner.Inside("/a")
	}
	return b
}

// hasOwnRoot reports whether programs of r have a root folder of their own, with the
// workspace at one place for all and a /tmp that nobody else sees.
func hasOwnRoot(r shell.Runner) bool { return r.Inside("/a") != "/a" }
