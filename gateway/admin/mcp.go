package admin

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"parley/tools/mcp"
	"parley/tools/mcp/oauth"
)

// ServerPage is the MCP servers of the process that is asked, with what they say of their tools.
type ServerPage struct {
	Now     time.Time    `json:"now"`
	Servers []mcp.Status `json:"servers"`
}

func (desk serverDesk) servers(*http.Request) (any, error) {
	page := ServerPage{Now: desk.o.Now().UTC(), Servers: []mcp.Status{}}
	if desk.o.Servers != nil {
		page.Servers = append(page.Servers, desk.o.Servers()...)
	}
	return page, nil
}

// serversInBrief returns the MCP servers without what they say of their tools, and without
// those tools that no agent has.
func (desk serverDesk) serversInBrief() (all []mcp.Status) {
	if desk.o.Servers == nil {
		return nil
	}
	for _, st := range desk.o.Servers() {
		var used []mcp.ToolStatus
		for _, t := range st.Tools {
			if t.State != mcp.Unused {
				t.Description, t.Schema, t.Hints = "", nil, nil
				used = append(used, t)
			}
		}
		st.Tools = used
		all = append(all, st)
	}
	return all
}

// assessServers says what is not fine about MCP servers.
func (st *Status) assessServers(not func(format string, a ...any)) {
	for _, s := range st.MCP {
		switch s.State {
		case mcp.Down:
			not("the MCP server %s is not there for %s, and is tried again: %s", s.Name, st.Now.Sub(s.Since).Round(time.Second), firstLine(s.Problem))
		case mcp.NeedsLogin:
			not("the MCP server %s needs a login: %s", s.Name, firstLine(s.Problem))
		case mcp.Up:
			if s.Problem != "" {
				not("the MCP server %s: %s", s.Name, firstLine(s.Problem))
			}
		case mcp.Off:
			not("the MCP server %s is not started: %s", s.Name, firstLine(s.Problem))
		}
		for _, c := range []struct {
			state mcp.ToolState
			why   string
		}{
			{mcp.New, "not offered before you consent"},
			{mcp.Changed, "changed since you consented, and not offered"},
			{mcp.Missing, "in the configuration, but not there"},
			{mcp.Unfit, "not offered, because they cannot be as they are"},
		} {
			var names []string
			for _, t := range s.Tools {
				if t.State == c.state {
					names = append(names, t.Tool)
				}
			}
			if len(names) > 0 {
				not("%s of the MCP server %s %s (%s): parley mcp ls %s", plural(len(names), "tool"), s.Name, c.why, strings.Join(names, ", "), s.Name)
			}
		}
	}
}

func (desk serverDesk) allowTool(r *http.Request) (any, error) {
	if desk.o.Consent == nil {
		return nil, newError(NotFound, "this process has no MCP servers")
	}
	q := r.URL.Query()
	return desk.o.Consent(r.Context(), q.Get("server"), q.Get("tool"), q.Get("digest"))
}

func (desk serverDesk) revokeTool(r *http.Request) (any, error) {
	if desk.o.TakeBackConsent == nil {
		return nil, newError(NotFound, "this process has no MCP servers")
	}
	q := r.URL.Query()
	return desk.o.TakeBackConsent(r.Context(), q.Get("server"), q.Get("tool"))
}

// LoggedOut is what became of a login.
type LoggedOut struct {
	Was bool `json:"was"` // there was one
}

var errNoServers = newError(NotFound, "this process has no MCP servers; log in at one that has the role worker")

func (desk serverDesk) beginLogin(r *http.Request) (any, error) {
	if desk.o.BeginLogin == nil {
		return nil, errNoServers
	}
	q := r.URL.Query()
	return desk.o.BeginLogin(r.Context(), q.Get("server"), q.Get("redirect"), q["scope"])
}

func (desk serverDesk) finishLogin(r *http.Request) (any, error) {
	if desk.o.FinishLogin == nil {
		return nil, errNoServers
	}
	q := r.URL.Query()
	return desk.o.FinishLogin(r.Context(), q.Get("server"), q.Get("address"))
}

func (desk serverDesk) logout(r *http.Request) (any, error) {
	if desk.o.Logout == nil {
		return nil, errNoServers
	}
	was, err := desk.o.Logout(r.Context(), r.URL.Query().Get("server"))
	return LoggedOut{was}, err
}

// BeginLogin begins a login at an MCP server. The browser comes back to redirect, unless the
// configuration says where.
func (c MCPClient) BeginLogin(ctx context.Context, server, redirect string, scopes []string) (oauth.Started, error) {
	return askFor[oauth.Started](ctx, c.connection, http.MethodPost, "/v1/mcp/login", url.Values{"server": {server}, "redirect": {redirect}, "scope": scopes})
}

// FinishLogin ends a login with the address to which the browser was led.
func (c MCPClient) FinishLogin(ctx context.Context, server, address string) (mcp.Status, error) {
	return askFor[mcp.Status](ctx, c.connection, http.MethodPost, "/v1/mcp/login/finish", url.Values{"server": {server}, "address": {address}})
}

// Logout forgets the login at an MCP server.
func (c MCPClient) Logout(ctx context.Context, server string) (LoggedOut, error) {
	return askFor[LoggedOut](ctx, c.connection, http.MethodPost, "/v1/mcp/logout", url.Values{"server": {server}})
}

// Servers lists the MCP servers of the process.
func (c MCPClient) Servers(ctx context.Context) (ServerPage, error) {
	return askFor[ServerPage](ctx, c.connection, http.MethodGet, "/v1/mcp", nil)
}

// AllowTool has a tool of an MCP server offered from the next turn on, if its description still
// has that digest.
func (c MCPClient) AllowTool(ctx context.Context, server, tool, digest string) (mcp.ToolStatus, error) {
	return askFor[mcp.ToolStatus](ctx, c.connection, http.MethodPost, "/v1/mcp/allow", url.Values{"server": {server}, "tool": {tool}, "digest": {digest}})
}

// RevokeTool has a tool of an MCP server not offered any more, from the next turn on.
func (c MCPClient) RevokeTool(ctx context.Context, server, tool string) (mcp.ToolStatus, error) {
	return askFor[mcp.ToolStatus](ctx, c.connection, http.MethodPost, "/v1/mcp/revoke", url.Values{"server": {server}, "tool": {tool}})
}
