package settings

import (
	"maps"
	"slices"
	"strings"

	"parley/problems"
	"parley/tools/programs"
	"parley/tools/sandbox"
	shellpolicy "parley/tools/shell/policy"
	"parley/tools/web/guard"
)

// bashName is that of the tool bash, which is shell.Name.
const bashName = "bash"

// folderName is that of the tool by which agents choose where commands begin: shell.FolderName.
const folderName = "set_working_directory"

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
	// Environment are variables of scripts, by their names. Whatever a script prints the model
	// reads, so no secret belongs here. They hold for a turn from its beginning. (AF01)
	Environment map[string]string `yaml:"environment"`
	// Network is the hosts that scripts may connect to.
	Network programs.Network `yaml:"network"`
	// AllowPrivate are networks in which hosts of Network may be although they are not public.
	AllowPrivate []guard.Network `yaml:"allow_private"`
}

// Variables returns Environment as NAME=value, sorted.
func (c BashConfig) Variables() []string {
	all := make([]string, 0, len(c.Environment))
	for _, name := range slices.Sorted(maps.Keys(c.Environment)) {
		all = append(all, name+"="+c.Environment[name])
	}
	return all
}

// BashPolicy returns what scripts are judged by; exposed says that they run without walls.
func (c Config) BashPolicy(exposed bool) shellpolicy.Config {
	p := c.Bash.policy()
	p.DeniedPaths, p.Trusted, p.Exposed = slices.Concat(c.Files.Denied, c.PrivatePaths()), c.Files.Trusted, exposed
	p.Networked = !c.Bash.Network.IsZero()
	return p
}

func (c BashConfig) policy() shellpolicy.Config {
	return shellpolicy.Config{Denied: c.Denied, Read: c.Read, Write: c.Write}
}

// validate reports the mistakes in who has a shell, and behind which walls.
func (c BashConfig) validate(walls sandbox.Config, ps *problems.List) {
	ps.Check("bash", c.policy().Validate())
	for _, name := range slices.Sorted(maps.Keys(c.Environment)) {
		switch at := "bash.environment." + name; {
		case shellpolicy.Steers(name):
			ps.Add(at, "the variable decides which programs run or what they load, or is none: scripts are judged by what they mean without it")
		case strings.ContainsRune(c.Environment[name], 0):
			ps.Add(at, "the value holds a zero byte, which no environment can")
		}
	}
	if c.Network.Whole {
		ps.Add("bash.network", `it would be this machine's, its own services too, for whatever a model writes: list the hosts that scripts need, or ["*"] for all of the public internet`)
	}
	c.Network.Check(ps, "bash", c.AllowPrivate)
	if c.Enabled {
		validateNetwork(walls, ps, "bash", c.Network)
	}
	ps.Check("sandbox", walls.Validate())
}

// validateNetwork reports hosts that nothing would keep a program to.
func validateNetwork(walls sandbox.Config, ps *problems.List, at string, n programs.Network) {
	if len(n.Hosts) > 0 && walls.Mode == sandbox.ModeUnsafeHost {
		ps.Add(at+".network", "a list of hosts is kept to in a sandbox only, and sandbox.mode is %s: the program would not run", sandbox.ModeUnsafeHost)
	}
}
