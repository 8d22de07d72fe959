package settings

import (
	"fmt"
	"slices"
	"strings"

	"parley/problems"
	"parley/subagents"
	"parley/subagents/overview"
	"parley/tools/files"
	"parley/tools/skills"
	"parley/tools/web"
)

// ToolNames returns the built-in tools an agent may have, in the order in which a
// model sees them.
func ToolNames() []string {
	return append(append([]string{
		"read_file", "list_directory", "glob", "grep", "view", "write_file", "edit_file", "delete_file", files.SendName,
	}, overview.Names()...), subagents.SpawnName, subagents.SendName, skills.ToolName, bashName, web.FetchName, web.SearchName)
}

// validateToolsThatAreOff reports tools that agents name and that nobody has turned on.
func (c Config) validateToolsThatAreOff(ps *problems.List) {
	off := map[string]string{bashName: "bash.enabled: true", web.FetchName: "web.fetch.enabled: true", web.SearchName: "web.search.kind"}
	for name, is := range map[string]bool{bashName: c.Bash.Enabled, web.FetchName: c.Web.Fetch.Enabled, web.SearchName: c.Web.Search.Enabled()} {
		if is {
			delete(off, name)
		}
	}
	check := func(path string, names []string) {
		for i, name := range names {
			if how, ok := off[name]; ok {
				ps.Add(fmt.Sprintf("%s[%d]", path, i), "the tool %s is off; %s gives it to the agents that name it", name, how)
			}
		}
	}
	for name, a := range c.Agents {
		check("agents."+name+".tools", a.Tools)
	}
	check("subagents.tools", c.Subagents.Tools)
}

// PrivatePaths returns the absolute paths of what no tool of an agent reaches, because it is
// the gateway's own: its state, its configuration, and the files of its secrets.
func (c Config) PrivatePaths() []string {
	all := append([]string{c.StateDir}, c.ReadFrom...)
	all = append(all, c.Broker.CredentialsFile, c.Broker.TokenFile, c.Store.Redis.PasswordFile, c.Webhooks.KeyFile)
	return slices.DeleteFunc(all, func(path string) bool { return path == "" })
}

// validateSubagents holds what is said of sub-agents to the agents and tools
// that there are.
func (c Config) validateSubagents(ps *problems.List) {
	s := c.Subagents
	ps.Check("subagents", s.Validate())
	for key, names := range map[string][]string{"tools": s.Tools, "deny": s.Deny} {
		for i, name := range names {
			if !slices.Contains(ToolNames(), name) {
				ps.Add(fmt.Sprintf("subagents.%s[%d]", key, i), "no tool %q; there are %s", name, strings.Join(ToolNames(), ", "))
			}
		}
	}
	for i, name := range s.Agents {
		if _, ok := c.Agents[name]; !ok {
			ps.Add(fmt.Sprintf("subagents.agents[%d]", i), "no agent %q; %s", name, have(c.Agents))
		}
	}
}
