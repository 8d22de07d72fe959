package gateway_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/tools/sandbox"
)

// scripting has the tool bash run what a person says, and answers with its result.
func scripting(offered chan<- bool) model.Brain {
	return func(_ context.Context, p *model.Prompt) model.Answer {
		// A turn that ended with results of tools has the next message behind them.
		if rs := p.Answering(); len(rs) > 0 && !strings.HasPrefix(rs[0].Text, "This call needs a person's permission") && !strings.Contains(rs[0].Text, "has refused it") {
			return model.Reply(model.Say("```\n" + rs[0].Text + "\n```"))
		}
		offered <- slices.ContainsFunc(p.Tools, func(t model.Tool) bool { return t.Name == "bash" })
		return model.Reply(model.Use("bash", map[string]string{"command": p.LastText()}))
	}
}

// F05, F21, F23, H03, J01, J03, TS13: an operator gives agents the tool bash. Scripts run in the
// conversation's workspace behind walls, without a secret and without a network; what is on the
// list of those that never run does not, and what a person would have to allow is refused.
// (docs/decisions/0079)
func TestAnAgentRunsScripts(t *testing.T) {
	t.Setenv("PARLEY_TEST_CANARY", "canary-5f1e")
	offered := make(chan bool, 100)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: scripting(offered), Change: func(c *settings.Config) {
		c.Bash = settings.BashConfig{Enabled: true, Denied: []string{"tac"}}
	}})
	gw := env.Start()
	client := admin.NewClient(gw.AdminSocket())
	st, err := client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st.Sandbox == nil || st.Sandbox.Usable == (st.Sandbox.Level == "D") || (len(st.Sandbox.Reasons) == 0) != (st.Sandbox.Level == "A") {
		t.Fatalf("the status says of the sandbox %+v", st.Sandbox)
	}
	t.Logf("sandbox of this machine: level %s %q", st.Sandbox.Level, st.Sandbox.Reasons)
	if !st.Sandbox.Usable { // in a container that may make no namespaces, as root
		gw.Ask(gatewaytest.Ann, "ls")
		if <-offered || st.Fine {
			t.Errorf("without walls the tool is offered, or the status is fine: %+v", st)
		}
		return
	}
	for _, row := range []struct{ script, want, not string }{
		{"echo hi > a.txt && cat a.txt", "exit code: 0\nstdout:\nhi", ""},
		{"ls no-such-file", "exit code: 2\nstdout:\nstderr:\n", ""},
		{"env", "PATH=", "canary-5f1e"},
		{"cat /proc/1/environ", "not run: ", "canary-5f1e"},
		{"ls /home", "needs a person's approval", "exit code"},
		{"rm a.txt", "not run: ", "exit code"},
		{"tac a.txt", "not run: ", "exit code"},
		{"no-such-program", "needs a person's approval", "exit code"},
		{"ls && cat a.txt", "a.txt\nhi", ""},
	} {
		got := gw.Ask(gatewaytest.Ann, row.script)
		if !strings.Contains(got, row.want) || row.not != "" && strings.Contains(got, row.not) {
			t.Errorf("%q is answered with\n%s\nwant %q, and not %q", row.script, got, row.want, row.not)
		}
		if !<-offered {
			t.Errorf("%q: the tool was not offered", row.script)
		}
	}
	if text, err := os.ReadFile(filepath.Join(gw.Folder(gatewaytest.Ann), "a.txt")); string(text) != "hi\n" {
		t.Errorf("the workspace has %q, %v", text, err)
	}
	list, err := client.Sessions(t.Context(), admin.SessionQuery{})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%+v, %v", list.Sessions, err)
	}
	replaysTheSame(t, recordingOf(t, gw, string(list.Sessions[0].ID)))
}

// Nobody has a shell who was not given one.
func TestScriptsRunOnlyWhereTheOperatorSaysSo(t *testing.T) {
	t.Parallel()
	offered := make(chan bool, 1)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: scripting(offered)})
	gw := env.Start()
	if got := gw.Ask(gatewaytest.Ann, "ls"); <-offered || !strings.Contains(got, "Unknown tool 'bash'") {
		t.Errorf("it is offered, or ran: %s", got)
	}
	st, err := admin.NewClient(gw.AdminSocket()).Status(t.Context())
	if err != nil || st.Sandbox != nil {
		t.Errorf("the status says %+v, %v", st.Sandbox, err)
	}
}

// Without walls /tmp is everybody's, and a script that writes there needs a person.
func TestWithoutWallsScriptsHaveNoFolderButTheWorkspace(t *testing.T) {
	t.Parallel()
	offered := make(chan bool, 10)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: scripting(offered), Change: func(c *settings.Config) {
		c.Bash.Enabled, c.Sandbox.Mode = true, sandbox.ModeUnsafeHost
	}})
	gw := env.Start()
	for script, want := range map[string]string{
		"touch /tmp/parley-bash-test": "needs a person's approval",
		"echo hi > a.txt":             "exit code: 0",
	} {
		if got := gw.Ask(gatewaytest.Ann, script); !strings.Contains(got, want) {
			t.Errorf("%q is answered with %s, want %q", script, got, want)
		}
	}
}
