package subagents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/costs"
	"parley/problems"
	"parley/sessionkeys"
	"parley/tools/skills"
)

// Config is what sub-agents may do and how many there may be. The zero value of
// a field means its default.
type Config struct {
	// MaxDepth is how deep children may go: 1, children; 2, also children of
	// children; up to 5. -1: there are none. Default 2.
	MaxDepth int `yaml:"max_depth" json:"max_depth,omitempty"`
	// MaxChildren is how many children one turn may start itself. Default 5.
	MaxChildren int `yaml:"max_children" json:"max_children,omitempty"`
	// MaxSpawns is how many children one message of a person may lead to, at all
	// depths. Default 32.
	MaxSpawns int `yaml:"max_spawns" json:"max_spawns,omitempty"`
	// MaxConcurrent is how many children run at once in this process; further
	// ones wait. Default 8.
	MaxConcurrent int `yaml:"max_concurrent" json:"max_concurrent,omitempty"`
	// MaxIterations is how many model calls a child has, 1 to 200. Default 20.
	MaxIterations int `yaml:"max_iterations" json:"max_iterations,omitempty"`
	// Timeout is the longest a child may take, at most an hour; the time while
	// no worker had it, after a crash, counts too. The turn it is nested in may
	// leave it less. Default 15m.
	Timeout time.Duration `yaml:"timeout" json:"timeout,omitempty"`
	// MaxCostUSD is the most that a child and all below it may cost, as "0.50".
	// Default: nothing but the limits above it.
	MaxCostUSD string `yaml:"max_cost_usd" json:"max_cost_usd,omitempty"`
	// Tools are the tools that a child has, as far as its parent has them.
	// Default: what looks around, and what children of children need. An empty
	// list is none.
	Tools []string `yaml:"tools" json:"tools"`
	// Deny takes tools away from every child, whatever else is said.
	Deny []string `yaml:"deny" json:"deny,omitempty"`
	// AlsoAllow gives children tools that they are else always denied, where
	// Tools names them too.
	AlsoAllow []string `yaml:"also_allow" json:"also_allow,omitempty"`
	// Agents are the agents that a child may run as besides its parent's own.
	// Default: none.
	Agents []string `yaml:"agents" json:"agents,omitempty"`
}

// Defaults fills in what is zero.
func (c Config) Defaults() Config {
	c.MaxDepth = cmp.Or(c.MaxDepth, 2)
	c.MaxChildren = cmp.Or(c.MaxChildren, 5)
	c.MaxSpawns = cmp.Or(c.MaxSpawns, 32)
	c.MaxConcurrent = cmp.Or(c.MaxConcurrent, 8)
	c.MaxIterations = cmp.Or(c.MaxIterations, 20)
	c.Timeout = cmp.Or(c.Timeout, 15*time.Minute)
	if c.Tools == nil {
		c.Tools = []string{
			"read_file", "list_directory", "glob", "grep", "view", skills.ToolName, SpawnName, "sessions_list", "sessions_history", "read_output",
		}
	}
	return c
}

// Validate reports what cannot work, all of it, joined. It is asked after Defaults.
func (c Config) Validate() error {
	var ps problems.List
	within := func(name string, n, minimum, limit int) {
		if n < minimum || n > limit {
			ps.Add(name, "%d is not %d to %d", n, minimum, limit)
		}
	}
	if c.MaxDepth != -1 {
		within("max_depth", c.MaxDepth, 1, 5)
	}
	within("max_children", c.MaxChildren, 1, 20)
	within("max_spawns", c.MaxSpawns, 1, 256)
	within("max_concurrent", c.MaxConcurrent, 1, 1024)
	within("max_iterations", c.MaxIterations, 1, 200)
	if c.Timeout < time.Second || c.Timeout > time.Hour {
		ps.Add("timeout", "%s is not 1s to 1h", c.Timeout)
	}
	if limit, err := c.maxCost(); err != nil {
		ps.Add("max_cost_usd", "%w", err)
	} else if limit <= 0 && c.MaxCostUSD != "" {
		ps.Add("max_cost_usd", "not more than zero; max_depth: -1 switches sub-agents off")
	}
	for i, name := range c.AlsoAllow {
		switch {
		case slices.Contains(sending, name):
			ps.Add(fmt.Sprintf("also_allow[%d]", i), "no sub-agent ever has %s: what it finds goes to who asked", name)
		case !slices.Contains(always, name):
			ps.Add(fmt.Sprintf("also_allow[%d]", i), "%q is not denied; denied are %s", name, strings.Join(always, ", "))
		}
	}
	for i, name := range c.Agents {
		if err := sessionkeys.CheckAgent(name); err != nil {
			ps.Add(fmt.Sprintf("agents[%d]", i), "%w", err)
		}
	}
	return ps.Err()
}

// maxCost returns MaxCostUSD; 0: no limit.
func (c Config) maxCost() (costs.Amount, error) {
	if c.MaxCostUSD == "" {
		return 0, nil
	}
	return costs.ParseAmount(c.MaxCostUSD)
}
