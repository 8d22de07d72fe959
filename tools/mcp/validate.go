package mcp

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"parley/problems"
	"parley/tools"
	"parley/tools/programs"
	"parley/tools/web/guard"
)

var (
	// A name has no underscore, so that the two of a tool's name cannot stand anywhere else.
	serverName  = regexp.MustCompile(`^[a-z][a-z0-9-]{0,23}$`)
	serversTool = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,128}$`)
	headerName  = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
)

// ownHeaders are those that the protocol sets.
var ownHeaders = []string{"content-type", "accept", "host", "content-length", "connection", "transfer-encoding", "last-event-id"}

// Validate reports every mistake in a list of servers, as a problems.List with paths as
// mcp.servers[0].tools[1].name, where list is mcp.servers. taken are names that other tools
// have. It opens no file.
func Validate(list string, servers []Server, taken ...string) error {
	var ps problems.List
	var names []string
	for i, s := range servers {
		at := fmt.Sprintf("%s[%d]", list, i)
		switch first := slices.Index(names, s.Name); {
		case s.Name == "":
			ps.Add(at+".name", "%w: what its tools are named after", problems.ErrRequired)
		case !serverName.MatchString(s.Name):
			ps.Add(at+".name", "%q: a name is a lower-case letter, and up to 23 lower-case letters, digits and -", s.Name)
		case first >= 0:
			ps.Add(at+".name", "%s is the name of server %d of this list too: choose another name", s.Name, first+1)
		}
		names = append(names, s.Name)
		s.validate(&ps, at)
		s.validateTools(&ps, at, taken)
	}
	return ps.Err()
}

func (s Server) validate(ps *problems.List, at string) {
	switch {
	case len(s.Command) == 0 && s.URL == "":
		ps.Add(at+".command", "%w: the program and its arguments, each by itself; or url, for a server that is asked over HTTP", problems.ErrRequired)
	case len(s.Command) > 0 && s.URL != "":
		ps.Add(at+".url", "not together with command: a server is a program or a URL")
	case s.URL != "":
		s.validateURL(ps, at)
	default:
		s.validateCommand(ps, at)
	}
	if s.Timeout < 0 {
		ps.Add(at+".timeout", "%s is less than nothing", s.Timeout)
	}
	_, err := tools.ParsePrice(s.Price)
	ps.Check(at+".price", err)
}

// validateCommand reports the mistakes of a server that is a program.
func (s Server) validateCommand(ps *problems.List, at string) {
	if s.Command[0] == "" {
		ps.Add(at+".command[0]", "%w: the program, by its name or its absolute path", problems.ErrRequired)
	}
	for i, arg := range s.Command {
		if strings.ContainsRune(arg, 0) {
			ps.Add(fmt.Sprintf("%s.command[%d]", at, i), "it holds a zero byte, which no argument can")
		}
	}
	if len(s.Headers) > 0 {
		ps.Add(at+".headers", "are for a url, and this server is a program; its env holds what it needs")
	}
	if !s.OAuth.IsZero() {
		ps.Add(at+".oauth", "is for a url, and this server is a program; its env holds what it needs")
	}
	s.Network.Check(ps, at, s.AllowPrivate)
	for _, v := range s.Env {
		ps.Check(at+".env."+v.Name, v.Check())
	}
	for i, p := range s.ReadOnly {
		ps.Check(fmt.Sprintf("%s.read_only[%d]", at, i), programs.CheckReadOnly(p))
	}
}

// validateURL reports the mistakes of a server that is asked over HTTP.
func (s Server) validateURL(ps *problems.List, at string) {
	for key, given := range map[string]bool{"env": len(s.Env) > 0, "read_only": len(s.ReadOnly) > 0, "network": !s.Network.IsZero()} {
		if given {
			ps.Add(at+"."+key, "is for a command, and this server is a url")
		}
	}
	for i, n := range s.AllowPrivate {
		ps.Check(fmt.Sprintf("%s.allow_private[%d]", at, i), n.Validate())
	}
	if g, err := guard.New(guard.Options{Private: s.AllowPrivate}); err == nil { // else that is said
		u, err := g.Parse(s.URL)
		switch {
		case err != nil:
			ps.Add(at+".url", "%w; ports other than 80 and 443 are for allow_private", err)
		case u.Scheme == "http" && len(s.AllowPrivate) == 0:
			ps.Add(at+".url", "http is for a server in a network of allow_private; over the internet it has to be https")
		}
	}
	s.OAuth.Validate(ps, at+".oauth")
	if !s.OAuth.IsZero() && s.hasToken() {
		ps.Add(at+".oauth", "not together with the header authorization, which holds a token already")
	}
	for _, v := range s.Headers {
		switch {
		case !headerName.MatchString(v.Name):
			ps.Add(at+".headers."+v.Name, "a header's name is letters, digits and -")
		case slices.Contains(ownHeaders, strings.ToLower(v.Name)), strings.HasPrefix(strings.ToLower(v.Name), "mcp-"):
			ps.Add(at+".headers."+v.Name, "the protocol sets this header itself")
		case strings.ContainsAny(v.Value, "\r\n\x00"):
			ps.Add(at+".headers."+v.Name, "the value holds a line end or a zero byte, which no header can")
		}
	}
}

func (s Server) validateTools(ps *problems.List, at string, taken []string) {
	if len(s.Tools) == 0 {
		ps.Add(at+".tools", "%w: the tools that agents may have of this server; parley mcp ls shows what it has", problems.ErrRequired)
	}
	var names []string
	for i, t := range s.Tools {
		where := fmt.Sprintf("%s.tools[%d]", at, i)
		switch {
		case t.Name == "":
			ps.Add(where+".name", "%w: what the server calls the tool", problems.ErrRequired)
		case !serversTool.MatchString(t.Name):
			ps.Add(where+".name", "%q: a tool's name is 1 to 128 letters, digits, _, -, . and /", t.Name)
		case slices.Contains(names, t.Name):
			ps.Add(where+".name", "%s stands in this list twice", t.Name)
		case slices.Contains(taken, ToolName(s.Name, t.Name)):
			ps.Add(where+".name", "another tool is named %s: give the server another name", ToolName(s.Name, t.Name))
		}
		names = append(names, t.Name)
		if !slices.Contains([]tools.Category{"", tools.Read, tools.Write, tools.Admin}, t.Category) {
			ps.Add(where+".category", "%q is none of read, write, admin%s", t.Category, tools.Suggest(string(t.Category), []string{"read", "write", "admin"}))
		}
		_, err := tools.ParsePrice(t.Price)
		ps.Check(where+".price", err)
	}
}

// Where says to people what a server is: its program, or the host of its URL. Some servers have a
// key in the path.
func (s Server) Where() string {
	if s.URL == "" {
		if s.Program.Path != "" {
			return s.Program.Path
		}
		return strings.Join(s.Command[:min(len(s.Command), 1)], "")
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return "a URL"
	}
	return u.Scheme + "://" + u.Host
}

// environment returns variables as a program gets them.
func environment(vs []programs.Variable) (env []string) {
	for _, v := range vs {
		env = append(env, v.Name+"="+v.Value)
	}
	return env
}
