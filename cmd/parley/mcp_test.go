package main

import (
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"parley/simulators/model"
	"parley/tools/mcp/mcptest"
)

// silentWorld is one to which nothing is done.
type silentWorld struct{}

func (silentWorld) Note(string) error { return nil }
func (silentWorld) Die()              {}

// An operator sees the MCP servers, reads a tool, consents to it, and takes that back.
// (docs/decisions/0086)
func TestTheOperatorConsentsToToolsOfMCPServers(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(mcptest.Handler(silentWorld{}))
	t.Cleanup(site.Close)
	tg, m := sims(t, model.Echo)
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	text = fmt.Appendf(text, "\nmcp: {servers: [{name: test, url: %q, allow_private: [{cidr: 127.0.0.1/32, ports: [%d]}], tools: [{name: echo, category: read}, {name: die}]}]}\n",
		site.URL, site.Listener.Addr().(*net.TCPAddr).Port)
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	check := start(t, environment, "check-config", "-c", config)
	check.await("MCP server test: " + site.URL + "; tools: test__echo (read), test__die (admin, because it has no category)")

	p := start(t, environment, "run", "--config", config)
	say(t, tg, "one")
	await(t, tg, "the answer to Ann", answer("one"))
	list := ""
	for !strings.Contains(list, "test: up for ") {
		list = saidOf(t, "mcp", "ls", "-c", config)
	}
	contains := func(got string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(strings.Join(strings.Fields(got), " "), w) {
				t.Errorf("got\n%s\nwant %q in it", got, w)
			}
		}
	}
	contains(list, "MCP 2026-07-28", "TOOL CATEGORY STATE DIGEST CLAIMS WHY", "echo read new addb96399279 reads nobody has consented to it yet",
		"die admin new 1fc4eddd5b29 reads nobody", "note - unused f31dc5843d8e reads the configuration does not name it")
	contains(saidOf(t, "mcp", "show", "test", "echo", "-c", config), "agents have it as test__echo", "description: Return the text. parameters: {", `"description": "what to take"`)
	if status, _, said := asked(t, "mcp", "allow", "test", "echo", "ehco", "-c", config); status != exitUsage { // and echo still waits, see below
		t.Errorf("a misspelt tool beside another: %d %s", status, said)
	}
	if out := saidOf(t, "__complete", "mcp", "allow", "-c", config, "test", ""); !strings.HasPrefix(out, "echo\ndie\n") {
		t.Errorf("tools to complete: %q", out)
	}
	if status, out, said := asked(t, "status", "-c", config); status != 1 || !strings.Contains(said, "2 tools of the MCP server test not offered before you consent (echo, die): parley mcp ls test") {
		t.Errorf("status: %d\n%s\n%s", status, out, said)
	}
	contains(saidOf(t, "mcp", "allow", "test", "-c", config), "test__echo is offered from the next turn on", "test__die is offered from the next turn on")
	contains(saidOf(t, "mcp", "allow", "test", "-c", config), "No tool of test waits for consent.")
	contains(saidOf(t, "status", "-c", config), "test: up for", ", echo (read), die (admin)")
	contains(saidOf(t, "mcp", "revoke", "test", "die", "-c", config), "die of test is not offered: nobody has consented to it yet")
	for want, args := range map[string][]string{
		`no MCP server "nots" in this process; there are: test`:      {"ls", "nots"},
		`no tool "no" of the MCP server test; parley mcp ls test`:    {"allow", "test", "no"},
		`no tool "nope" of the MCP server test; parley mcp ls test`:  {"show", "test", "nope"},
		"the configuration does not name it":                         {"allow", "test", "note"},
		`no tool "nothing" of the MCP server test; parley mcp ls te`: {"revoke", "test", "nothing"},
	} {
		if status, _, said := asked(t, append(append([]string{"mcp"}, args...), "-c", config)...); status == 0 || !strings.Contains(said, want) {
			t.Errorf("%q: %d, %s", args, status, said)
		}
	}
	if status := p.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("the gateway ends with %d", status)
	}
}
