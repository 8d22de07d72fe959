package settings

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"parley/costs"
	"parley/gateway/errands"
	"parley/problems"
	"parley/subagents"
	"parley/subagents/overview"
	"parley/tools"
	"parley/tools/commandline"
	"parley/tools/files"
	"parley/tools/mcp"
	"parley/tools/skills"
	"parley/tools/web"
)

// ToolsConfig is the operator's own tools.
type ToolsConfig struct {
	// File describes command-line tools; see package commandline.
	File string `yaml:"file"`
	// Commands are those tools, as they were read from File. Unread says that File could not
	// be read: any name may be that of one.
	Commands []commandline.Spec
	Unread   bool
}

// ProgramTools returns the names of the tools that run programs.
func (c Config) ProgramTools() []string {
	names := append(commandline.Names(c.Tools.Commands), mcp.Names(mcp.Programs(c.MCP.Servers))...)
	if c.Bash.Enabled {
		names = append([]string{bashName}, names...)
	}
	return names
}

// BuiltinNames returns the names that no tool of the operator's may have.
func BuiltinNames() []string { return append(ToolNames(), tools.DoneName) }

// CommandsPath is the path of the mistakes in ToolsConfig.Commands.
const CommandsPath = "tools.commands"

// ToolNames returns all tools that an agent may have, in the order in which a model sees them.
func (c Config) ToolNames() []string {
	return append(append(ToolNames(), commandline.Names(c.Tools.Commands)...), mcp.Names(c.MCP.Servers)...)
}

// ToolPrices returns what a call costs of the tools that have a price, by their names. c is
// one that Validate accepts.
func (c Config) ToolPrices() map[string]costs.Amount {
	prices := map[string]costs.Amount{}
	add := func(name, text string) {
		if a, err := tools.ParsePrice(text); err == nil && a > 0 {
			prices[name] = a
		}
	}
	add(web.SearchName, c.Web.Search.Price)
	for _, s := range c.Tools.Commands {
		add(s.Name, s.Price)
	}
	for _, s := range c.MCP.Servers {
		for _, t := range s.Tools {
			add(mcp.ToolName(s.Name, t.Name), cmp.Or(t.Price, s.Price))
		}
	}
	return prices
}

// checkPrice reports what is wrong with the price of a tool.
func checkPrice(ps *problems.List, path, text string) {
	_, err := tools.ParsePrice(text)
	ps.Check(path, err)
}

// checkToolName returns what is wrong with the name of a tool in a list; nil: nothing.
func (c Config) checkToolName(name string) error {
	if names := c.ToolNames(); !slices.Contains(names, name) && !c.Tools.Unread {
		return fmt.Errorf("no tool %q%s", name, haveNames(name, names)) // the text is for the operator
	}
	return nil
}

// validateTools reports the mistakes in the operator's own tools.
func validateTools(c Config, ps *problems.List) {
	ps.Check("", commandline.Validate(CommandsPath, c.Tools.Commands, BuiltinNames()...))
	for i, s := range c.Tools.Commands {
		at := fmt.Sprintf("%s[%d]", CommandsPath, i)
		validateProgram(c.StateDir, ps, at+".cmd", s.Program.Path, s.Program.Real)
		validateReadOnly(c, ps, at, s.ReadOnly)
		validateNetwork(c.Sandbox, ps, at, s.Network)
	}
}

// ToolNames returns the built-in tools an agent may have, in the order in which a
// model sees them.
func ToolNames() []string {
	return append(append([]string{
		"read_file", "list_directory", "glob", "grep", "view", "write_file", "edit_file", "delete_file", files.SendName,
	}, overview.Names()...), subagents.SpawnName, subagents.SendName, skills.ToolName, bashName, folderName, web.FetchName, web.SearchName, errands.ToolName)
}

// validateToolsThatAreOff reports tools that agents name and that nobody has turned on.
func validateToolsThatAreOff(c Config, ps *problems.List) {
	off := map[string]string{bashName: "bash.enabled: true", folderName: "bash.enabled: true", web.FetchName: "web.fetch.enabled: true", web.SearchName: "web.search.kind", errands.ToolName: "cron.people.enabled: true"}
	for name, is := range map[string]bool{bashName: c.Bash.Enabled, folderName: len(c.ProgramTools()) > 0 || c.Tools.Unread, web.FetchName: c.Web.Fetch.Enabled, web.SearchName: c.Web.Search.Enabled(), errands.ToolName: c.Cron.People.Enabled} {
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
// the gateway's own: its state, its configuration, the files of its secrets, and the keys of
// its accounts.
func (c Config) PrivatePaths() []string {
	all := append([]string{c.StateDir}, c.ReadFrom...)
	for _, s := range c.MCP.Servers {
		all = append(all, s.OAuth.Files()...)
	}
	for _, a := range c.Accounts() {
		if filepath.IsAbs(a.Private) {
			all = append(all, a.Private)
		}
	}
	all = append(all, c.MCP.Logins, c.Broker.CredentialsFile, c.Broker.TokenFile, c.Store.Redis.PasswordFile, c.Webhooks.KeyFile)
	return slices.DeleteFunc(all, func(path string) bool { return path == "" })
}

// validateSubagents holds what is said of sub-agents to the agents and tools
// that there are.
func validateSubagents(c Config, ps *problems.List) {
	s := c.Subagents
	ps.Check("subagents", s.Validate())
	for key, names := range map[string][]string{"tools": s.Tools, "deny": s.Deny} {
		for i, name := range names {
			ps.Check(fmt.Sprintf("subagents.%s[%d]", key, i), c.checkToolName(name))
		}
	}
	for i, name := range s.Agents {
		if _, ok := c.Agents[name]; !ok {
			ps.Add(fmt.Sprintf("subagents.agents[%d]", i), "no agent %q%s", name, have(name, c.Agents))
		}
	}
}
