package configs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"parley/configs"
	"parley/gateway/settings"
)

// parseServers reads a configuration with these MCP servers.
func parseServers(text string, vars map[string]string) (settings.Config, error) {
	return configs.Parse("/etc/parley/parley.yaml", []byte(`
channels: {telegram: {main: {token: "4200000001:AAexample", access: {everyone: true}}}}
providers: {anthropic: {api_key: key-of-the-example}}
agents: {main: {model: anthropic/claude-haiku-5-5}}
mcp:
  servers:
`+text), environ(vars)) // as it is
}

func TestServers(t *testing.T) {
	t.Parallel()
	dir, home := programsOf(t, "notes-mcp"), t.TempDir()
	vars := map[string]string{"HOME": home, "PATH": dir, "TOKEN": canary + "-token"}
	cfg, err := parseServers(`
    - name: notes
      command: [notes-mcp, --verbose]
      env: {NOTES_TOKEN: "x-${TOKEN}", NOTES_LANG: en, NOTES_HOME: "${HOME}"}
      read_only: [`+dir+`]
      tools: [{name: searchNotes, category: read}, {name: add, idempotent: true}]
    - name: tickets
      url: https://mcp.example.org/v1
      headers: {Authorization: "Bearer ${TOKEN}"}
      tools: [{name: find}]
`, vars)
	if err != nil {
		t.Fatal(err)
	}
	notes, tickets := cfg.MCP.Servers[0], cfg.MCP.Servers[1]
	if notes.Program.Path != filepath.Join(dir, "notes-mcp") || notes.Program.Real == "" {
		t.Errorf("the program is %+v", notes.Program)
	}
	if len(notes.Env) != 3 || len(notes.Env[0].Secrets) != 1 || notes.Env[0].Secrets[0] != canary+"-token" || notes.Env[1].Secrets != nil || notes.Env[2].Secrets != nil {
		t.Errorf("the variables are %+v", notes.Env)
	}
	if h := tickets.Headers; len(h) != 1 || h[0].Name != "Authorization" || h[0].Value != "Bearer "+canary+"-token" || len(h[0].Secrets) != 1 {
		t.Errorf("the headers are %+v", h)
	}
	if names := cfg.ToolNames(); strings.Join(names[len(names)-3:], " ") != "notes__searchNotes notes__add tickets__find" {
		t.Errorf("agents may have %q", names)
	}
	for text, want := range map[string]string{
		`{name: notes, command: [no-mcp], tools: [{name: a}]}`:                                                      "mcp.servers[0].command[0]: no-mcp not found on PATH",
		`{name: notes, command: [notes-mcp], read_only: [/no/such], tools: [{name: a}]}`:                            "mcp.servers[0].read_only[0]: /no/such: no such file",
		`{name: notes, command: [notes-mcp], read_only: [` + home + `], tools: [{name: a}]}`:                        "which is the gateway's own",
		`{name: notes, command: [notes-mcp], tools: [{name: a, category: safe}]}`:                                   `mcp.servers[0].tools[0].category: "safe" is none of`,
		`{name: notes, url: "https://mcp.example.org", headers: {a_b: "${TOKEN}"}, tools: [{name: a}]}`:             "mcp.servers[0].headers.a_b: a header's name is",
		`{name: notes, command: [notes-mcp], env: {A: "${MISSING}"}, tools: [{name: a}]}`:                           "variable MISSING is not set",
		`{name: notes, url: "https://mcp.example.org", oauth: {client_secret: ` + canary + `}, tools: [{name: a}]}`: "mcp.servers[0].oauth.client_secret: unknown key (did you mean client_secret_file?)",
		`{name: notes, command: [notes-mcp], tool: [{name: a}]}`:                                                    "mcp.servers[0].tool: unknown key (did you mean tools?)",
		`{name: notes, command: [notes-mcp], tools: [{name: a}]}` + "\n    - {name: notes, command: [a/b]}":         "is the name of server 1 of this list too",
	} {
		_, err := parseServers("    - "+text+"\n", vars)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s:\n%v\nwant %q", text, err, want)
		}
	}
}
