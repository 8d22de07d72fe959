package gateway_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/mcp/mcptest"
	"parley/tools/web/guard"
)

// unchanging is a world to which nothing is done.
type unchanging struct{}

func (unchanging) Note(string) error { return nil }
func (unchanging) Die()              {}

// The operator logs in at an MCP server, which then tells the model the token: the token is in no
// answer, no file but its own, and in nothing that the model reads. (docs/decisions/0104)
func TestNobodyReadsTheTokenOfAnMCPServer(t *testing.T) {
	a := mcptest.NewAuthority(t, unchanging{})
	var ports []int
	for _, l := range []net.Listener{a.Site.Listener, a.Auth.Listener} {
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	offered := make(chan []string, 100)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: using(offered), Change: func(c *settings.Config) {
		c.MCP.Servers = []mcp.Server{{
			Name: "test", URL: a.URL(), AllowPrivate: []guard.Network{{CIDR: "127.0.0.1/32", Ports: ports}},
			Tools: []mcp.ToolConfig{{Name: "bearer", Category: tools.Read}},
		}}
	}})
	gw := env.Start()
	client := admin.NewClient(gw.AdminSocket())
	await := func(want mcp.State) {
		t.Helper()
		for {
			page, err := client.MCP().Servers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if page.Servers[0].State == want {
				return
			}
		}
	}
	logIn := func() {
		t.Helper()
		started, err := client.MCP().BeginLogin(t.Context(), "test", "http://127.0.0.1:3000/callback", nil)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := client.MCP().FinishLogin(t.Context(), "test", a.Browse(t, started.URL)); err != nil || st.Login == nil {
			t.Fatalf("%+v, %v", st, err)
		}
		await(mcp.Up)
	}
	await(mcp.NeedsLogin)
	logIn()
	page, err := client.MCP().Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range page.Servers[0].Tools {
		if s.Tool == "bearer" {
			if _, err := client.MCP().AllowTool(t.Context(), "test", "bearer", s.Digest); err != nil {
				t.Fatal(err)
			}
		}
	}
	said := ""
	for range 3 {
		said += gw.Ask(gatewaytest.Ann, `test__bearer {"text":"x"}`)
		a.Expire() // and the next one is new
	}
	if strings.Count(said, "[redacted]") != 3 || a.Asked("refresh_token") != 2 {
		t.Errorf("the answers, after %d refreshes:\n%s", a.Asked("refresh_token"), said)
	}
	secrets := a.Tokens()
	hidden := func(where, text string) {
		t.Helper()
		for _, s := range secrets {
			if strings.Contains(text, s) {
				t.Errorf("%s has a secret of the login", where)
			}
		}
	}
	hidden("the chat", said)
	list, err := client.Sessions(t.Context(), admin.SessionQuery{})
	if err != nil {
		t.Fatal(err)
	}
	hidden("the recording", string(recordingOf(t, gw, string(list.Sessions[0].ID))))

	if done, err := client.MCP().Logout(t.Context(), "test"); err != nil || !done.Was {
		t.Errorf("%+v, %v", done, err)
	}
	await(mcp.NeedsLogin)
	if st, err := client.Status(t.Context()); err != nil || !strings.Contains(strings.Join(st.Problems, "\n"), "the MCP server test needs a login: nobody has logged in at it: parley mcp login test") {
		t.Errorf("%q, %v", st.Problems, err)
	}
	for name, ask := range map[string]func() error{
		"a server that there is not": func() error {
			_, err := client.MCP().BeginLogin(t.Context(), "other", "http://127.0.0.1:3000/callback", nil)
			return err
		},
		"an address of no login": func() error {
			_, err := client.MCP().FinishLogin(t.Context(), "test", "http://127.0.0.1:3000/callback?state=x&code=canary")
			return err
		},
	} {
		if e, ok := errors.AsType[*admin.Error](ask()); !ok || strings.Contains(e.Message, "canary") || e.Kind == admin.Failed {
			t.Errorf("%s: %v", name, e)
		}
	}
	logIn()
	gw.Stop()
	secrets = a.Tokens()
	logins := filepath.Join(env.Config().StateDir, "logins")
	err = filepath.WalkDir(env.Config().StateDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Dir(path) == logins {
			return err
		}
		text, err := os.ReadFile(path)
		hidden(path, string(text))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	gw = env.Start() // and nobody has to log in again
	client = admin.NewClient(gw.AdminSocket())
	await(mcp.Up)
}
