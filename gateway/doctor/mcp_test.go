package doctor_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"parley/gateway/doctor"
	"parley/tools/mcp"
)

func TestExamineMCPServers(t *testing.T) {
	t.Parallel()
	url, command := "https://mcp.example.org", "/usr/bin/notes"
	down := func(cause mcp.Cause) mcp.Status {
		return mcp.Status{State: mcp.Down, Where: url, Cause: cause, Problem: "x"}
	}
	for name, c := range map[string]struct {
		st    mcp.Status
		alone string // what is found without a gateway, and with one, if that is something else
		with  string
	}{
		"one that is up":              {st: mcp.Status{State: mcp.Up, Where: url}, alone: "mcp.up"},
		"a URL that does not answer":  {st: down(""), alone: "mcp.unreachable"},
		"a program that ends":         {st: mcp.Status{State: mcp.Down, Where: command, Problem: "x"}, alone: "mcp.program"},
		"a program without walls":     {st: mcp.Status{State: mcp.Off, Where: command, Problem: "x"}, alone: "mcp.program"},
		"a token that is refused":     {st: down(mcp.Refused), alone: "mcp.refused"},
		"no token to be had":          {st: down(mcp.NoToken), alone: "mcp.login_stuck"},
		"a token that is to be new":   {st: down(mcp.TokenDue), alone: "mcp.login_due"},
		"no login":                    {st: mcp.Status{State: mcp.NeedsLogin, Where: url, Cause: mcp.NoLogin, Problem: "x"}, alone: "mcp.login_missing"},
		"no login, and no cause":      {st: mcp.Status{State: mcp.NeedsLogin, Where: url, Problem: "x"}, alone: "mcp.login_missing"},
		"a login that is over":        {st: mcp.Status{State: mcp.NeedsLogin, Where: url, Cause: mcp.LoginOver, Problem: "x"}, alone: "mcp.login_over"},
		"a login with too few rights": {st: mcp.Status{State: mcp.Up, Where: url, Cause: mcp.MoreRights, Problem: "x"}, alone: "mcp.login_rights"},
		"one that is being started":   {st: mcp.Status{State: mcp.Starting, Where: url}, alone: "mcp.starting"},
		"tools": {
			st: mcp.Status{State: mcp.Up, Where: url, Tools: []mcp.ToolStatus{
				{Tool: "a", State: mcp.Offered},
				{Tool: "b", State: mcp.New},
				{Tool: "c", State: mcp.Missing},
				{Tool: "d", State: mcp.Unused},
			}},
			alone: "mcp.up mcp.tools: c (missing)", with: "mcp.up mcp.tools: b (new), c (missing)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.st.Name = "notes"
			o := options(t)
			asked := false
			o.Servers = []doctor.MCPServer{{Name: "notes", Where: c.st.Where, Examine: func(context.Context) (mcp.Status, error) {
				asked = true
				return c.st, nil
			}}}
			if got := mcpOf(t, o); got != c.alone || !asked {
				t.Errorf("without a gateway it finds %s, want %s", got, c.alone)
			}
			if c.with == "" {
				c.with = c.alone
			}
			asked = false
			o.Running = func(context.Context) (*doctor.Running, error) {
				return &doctor.Running{Servers: []mcp.Status{c.st}}, nil
			}
			if got := mcpOf(t, o); got != c.with || asked {
				t.Errorf("with a gateway it finds %s, want %s; it looked itself: %v", got, c.with, asked)
			}
			o.Running = func(context.Context) (*doctor.Running, error) { return &doctor.Running{}, nil } // of another role
			if mcpOf(t, o); !asked {
				t.Error("it did not look at a server that the gateway does not have")
			}
		})
	}
}

func TestExamineMCPServersThatCannotBeExamined(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Servers = []doctor.MCPServer{
		{Name: "a", Where: "/usr/bin/a"},
		{Name: "b", Examine: func(context.Context) (mcp.Status, error) { return mcp.Status{}, errors.New("no sandbox") }},
	}
	if got := mcpOf(t, o); got != "mcp.skipped mcp.program" {
		t.Errorf("it finds %s", got)
	}
}

// mcpOf returns what is found of MCP servers.
func mcpOf(t *testing.T, o doctor.Options) string {
	t.Helper()
	var all []string
	for _, f := range doctor.Examine(t.Context(), o) {
		if !strings.HasPrefix(f.ID, "mcp.") {
			continue
		}
		if f.Subject == "" || f.Detail == "" {
			t.Errorf("%s says of %q: %q", f.ID, f.Subject, f.Detail)
		}
		if f.ID == "mcp.tools" {
			f.ID += ": " + f.Detail
		}
		all = append(all, f.ID)
	}
	return strings.Join(all, " ")
}
