package settings

import (
	"slices"

	"parley/problems"
	shellpolicy "parley/tools/shell/policy"
)

// bashName is that of the tool bash, which is shell.Name.
const bashName = "bash"

// BashConfig is the tool bash. Its programs run behind the walls of Config.Sandbox.
type BashConfig struct {
	// Enabled gives the tool to the agents whose tools name it, or name none. Whoever may
	// talk to such an agent has a shell in the conversation's workspace.
	Enabled bool `yaml:"enabled"`
	// Denied are further names of commands that never run.
	Denied []string `yaml:"denied"`
	// Read and Write are further names of commands that run without a person's approval:
	// such as only look, and such as change the workspace.
	Read  []string `yaml:"read"`
	Write []string `yaml:"write"`
}

// BashPolicy returns what scripts are judged by; exposed says that they run without walls.
func (c Config) BashPolicy(exposed bool) shellpolicy.Config {
	p := c.Bash.policy()
	p.DeniedPaths, p.Trusted, p.Exposed = slices.Concat(c.Files.Denied, c.PrivatePaths()), c.Files.Trusted, exposed
	return p
}

func (c BashConfig) policy() shellpolicy.Config {
	return shellpolicy.Config{Denied: c.Denied, Read: c.Read, Write: c.Write}
}

// validateBash reports the mistakes in who has a shell, and behind which walls.
func (c Config) validateBash(ps *problems.List) {
	ps.Check("bash", c.Bash.policy().Validate())
	ps.Check("sandbox", c.Sandbox.Validate())
}
