// Package mcp gives agents the tools of servers that speak the Model Context Protocol.
//
//	Host ─ server ─ session ── stdio ── Runner ── program behind walls
//	         │                └─ HTTP ── guard ── a URL
//	         └ definitions: listed by the server, consented to by the operator
//
// A server is a program that a [Host] starts once, or a URL. The operator names each tool that
// agents may have, with its category; what a server says of itself decides nothing. How a tool
// is described is the server's word, so it is shown to a model only as the operator has read
// it: after a change the tool is not offered until the operator consents again. See
// docs/decisions/0086.
package mcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"time"

	"parley/tools"
	"parley/tools/mcp/oauth"
	"parley/tools/programs"
	"parley/tools/web/guard"
)

// Server is one server as its operator describes it: a Command or a URL.
type Server struct {
	Name string `yaml:"name"`
	// Command is a program, by its absolute path or a name that is looked up on PATH, and its
	// arguments. It speaks MCP on its standard input and output.
	Command []string `yaml:"command"`
	// Env are variables of the program, on top of those that every program gets (H02).
	Env []programs.Variable `yaml:"env"`
	// ReadOnly are absolute paths of files and folders that the program may read, besides the
	// system's own.
	ReadOnly []string `yaml:"read_only"`
	// Network is where the program may connect to.
	Network programs.Network `yaml:"network"`

	// URL is where a server speaks MCP over streamable HTTP.
	URL string `yaml:"url"`
	// Headers are sent with each request to URL.
	Headers []programs.Variable `yaml:"headers"`
	// OAuth is how parley logs in at the server, if that asks for it.
	OAuth oauth.Config `yaml:"oauth"`
	// AllowPrivate are networks in which URL and its authorization server, or hosts of Network, may
	// be, although they are not public.
	AllowPrivate []guard.Network `yaml:"allow_private"`

	// Timeout is how long a call may take; 0: as long as other tools of the agent.
	Timeout time.Duration `yaml:"timeout"`
	// Price is what one call costs of each tool that has no price of its own, in dollars;
	// empty: nothing.
	Price string `yaml:"price"`
	// Tools are those that agents may have. No others are offered.
	Tools []ToolConfig `yaml:"tools"`

	// Program is what Command[0] was when the configuration was read; zero: nobody has looked.
	Program programs.Program
}

// ToolConfig is what the operator says of one tool of a server.
type ToolConfig struct {
	Name string `yaml:"name"` // as the server calls it
	// Category is what a call does; empty: tools.Admin, so a person decides each time.
	Category tools.Category `yaml:"category"`
	// Idempotent says that a call may be made again when nobody knows what became of it.
	Idempotent bool `yaml:"idempotent"`
	// Price is what one call costs, in dollars; empty: as the server's.
	Price string `yaml:"price"`
}

func (c ToolConfig) category() tools.Category { return cmp.Or(c.Category, tools.Admin) }

// Programs returns those of servers that are programs, in order.
func Programs(servers []Server) []Server {
	return slices.DeleteFunc(slices.Clone(servers), func(s Server) bool { return len(s.Command) == 0 })
}

// Names returns the names by which agents have the tools of servers, in order.
func Names(servers []Server) (names []string) {
	for _, s := range servers {
		for _, t := range s.Tools {
			names = append(names, ToolName(s.Name, t.Name))
		}
	}
	return names
}

// Secrets returns what no output may show.
func Secrets(servers []Server) (all []string) {
	for _, s := range servers {
		for _, v := range slices.Concat(s.Env, s.Headers) {
			all = append(all, v.Secrets...)
		}
	}
	return all
}

// longestName is how long a name may be that all providers take.
const longestName = 64

var unfitForName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// ToolName returns the name by which agents have a tool of a server: the server's name, two
// underscores, the tool's name. A tool whose name does not fit that gets a mark of its own
// behind it, so that two tools never share a name.
func ToolName(server, tool string) string {
	name := server + "__" + unfitForName.ReplaceAllString(tool, "_")
	if name == server+"__"+tool && len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(tool))
	mark := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), longestName-len(mark))] + mark
}
