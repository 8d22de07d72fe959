package gateway_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
)

var codeInQuestion = regexp.MustCompile(`/approve ([0-9A-Z]{5})`)

// F03, F27, K01, K03, W06: a script that needs permission is asked about in the chat. It runs
// when an approver says so, over a restart, once, and not when they refuse it, or when the file
// that it runs is another one by then. (docs/decisions/0081)
func TestPeoplePermitScriptsInTheChat(t *testing.T) {
	t.Parallel()
	offered := make(chan bool, 100)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: scripting(offered), Change: func(c *settings.Config) {
		c.Bash.Enabled = true
		for name, a := range c.Channels.Telegram {
			a.Access.Approvers = []string{"1001"}
			c.Channels.Telegram[name] = a
		}
	}})
	gw := env.Start()
	ask := func(text, want string) string {
		t.Helper()
		got := gw.Ask(gatewaytest.Ann, text)
		if !strings.Contains(got, want) {
			t.Fatalf("%q is answered with\n%s\nwant %q", text, got, want)
		}
		return got
	}
	code := func(question string) string {
		t.Helper()
		m := codeInQuestion.FindStringSubmatch(question)
		if m == nil {
			t.Fatalf("no question: %s", question)
		}
		return m[1]
	}
	ask("echo 'echo one' > build", "exit code: 0")
	first := code(ask("no-such-program || sh build", "May I use bash?"))
	ask("echo still here", "still here")
	gw.Stop()
	gw = env.Start()
	ask("/approve "+first, "stdout:\none")
	ask("/approve "+first, "has permitted the call of bash")
	second := code(ask("no-such-program || sh build", "May I use bash?"))
	ask("echo 'echo two' > build", "exit code: 0")
	ask("/approve "+second, "what was permitted has changed since")
	third := code(ask("no-such-program || echo three > three.txt", "May I use bash?"))
	ask("/deny "+third, "permission was denied")
	if _, err := os.Stat(filepath.Join(gw.Folder(gatewaytest.Ann), "three.txt")); !os.IsNotExist(err) {
		t.Errorf("the script that was refused ran: %v", err)
	}
	list, err := admin.NewClient(gw.AdminSocket()).Sessions(t.Context(), admin.SessionQuery{})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%+v, %v", list.Sessions, err)
	}
	replaysTheSame(t, recordingOf(t, gw, string(list.Sessions[0].ID)))
}
