package gateway

import (
	"fmt"

	"parley/gateway/recording"
	"parley/tools"
	"parley/tools/shell"
	"parley/tools/shell/policy"
)

// bashTool makes the tool bash; none where there is no shell.
func (p programTools) bashTool() ([]tools.Tool, error) {
	if p.scripts == nil {
		return nil, nil
	}
	judge, err := policy.New(*p.scripts)
	if err != nil {
		return nil, fmt.Errorf("make the policy of the tool bash: %w", err)
	}
	var scratch []string
	if hasOwnRoot(p.runner) {
		scratch = []string{"/tmp"}
	}
	t, err := shell.New(shell.Options{Runner: p.runner, Policy: judge, Scratch: scratch, Where: p.runsIn, Clean: p.clean, Network: p.network, AllowPrivate: p.private})
	if err != nil {
		return nil, err
	}
	return []tools.Tool{t}, nil
}

// folderTool makes the tool by which agents choose where commands begin; none where they can run
// none.
func (p programTools) folderTool() ([]tools.Tool, error) {
	if p.runner == nil || p.scripts == nil && len(p.commands) == 0 {
		return nil, nil
	}
	t, err := shell.NewFolder(p.runner)
	if err != nil {
		return nil, err // it names the tool
	}
	return []tools.Tool{t}, nil
}

// recordedShell returns the tool bash as a recording has it; nil: no agent had it.
func (p programTools) recordedShell() *recording.Bash {
	if p.scripts == nil {
		return nil
	}
	b := &recording.Bash{Policy: *p.scripts, Where: p.runsIn, Network: p.network}
	if hasOwnRoot(p.runner) {
		b.Inside = p.runner.Inside("/a")
	}
	return b
}

// hasOwnRoot reports whether programs of r have a root folder of their own, with the
// workspace at one place for all and a /tmp that nobody else sees.
func hasOwnRoot(r shell.Runner) bool { return r.Inside("/a") != "/a" }
