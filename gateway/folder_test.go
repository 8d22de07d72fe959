package gateway_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/tools/sandbox"
)

// moving chooses a folder when a person says "cd", and runs in the same answer what they say
// behind a semicolon; "delegate" has a sub-agent run pwd; anything else is a script.
func moving(_ context.Context, p *model.Prompt) model.Answer {
	script := func(text string) model.Block {
		return model.Use("bash", map[string]string{"command": strings.TrimSpace(text)})
	}
	if rs := p.Answering(); len(rs) > 0 && !strings.HasPrefix(rs[0].Text, "This call needs a person's permission") {
		var all []string
		for _, r := range rs {
			all = append(all, r.Text)
		}
		return model.Reply(model.Say("```\n" + strings.Join(all, "\n") + "\n```"))
	}
	text := p.LastText()
	if dir, ok := strings.CutPrefix(text, "cd "); ok {
		dir, then, more := strings.Cut(dir, ";")
		blocks := []model.Block{model.Use("set_working_directory", map[string]string{"path": dir})}
		if more {
			blocks = append(blocks, script(then))
		}
		return model.Reply(blocks...)
	}
	if text == "delegate" {
		return model.Reply(model.Use("sessions_spawn", map[string]string{"task": "pwd; echo $mood"}))
	}
	return model.Reply(script(text))
}

// AF01, AF02: a model chooses the folder in which commands begin, from the next turn on; the
// turn's sub-agents begin there too, it outlives a restart and belongs to its session. What a
// person permitted runs where it was asked for. The operator's variables are in every script.
// (docs/decisions/0091)
func TestAWorkingDirectoryHoldsFromTheNextTurnOn(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: moving, Change: func(c *settings.Config) {
		c.Bash.Enabled, c.Sandbox.Mode = true, sandbox.ModeUnsafeHost
		c.Bash.Environment = map[string]string{"mood": "calm"}
		c.Subagents.Tools = []string{"bash", "set_working_directory"}
		for name, a := range c.Channels.Telegram {
			a.Access.Approvers = []string{"1001"}
			c.Channels.Telegram[name] = a
		}
	}})
	gw := env.Start()
	ask := func(text string, want ...string) string {
		t.Helper()
		got := gw.Ask(gatewaytest.Ann, text)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%q is answered with\n%s\nwant %q", text, got, w)
			}
		}
		return got
	}
	const inSub = "folder: \"sub\"\nstdout:\n"
	ask("mkdir -p sub/deep; touch sub/in-sub at-root", "exit code: 0")
	ask("cd ../..", "../.. is not in the workspace")
	ask("cd sub; ls", "commands begin in \"sub\"", "exit code: 0\nstdout:\nat-root") // still in this turn
	ask("ls; echo $mood", inSub+"deep\nin-sub\ncalm")
	ask("delegate", inSub, "calm")
	gw.Stop()
	gw = env.Start()
	ask("ls", inSub)

	question := ask("no-such-program || ls", "It runs in the folder sub of the workspace, in no sandbox")
	code := codeInQuestion.FindStringSubmatch(question)
	if code == nil {
		t.Fatalf("no question: %s", question)
	}
	ask("cd .", "commands begin in the workspace")
	ask("/approve "+code[1], inSub+"deep\nin-sub")
	ask("ls", "exit code: 0\nstdout:\nat-root")

	ask("cd sub/deep", "commands begin in \"sub/deep\"")
	list, err := admin.NewClient(gw.AdminSocket()).Sessions(t.Context(), admin.SessionQuery{})
	if err != nil || len(list.Sessions) == 0 {
		t.Fatalf("%+v, %v", list.Sessions, err)
	}
	replaysTheSame(t, recordingOf(t, gw, string(list.Sessions[len(list.Sessions)-1].ID)))
	if err := os.Remove(filepath.Join(gw.Folder(gatewaytest.Ann), "sub", "deep")); err != nil {
		t.Fatal(err)
	}
	ask("ls", "exit code: 0\nstdout:\nat-root") // the folder is gone
	ask("cd sub", "commands begin in \"sub\"")
	ask("/new", "A new conversation")
	ask("ls", "exit code: 0\nstdout:")
	ask("/resume 1", "")
	ask("ls", inSub)
}
