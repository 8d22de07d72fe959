package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/gateway/admin"
	"parley/gateway/consents"
	"parley/gateway/records"
	"parley/gateway/settings"
	"parley/llm"
	"parley/tools"
	"parley/tools/mcp"
)

// serversFolder is where the programs of MCP servers run, below the state folder: each in a
// folder of its own, which no agent reaches.
const serversFolder = "mcp"

// consentsEvery is how often a process reads what the operator has consented to: another one may
// have been told.
const consentsEvery = 30 * time.Second

// servers are the MCP servers of this process.
type servers struct {
	*mcp.Host
	names   []string
	book    *consents.Book
	changed chan struct{} // holds one when other tools may be offered
}

// openServers makes what keeps the MCP servers, and reads what the operator has consented to;
// it starts none. nil where no turn of this process could use them.
func (g *Gateway) openServers(ctx context.Context, opened resources) (*servers, error) {
	if len(g.cfg.MCP.Servers) == 0 || !g.cfg.HasRole(settings.RoleWorker) {
		return nil, nil //nolint:nilnil // that there are none is no error
	}
	s := &servers{book: &consents.Book{Store: opened.store, Now: g.o.Now}, changed: make(chan struct{}, 1)}
	o := mcp.Options{
		Servers: g.cfg.MCP.Servers, Version: g.o.Version, Log: g.o.Logger, Now: g.o.Now, Changed: s.noteChange, People: serverQuestions{g, opened.store},
		Logins: g.cfg.LoginsDir(),
		Conceal: func(server string, secrets ...string) {
			g.redactor.Replace("login at the MCP server "+server, secrets...)
		},
		Folder: func(server string) string { return filepath.Join(g.cfg.StateDir, serversFolder, server) },
	}
	if box := opened.sandbox; box != nil && box.Usable() {
		o.Runner = walls{Sandbox: box, log: g.o.Logger}
	}
	var err error
	if s.Host, err = mcp.NewHost(o); err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	for _, c := range o.Servers {
		s.names = append(s.names, c.Name)
	}
	return s, s.readConsents(ctx, g)
}

// MCPServers returns the MCP servers that the gateway was made with.
func (g *Gateway) MCPServers() []mcp.Server { return slices.Clone(g.cfg.MCP.Servers) }

func (s *servers) noteChange() {
	select {
	case s.changed <- struct{}{}:
	default: // it is noted already
	}
}

// readConsents has the host offer what the operator has consented to.
func (s *servers) readConsents(ctx context.Context, g *Gateway) error {
	for _, name := range s.names {
		all, err := s.book.Of(ctx, name)
		if errors.Is(err, records.ErrUnreadable) {
			g.o.Logger.Warn("consents to tools of an MCP server not readable, their tools are not offered", "server", name, "error", err)
		} else if err != nil {
			return err
		}
		s.SetConsents(name, all)
	}
	return nil
}

// runServers keeps the MCP servers there, and gives the agents their tools as they change: a
// turn keeps those with which it began.
func (g *Gateway) runServers(ctx context.Context) error {
	var group errgroup.Group
	group.Go(func() error { return g.servers.Run(ctx) })
	group.Go(func() error {
		tick := time.NewTicker(consentsEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-g.servers.changed:
				g.takeServerTools(g.serverTools)
			case <-tick.C:
				if err := g.servers.readConsents(ctx, g); err != nil && ctx.Err() == nil {
					g.o.Logger.Warn("consents to tools of MCP servers not read, the known ones hold", "error", err)
				}
			}
		}
	})
	return group.Wait()
}

// takeServerTools puts an edition into force whose agents have the tools that MCP servers have
// now.
func (es *editions) takeServerTools(offered func() []tools.Tool) {
	es.reloading.Lock()
	defer es.reloading.Unlock()
	e := *es.present()
	now := offered()
	if sameTools(now, e.serverTools) {
		return
	}
	e.agents = maps.Clone(e.agents)
	e.serverTools = now
	if err := e.giveTools(); err != nil {
		es.o.Logger.Error("tools of MCP servers not given to the agents, the previous ones stay", "error", err)
		return
	}
	e.turns.Agents = e.agents
	es.current.Store(&e)
}

// sameTools reports whether tools of MCP servers are the same, in what their models do not read
// of them too: calls and permissions hold for tools as they were consented to.
func sameTools(a, b []tools.Tool) bool {
	return slices.EqualFunc(a, b, func(a, b tools.Tool) bool { return reflect.DeepEqual(readOf(a), readOf(b)) })
}

// serverTool is what the operator has read of a tool of an MCP server.
type serverTool struct {
	definition llm.Definition
	digest     string
}

func readOf(t tools.Tool) serverTool {
	r := serverTool{definition: t.Definition()}
	if t, ok := t.(*mcp.Tool); ok {
		r.digest = t.Digest()
	}
	return r
}

// serverTools returns the tools that MCP servers have now.
func (g *Gateway) serverTools() []tools.Tool {
	if g.servers == nil {
		return nil
	}
	return g.servers.Tools()
}

// recordedServers returns the tools of MCP servers as a recording has them.
func (g *Gateway) recordedServers() []mcp.Recording {
	if g.servers == nil {
		return nil
	}
	return g.servers.Record()
}

// serversStatus returns how the MCP servers are; nil: this process has none.
func (g *Gateway) serversStatus() []mcp.Status {
	if g.servers == nil {
		return nil
	}
	return g.servers.Status()
}

// consent notes that the operator consents to a tool of an MCP server, if it is described as
// they have read it.
func (g *Gateway) consent(ctx context.Context, server, tool, digest string) (mcp.ToolStatus, error) {
	t, err := g.findServerTool(server, tool)
	switch {
	case err != nil:
		return t, err
	case t.Digest != digest:
		return t, &admin.Error{Kind: admin.Refused, Message: fmt.Sprintf("%s of %s is described otherwise by now: read it again with parley mcp show %s %s", tool, server, server, tool)}
	case t.State == mcp.Offered:
		return t, nil
	case t.State != mcp.New && t.State != mcp.Changed:
		return t, &admin.Error{Kind: admin.Refused, Message: fmt.Sprintf("%s of %s cannot be offered: %s", tool, server, t.Why)}
	}
	if err := g.servers.book.Give(ctx, server, t.Definition()); err != nil {
		return t, err
	}
	g.o.Logger.Info("operator consented to a tool of an MCP server", "server", server, "tool", tool, "digest", digest)
	return g.afterDecision(ctx, server, tool)
}

// takeBackConsent has a tool of an MCP server not offered any more.
func (g *Gateway) takeBackConsent(ctx context.Context, server, tool string) (mcp.ToolStatus, error) {
	t, err := g.findServerTool(server, tool)
	if err != nil {
		return t, err
	}
	was, err := g.servers.book.TakeBack(ctx, server, tool)
	if err != nil {
		return t, err
	}
	if was {
		g.o.Logger.Info("operator took back the consent to a tool of an MCP server", "server", server, "tool", tool)
	}
	return g.afterDecision(ctx, server, tool)
}

// afterDecision has what was decided hold from the next turn on.
func (g *Gateway) afterDecision(ctx context.Context, server, tool string) (mcp.ToolStatus, error) {
	if err := g.servers.readConsents(ctx, g); err != nil {
		return mcp.ToolStatus{}, err
	}
	g.takeServerTools(g.serverTools)
	return g.findServerTool(server, tool)
}

// findServerTool returns how a tool of an MCP server is. An error is what the operator reads.
func (g *Gateway) findServerTool(server, tool string) (mcp.ToolStatus, error) {
	for _, s := range g.serversStatus() {
		if s.Name != server {
			continue
		}
		for _, t := range s.Tools {
			if t.Tool == tool {
				return t, nil
			}
		}
		return mcp.ToolStatus{}, &admin.Error{Kind: admin.NotFound, Message: fmt.Sprintf("no tool %q of the MCP server %s; parley mcp ls %s shows which there are", tool, server, server)}
	}
	return mcp.ToolStatus{}, &admin.Error{Kind: admin.NotFound, Message: fmt.Sprintf("no MCP server %q in this process; parley mcp ls shows which there are", server)}
}
