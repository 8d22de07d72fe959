package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/simulators/model"
	"parley/tools/mcp/mcptest"
)

// Before a gateway runs doctor looks at the MCP servers itself: it starts their programs, asks their
// URLs, leaves nothing behind, and shows nothing that is secret.
func TestDoctorOfMCPServers(t *testing.T) {
	t.Parallel()
	a := mcptest.NewAuthority(t, silentWorld{})
	site := httptest.NewServer(mcptest.Handler(silentWorld{}))
	t.Cleanup(site.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho written > /workspace/left\necho no library, $SECRET >&2\nexit 7\n"), 0o755); err != nil { // a program
		t.Fatal(err)
	}
	port := func(s *httptest.Server) int { return s.Listener.Addr().(*net.TCPAddr).Port }
	tg, m := sims(t, model.Echo)
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer("${TOKEN}", token, "${KEY}", key).Replace(string(text))
	plain += fmt.Sprintf(`
mcp:
  servers:
    - {name: there, url: %q, allow_private: [{cidr: 127.0.0.1/32, ports: [%d]}], tools: [{name: echo, category: read}]}
    - {name: gone, url: %q, allow_private: [{cidr: 127.0.0.1/32, ports: [%d]}], tools: [{name: echo, category: read}]}
    - {name: gated, url: %q, allow_private: [{cidr: 127.0.0.1/32, ports: [%d]}], tools: [{name: echo, category: read}]}
    - {name: broken, command: [%q], env: {SECRET: "%s"}, tools: [{name: echo, category: read}]}
`, site.URL, port(site), gone.URL, port(gone), a.URL(), port(a.Site), broken, "${CANARY}")
	if err := os.WriteFile(config, []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
	rooms := t.TempDir()
	look := func(args ...string) string {
		t.Helper()
		c := start(t, slices.Concat(environment, []string{"CANARY=canary-7f3", "TMPDIR=" + rooms}), append([]string{"doctor", "-c", config, "--json"}, args...)...)
		for line := range c.lines {
			c.said = append(c.said, line)
		}
		_ = c.cmd.Wait() // with the status of what it found
		out := strings.Join(c.said, "\n")
		if strings.Contains(out+c.err.String(), "canary-7f3") {
			t.Errorf("a secret is in %s%s", out, c.err.String())
		}
		var r examined
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatalf("%v: %s%s", err, out, c.err.String())
		}
		var all []string
		for _, f := range r.Findings {
			if strings.HasPrefix(f.ID, "mcp.") {
				all = append(all, f.ID+" "+f.Subject)
			}
			if f.ID == "mcp.program" && !strings.Contains(f.Detail, "exit code: 7, and wrote at last: no library, ") {
				t.Errorf("of a program that ends it says %q", f.Detail)
			}
		}
		return strings.Join(all, ", ")
	}
	if got := look(); got != "mcp.up there, mcp.unreachable gone, mcp.login_missing gated, mcp.program broken" {
		t.Errorf("it finds %s", got)
	}
	for _, dir := range []string{rooms, filepath.Dir(config)} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != "parley.yaml" {
			t.Errorf("it left %v in %s, %v", entries, dir, err)
		}
	}
	if got := look("--no-mcp"); got != "mcp.skipped there, mcp.skipped gone, mcp.skipped gated, mcp.skipped broken" {
		t.Errorf("with --no-mcp it finds %s", got)
	}
}
