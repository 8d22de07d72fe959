package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"parley/simulators/model"
	"parley/tools/mcp/mcptest"
)

// An operator logs in with a browser on this machine, by pasting where one on another machine was
// led to, and logs out. (docs/decisions/0104)
func TestTheOperatorLogsInAtAnMCPServer(t *testing.T) {
	t.Parallel()
	a := mcptest.NewAuthority(t, silentWorld{})
	tg, m := sims(t, model.Echo)
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	text = fmt.Appendf(text, "\nmcp: {servers: [{name: test, url: %q, allow_private: [{cidr: 127.0.0.1/32, ports: [%d, %d]}], tools: [{name: echo, category: read}]}]}\n",
		a.URL(), a.Site.Listener.Addr().(*net.TCPAddr).Port, a.Auth.Listener.Addr().(*net.TCPAddr).Port)
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, environment, "run", "--config", config)
	say(t, tg, "one")
	await(t, tg, "the answer to Ann", answer("one"))
	printed := ""
	awaitList := func(want string) {
		t.Helper()
		list := ""
		for !strings.Contains(list, want) {
			list = saidOf(t, "mcp", "ls", "-c", config)
		}
		printed += list
	}
	awaitList("nobody has logged in at it: parley mcp login test")
	// begin runs the command until it waits, and returns where a browser is led to.
	begin := func() (*process, string) {
		t.Helper()
		c := start(t, environment, "mcp", "login", "test", "--config", config, "--scope", "note")
		page := strings.TrimSpace(c.await(a.Auth.URL + "/authorize?"))
		c.await("paste it here:")
		return c, a.Browse(t, page)
	}
	get := func(address string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil || strings.Contains(string(body), "code-") {
			t.Errorf("the page at the end: %q, %v", body, err)
		}
		return res.StatusCode
	}
	ended := func(c *process) {
		t.Helper()
		c.await("Logged in at test by " + a.Auth.URL + ", with use note.")
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("it ends with %v", err)
		}
		printed += strings.Join(c.said, "\n") + c.err.String()
	}

	c, address := begin()
	before, _, _ := strings.Cut(address, "?")
	if got := get(before + "?state=guessed&code=x"); got != http.StatusNotFound {
		t.Errorf("another program's request is answered with %d", got)
	}
	if got := get(address); got != http.StatusOK {
		t.Errorf("the browser is answered with %d", got)
	}
	ended(c)
	awaitList("logged in at " + a.Auth.URL)

	printed += saidOf(t, "mcp", "logout", "test", "-c", config)
	awaitList("nobody has logged in at it")
	c, address = begin()
	if _, err := fmt.Fprintf(c.in, "\nnothing\n%s\n", address); err != nil {
		t.Fatal(err)
	}
	c.await("This is not the address of this login.")
	ended(c)

	if got := saidOf(t, "mcp", "logout", "test", "-c", config) + saidOf(t, "mcp", "logout", "test", "-c", config); got != "The login at test is forgotten.\nNobody is logged in at test.\n" {
		t.Errorf("logout says %q", got)
	}
	for want, args := range map[string][]string{
		`no MCP server "nots" in this process; parley mcp ls shows which there are`: {"login", "nots"},
		"nots":        {"logout", "nots"},
		"is no scope": {"login", "test", "--scope", "a b"},
	} {
		if status, _, said := asked(t, append(append([]string{"mcp"}, args...), "-c", config)...); status == 0 || !strings.Contains(said, want) {
			t.Errorf("%q: %d, %s", args, status, said)
		}
	}
	if v := a.Violations(); len(v) > 0 {
		t.Errorf("the authorization server was asked wrongly: %q", v)
	}
	if status := p.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("the gateway ends with %d", status)
	}
	printed += strings.Join(p.said, "\n") + p.err.String()
	for _, secret := range a.Tokens() {
		if strings.Contains(printed, secret) {
			t.Errorf("a secret of the login was printed:\n%s", printed)
		}
	}
}
