package settings

import (
	"cmp"
	"fmt"
	"path/filepath"

	"parley/gateway/inquiries"
	"parley/problems"
	"parley/tools/commandline"
	"parley/tools/mcp"
)

// MCPConfig is the servers whose tools agents may have, and what parley itself serves.
type MCPConfig struct {
	Servers []mcp.Server `yaml:"servers"`
	// Logins is the folder in which logins at servers are kept; empty: logins in the state folder.
	Logins string `yaml:"logins"`
	// Serve is what programs may ask people, by parley mcp serve.
	Serve inquiries.Config `yaml:"serve"`
}

// LoginsDir returns the folder in which logins at MCP servers are kept.
func (c Config) LoginsDir() string {
	return cmp.Or(c.MCP.Logins, filepath.Join(c.StateDir, "logins"))
}

// serversPath is the path of the mistakes in MCPConfig.Servers.
const serversPath = "mcp.servers"

// validateServers reports the mistakes in what is said of MCP servers.
func validateServers(c Config, ps *problems.List) {
	ps.Check("", mcp.Validate(serversPath, c.MCP.Servers, append(BuiltinNames(), commandline.Names(c.Tools.Commands)...)...))
	if c.MCP.Logins != "" && !filepath.IsAbs(c.MCP.Logins) {
		ps.Add("mcp.logins", "%s is not an absolute path", c.MCP.Logins)
	}
	for i, s := range c.MCP.Servers {
		at := fmt.Sprintf("%s[%d]", serversPath, i)
		validateProgram(c.StateDir, ps, at+".command[0]", s.Program.Path, s.Program.Real)
		validateReadOnly(c, ps, at, s.ReadOnly)
		validateNetwork(c.Sandbox, ps, at, s.Network)
	}
}

// validateProgram reports a program that agents could change.
func validateProgram(stateDir string, ps *problems.List, at string, paths ...string) {
	for _, path := range paths {
		if path != "" && IsBelow(filepath.Clean(stateDir), path) {
			ps.Add(at, "%s lies in the state folder %s, where agents write: a program must not be theirs", path, stateDir)
			return
		}
	}
}

// validateReadOnly reports paths given to a program that are the gateway's own.
func validateReadOnly(c Config, ps *problems.List, at string, paths []string) {
	for n, path := range paths {
		for _, private := range c.PrivatePaths() {
			if Overlap(filepath.Clean(path), filepath.Clean(private)) {
				ps.Add(fmt.Sprintf("%s.read_only[%d]", at, n), "%s and %s lie in each other, which is the gateway's own", path, private)
				break
			}
		}
	}
}
