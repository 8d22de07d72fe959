package mcp_test

import (
	"strings"
	"testing"

	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/mcp/oauth"
	"parley/tools/programs"
	"parley/tools/web/guard"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	good := func() mcp.Server {
		return mcp.Server{Name: "notes", Command: []string{"notes-mcp"}, Tools: []mcp.ToolConfig{{Name: "search", Category: tools.Read}}}
	}
	remote := func() mcp.Server {
		return mcp.Server{Name: "notes", URL: "https://mcp.example.org/v1", Tools: []mcp.ToolConfig{{Name: "search"}}}
	}
	for name, c := range map[string]struct {
		of     func() mcp.Server
		change func(*mcp.Server)
		want   string // "": nothing is wrong
	}{
		"a program":            {good, func(*mcp.Server) {}, ""},
		"a URL":                {remote, func(*mcp.Server) {}, ""},
		"no name":              {good, func(s *mcp.Server) { s.Name = "" }, "servers[0].name: required: what its tools are named after"},
		"a name with _":        {good, func(s *mcp.Server) { s.Name = "my_notes" }, `servers[0].name: "my_notes": a name is a lower-case letter`},
		"nothing":              {good, func(s *mcp.Server) { s.Command = nil }, "servers[0].command: required"},
		"both":                 {good, func(s *mcp.Server) { s.URL = "https://mcp.example.org" }, "servers[0].url: not together with command"},
		"no tools":             {good, func(s *mcp.Server) { s.Tools = nil }, "servers[0].tools: required: the tools that agents may have of this server; parley mcp ls"},
		"a tool twice":         {good, func(s *mcp.Server) { s.Tools = append(s.Tools, s.Tools[0]) }, "servers[0].tools[1].name: search stands in this list twice"},
		"a taken name":         {good, func(s *mcp.Server) { s.Tools[0].Name = "taken" }, "servers[0].tools[0].name: another tool is named notes__taken"},
		"a category":           {good, func(s *mcp.Server) { s.Tools[0].Category = "safe" }, `servers[0].tools[0].category: "safe" is none of read, write, admin`},
		"a zero byte":          {good, func(s *mcp.Server) { s.Command = append(s.Command, "a\x00b") }, "servers[0].command[1]: it holds a zero byte"},
		"a relative folder":    {good, func(s *mcp.Server) { s.ReadOnly = []string{"data"} }, `servers[0].read_only[0]: "data" is not an absolute path`},
		"the whole machine":    {good, func(s *mcp.Server) { s.ReadOnly = []string{"/"} }, "servers[0].read_only[0]: / is the whole machine"},
		"headers of a program": {good, func(s *mcp.Server) { s.Headers = []programs.Variable{{Name: "a"}} }, "servers[0].headers: are for a url"},
		"a variable":           {good, func(s *mcp.Server) { s.Env = []programs.Variable{{Name: "A-B"}} }, "servers[0].env.A-B: a variable's name is"},
		"network of a URL":     {remote, func(s *mcp.Server) { s.Network = programs.Network{Whole: true} }, "servers[0].network: is for a command"},
		"hosts of a URL":       {remote, func(s *mcp.Server) { s.Network = programs.Network{Hosts: []string{"a.example.org"}} }, "servers[0].network: is for a command"},
		"hosts": {good, func(s *mcp.Server) {
			s.Network, s.AllowPrivate = programs.Network{Hosts: []string{"a.example.org:8443"}}, []guard.Network{{CIDR: "192.168.7.5/32", Ports: []int{8443}}}
		}, ""},
		"no host":              {good, func(s *mcp.Server) { s.Network.Hosts = []string{"https://a.example.org"} }, `servers[0].network[0]: "https://a.example.org" is neither a host`},
		"private for no hosts": {good, func(s *mcp.Server) { s.AllowPrivate = []guard.Network{{CIDR: "192.168.7.5/32"}} }, "servers[0].allow_private: is for hosts that network lists"},
		"plain http":           {remote, func(s *mcp.Server) { s.URL = "http://mcp.example.org" }, "servers[0].url: http is for a server in a network of allow_private"},
		"plain http inside": {remote, func(s *mcp.Server) {
			s.URL, s.AllowPrivate = "http://192.168.7.5:8080/mcp", []guard.Network{{CIDR: "192.168.7.5/32", Ports: []int{8080}}}
		}, ""},
		"a port":           {remote, func(s *mcp.Server) { s.URL = "https://mcp.example.org:8443" }, "servers[0].url: that port is not asked"},
		"no URL":           {remote, func(s *mcp.Server) { s.URL = "mcp.example.org" }, "servers[0].url: it is not a URL"},
		"a public network": {remote, func(s *mcp.Server) { s.AllowPrivate = []guard.Network{{CIDR: "8.0.0.0/8"}} }, "servers[0].allow_private[0].cidr: 8.0.0.0/8 is not inside"},
		"an own header":    {remote, func(s *mcp.Server) { s.Headers = []programs.Variable{{Name: "mcp-session-id"}} }, "servers[0].headers.mcp-session-id: the protocol sets this header itself"},
		"a header in a header": {remote, func(s *mcp.Server) {
			s.Headers = []programs.Variable{{Name: "x-key", Value: "a\r\nx-other: b"}}
		}, "servers[0].headers.x-key: the value holds a line end"},
		"a login": {remote, func(s *mcp.Server) {
			s.OAuth = oauth.Config{ClientID: "a", ClientSecretFile: "/secret", Issuer: "https://auth.example.org", Redirect: "http://127.0.0.1:8477/callback", Scopes: []string{"a:b"}}
		}, ""},
		"a login of a program": {good, func(s *mcp.Server) { s.OAuth.ClientID = "a" }, "servers[0].oauth: is for a url"},
		"a login with a token": {remote, func(s *mcp.Server) {
			s.OAuth.ClientID, s.Headers = "a", []programs.Variable{{Name: "Authorization", Value: "Bearer x"}}
		}, "servers[0].oauth: not together with the header authorization"},
		"a grant":                {remote, func(s *mcp.Server) { s.OAuth.Grant = "password" }, `servers[0].oauth.grant: "password" is none of`},
		"nobody who logs in":     {remote, func(s *mcp.Server) { s.OAuth.Grant = oauth.ClientCredentials }, "servers[0].oauth.client_id: required"},
		"nothing to log in with": {remote, func(s *mcp.Server) { s.OAuth = oauth.Config{Grant: oauth.ClientCredentials, ClientID: "a"} }, "servers[0].oauth.client_secret_file: required"},
		"a secret for everybody": {remote, func(s *mcp.Server) { s.OAuth = oauth.Config{ClientID: "a", ClientSecretFile: "/secret"} }, "servers[0].oauth.issuer: required: the authorization server that may see the secret"},
		"a secret of nobody": {remote, func(s *mcp.Server) {
			s.OAuth = oauth.Config{ClientSecretFile: "/secret", Issuer: "https://a.example.org"}
		}, "servers[0].oauth.client_id: required"},
		"a key of a person's login": {remote, func(s *mcp.Server) {
			s.OAuth = oauth.Config{ClientID: "a", KeyFile: "/key", Issuer: "https://a.example.org"}
		}, "servers[0].oauth.key_file: is for grant"},
		"an issuer over http":       {remote, func(s *mcp.Server) { s.OAuth.Issuer = "http://auth.example.org" }, `servers[0].oauth.issuer: "http://auth.example.org" is not https`},
		"a redirect to anybody":     {remote, func(s *mcp.Server) { s.OAuth.Redirect = "http://example.org/callback" }, "servers[0].oauth.redirect:"},
		"a redirect without a path": {remote, func(s *mcp.Server) { s.OAuth.Redirect = "https://bot.example.org" }, "servers[0].oauth.redirect:"},
		"a document without a path": {remote, func(s *mcp.Server) { s.OAuth.ClientMetadata = "https://example.org" }, "servers[0].oauth.client_metadata:"},
		"a scope that is two":       {remote, func(s *mcp.Server) { s.OAuth.Scopes = []string{"a b"} }, "servers[0].oauth.scopes[0]:"},
		"a price":                   {good, func(s *mcp.Server) { s.Price, s.Tools[0].Price = "0.01", "1000" }, ""},
		"no price":                  {good, func(s *mcp.Server) { s.Price = "cheap" }, `servers[0].price: not what one call costs, in dollars such as 0.005: not an amount of dollars: "cheap"`},
		"a price of a tool":         {good, func(s *mcp.Server) { s.Tools[0].Price = "-1" }, "servers[0].tools[0].price: not what one call costs, in dollars such as 0.005: -$1.00 is below 0"},
		"a time":                    {good, func(s *mcp.Server) { s.Timeout = -1 }, "servers[0].timeout: -1ns is less than nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.of()
			c.change(&s)
			err := mcp.Validate("servers", []mcp.Server{s}, "notes__taken")
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%v, want %q alone", err, c.want)
			}
		})
	}
	err := mcp.Validate("servers", []mcp.Server{good(), good()})
	if err == nil || err.Error() != "servers[1].name: notes is the name of server 1 of this list too: choose another name" {
		t.Errorf("two of one name: %v", err)
	}
}
