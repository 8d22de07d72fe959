package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/gateway/admin"
	"parley/gateway/consents"
	"parley/gateway/inquiries"
	"parley/gateway/ongoing"
	"parley/gateway/records"
	"parley/gateway/settings"
	"parley/llm"
	"parley/tools"
	"parley/tools/mcp"
	"parley/wake"
)

// serversFolder is where the programs of MCP servers run, below the state folder: each in a
// folder of its own, which no agent reaches.
const serversFolder = "mcp"

// consentsEvery is how often a process reads what the operator has consented to: another one may
// have been told.
const consentsEvery = 30 * time.Second

// servers are the MCP servers of this process; nil: there are none.
type servers struct {
	*mcp.Host
	names   []string
	book    *consents.Book
	log     *slog.Logger
	changed wake.Signal                       // holds one when other tools may be offered
	give    func(offered func() []tools.Tool) // has the agents use the tools that are offered
}

// openServers makes what keeps the MCP servers, and reads what the operator has consented to;
// it starts none. nil where no turn of this process could use them.
func openServers(ctx context.Context, es *editions, opened resources, desk *inquiries.Desk) (*servers, error) {
	if len(es.cfg.MCP.Servers) == 0 || !es.cfg.HasRole(settings.RoleWorker) {
		return nil, nil // that there are none is no error
	}
	s := &servers{book: &consents.Book{Store: opened.store, Now: es.o.Now}, log: es.o.Logger, changed: wake.New(), give: es.takeServerTools}
	o := mcp.Options{
		Servers: es.cfg.MCP.Servers, Version: es.o.Version, Log: es.o.Logger, Now: es.o.Now, Changed: s.changed.Send, People: serverQuestions{es.present, desk, opened.store, es.o.Now},
		Tasks:  serverTasks{ongoing.Book{Store: opened.store, Now: es.o.Now}},
		Logins: es.cfg.LoginsDir(),
		Conceal: func(server string, secrets ...string) {
			es.redactor.Replace("login at the MCP server "+server, secrets...)
		},
		Folder: func(server string) string { return filepath.Join(es.cfg.StateDir, serversFolder, server) },
	}
	if box := opened.sandbox; box != nil && box.Usable() {
		o.Runner = walls{Sandbox: box, log: es.o.Logger}
	}
	var err error
	if s.Host, err = mcp.NewHost(o); err != nil {
		return nil, err // it says what it is about
	}
	for _, c := range o.Servers {
		s.names = append(s.names, c.Name)
	}
	return s, s.readConsents(ctx)
}

// MCPServers returns the MCP servers that the gateway was made with.
func (g *Gateway) MCPServers() []mcp.Server { return slices.Clone(g.cfg.MCP.Servers) }

// readConsents has the host offer what the operator has consented to.
func (s *servers) readConsents(ctx context.Context) error {
	for _, name := range s.names {
		all, err := s.book.Of(ctx, name)
		if errors.Is(err, records.ErrUnreadable) {
			s.log.Warn("consents to tools of an MCP server not readable, their tools are not offered", "server", name, "error", err)
		} else if err != nil {
			return err
		}
		s.SetConsents(name, all)
	}
	return nil
}

// run keeps the MCP servers there, and gives the agents their tools as they change: a
// turn keeps those with which it began.
func (s *servers) run(ctx context.Context) error {
	var group errgroup.Group
	group.Go(func() error { return s.Run(ctx) })
	group.Go(func() error {
		tick := time.NewTicker(consentsEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-s.changed:
				s.give(s.tools)
			case <-tick.C:
				if err := s.readConsents(ctx); err != nil && ctx.Err() == nil {
					s.log.Warn("consents to tools of MCP servers not read, the known ones hold", "error", err)
				}
			}
		}
	})
	return group.Wait()
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

// tools returns the tools that MCP servers have now.
func (s *servers) tools() []tools.Tool {
	if s == nil {
		return nil
	}
	return s.Tools()
}

// record returns the tools of MCP servers as a recording has them.
func (s *servers) record() []mcp.Recording {
	if s == nil {
		return nil
	}
	return s.Record()
}

// status returns how the MCP servers are; nil: this process has none.
func (s *servers) status() []mcp.Status {
	if s == nil {
		return nil
	}
	return s.Status()
}

// consent notes that the operator consents to a tool of an MCP server, if it is described as
// they have read it.
func (s *servers) consent(ctx context.Context, server, tool, digest string) (mcp.ToolStatus, error) {
	t, err := s.findTool(server, tool)
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
	if err := s.book.Give(ctx, server, t.Definition()); err != nil {
		return t, err
	}
	s.log.Info("operator consented to a tool of an MCP server", "server", server, "tool", tool, "digest", digest)
	return s.afterDecision(ctx, server, tool)
}

// takeBackConsent has a tool of an MCP server not offered any more.
func (s *servers) takeBackConsent(ctx context.Context, server, tool string) (mcp.ToolStatus, error) {
	t, err := s.findTool(server, tool)
	if err != nil {
		return t, err
	}
	was, err := s.book.TakeBack(ctx, server, tool)
	if err != nil {
		return t, err
	}
	if was {
		s.log.Info("operator took back the consent to a tool of an MCP server", "server", server, "tool", tool)
	}
	return s.afterDecision(ctx, server, tool)
}

// afterDecision has what was decided hold from the next turn on.
func (s *servers) afterDecision(ctx context.Context, server, tool string) (mcp.ToolStatus, error) {
	if err := s.readConsents(ctx); err != nil {
		return mcp.ToolStatus{}, err
	}
	s.give(s.tools)
	return s.findTool(server, tool)
}

// findTool returns how a tool of an MCP server is. An error is what the operator reads.
func (s *servers) findTool(server, tool string) (mcp.ToolStatus, error) {
	for _, st := range s.status() {
		if st.Name != server {
			continue
		}
		for _, t := range st.Tools {
			if t.Tool == tool {
				return t, nil
			}
		}
		return mcp.ToolStatus{}, &admin.Error{Kind: admin.NotFound, Message: fmt.Sprintf("no tool %q of the MCP server %s; parley mcp ls %s shows which there are", tool, server, server)}
	}
	return mcp.ToolStatus{}, &admin.Error{Kind: admin.NotFound, Message: fmt.Sprintf("no MCP server %q in this process; parley mcp ls shows which there are", server)}
}
