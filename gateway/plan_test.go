package gateway_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
)

// writing writes a.txt when a person says "write", and has a sub-agent write b.txt when they
// say "delegate"; "again" asks that sub-agent to write c.txt. What came of it is its answer, and
// seen gets each request.
func writing(seen chan<- *model.Prompt) model.Brain {
	child := ""
	return func(_ context.Context, p *model.Prompt) model.Answer {
		seen <- p
		write := func(name string) model.Block {
			return model.Use("write_file", map[string]string{"path": name, "content": "x"})
		}
		text := p.LastText()
		switch rs := p.Answering(); {
		case len(rs) > 0:
			if _, rest, ok := strings.Cut(rs[0].Text, `"child_session":"`); ok {
				child, _, _ = strings.Cut(rest, `"`)
			}
			return model.Reply(model.Say(rs[0].Text))
		case strings.HasPrefix(text, "write "):
			return model.Reply(write(strings.TrimPrefix(text, "write ")))
		case text == "delegate":
			return model.Reply(model.Use("sessions_spawn", map[string]string{"task": "write b.txt"}))
		case text == "again":
			return model.Reply(model.Use("sessions_send", map[string]string{"session": child, "message": "write c.txt"}))
		}
		return model.Reply(model.Say("re: " + text))
	}
}

// AI04, B17: in plan mode a model is offered nothing that changes anything, and a call of such a
// tool does not run; the same holds for its sub-agents, also for one that was made before and
// may write. A person begins it and ends it with one command, it outlives a restart, and it
// belongs to its session. (docs/decisions/0076)
func TestInPlanModeNothingIsChanged(t *testing.T) {
	t.Parallel()
	seen := make(chan *model.Prompt, 100)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: writing(seen), Change: func(c *settings.Config) {
		c.Subagents.Tools = []string{"list_directory", "write_file", "sessions_send", "sessions_spawn"}
		c.Subagents.AlsoAllow = []string{"sessions_send"}
	}})
	gw := env.Start()
	ask := func(text, want string) {
		t.Helper()
		if got := gw.Ask(gatewaytest.Ann, text); !strings.Contains(got, want) {
			t.Errorf("%q is answered with %q, want %q", text, got, want)
		}
	}
	changing := []string{"write_file", "edit_file", "delete_file", "send_file"}
	// offered empties seen and holds each request of it to the mode.
	offered := func(plan bool, requests int) {
		t.Helper()
		if len(seen) != requests {
			t.Errorf("%d requests, want %d", len(seen), requests)
		}
		for len(seen) > 0 {
			p := <-seen
			changes, looks := false, false
			for _, tool := range p.Tools {
				changes = changes || slices.Contains(changing, tool.Name)
				looks = looks || tool.Name == "list_directory"
			}
			if changes == plan || !looks || strings.Contains(p.System, "Plan mode is on") != plan {
				t.Errorf("plan mode %v: %d tools, of which one changes something: %v; system message %q", plan, len(p.Tools), changes, p.System)
			}
		}
	}
	files := func(want ...string) {
		t.Helper()
		for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
			if _, err := os.Stat(filepath.Join(gw.Folder(gatewaytest.Ann), name)); (err == nil) != slices.Contains(want, name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	ask("delegate", `"status":"ok"`)
	files("b.txt")
	offered(false, 4)
	ask("/plan", "Plan mode is on: from your next message on I look around and propose, but change nothing. /plan ends it.")
	ask("/status", "Plan mode is on: I change nothing.")
	ask("write a.txt", "Unknown tool 'write_file'")
	ask("again", "Unknown tool 'write_file'") // a sub-agent whose row lets it write
	ask("delegate", "Unknown tool 'write_file'")
	files("b.txt")
	offered(true, 10)

	gw.Stop()
	gw = env.Start()
	ask("write a.txt", "Unknown tool 'write_file'")
	offered(true, 2)
	ask("/plan a party", "/plan begins plan mode and ends it again")
	ask("/new", "A new conversation. I have forgotten what was said before. Plan mode ended with the one before.")
	ask("hello", "re: hello")
	offered(false, 1)
	ask("/resume 1", "Plan mode is on here: /plan ends it.")
	ask("/plan ON", "Plan mode is on already.")
	ask("/plan", "Plan mode is over: from your next message on I may change things again.")
	ask("/plan off", "Plan mode is not on.")
	if got := gw.Ask(gatewaytest.Ann, "/status"); strings.Contains(got, "Plan") {
		t.Errorf("/status says %q", got)
	}
	ask("again", `"status":"ok"`) // that of the last delegation was made in plan mode, and has the rights of then
	ask("write a.txt", "a.txt")
	files("a.txt", "b.txt")
}
