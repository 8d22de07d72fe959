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
	"parley/simulators/telegram"
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
	pressRefuse(t, env, third)
	if got := env.DeliveredText(telegram.PrivateChat(gatewaytest.Ann), gw.NextDelivered()); !strings.Contains(got, "permission was denied") {
		t.Errorf("the button is answered with %q", got)
	}
	if _, err := os.Stat(filepath.Join(gw.Folder(gatewaytest.Ann), "three.txt")); !os.IsNotExist(err) {
		t.Errorf("the script that was refused ran: %v", err)
	}

	fourth := code(ask("no-such-program || echo four", "May I use bash?"))
	client := admin.NewClient(gw.AdminSocket())
	if d, err := client.Approval(t.Context(), fourth); err != nil || d.Text != "no-such-program || echo four" || d.State != admin.AwaitsApproval || d.Asker != "1001" {
		t.Errorf("the operator sees %+v, %v", d, err)
	}
	if st, err := client.Status(t.Context()); err != nil || st.Work.Asked != 1 {
		t.Errorf("the status says %+v, %v", st.Work, err)
	}
	if a, err := client.Decide(t.Context(), fourth, true); err != nil || !strings.HasPrefix(a.By, "the operator (uid ") {
		t.Errorf("the operator permits: %+v, %v", a, err)
	}
	if got := env.DeliveredText(telegram.PrivateChat(gatewaytest.Ann), gw.NextDelivered()); !strings.Contains(got, "stdout:\nfour") {
		t.Errorf("what the operator permitted is answered with %q", got)
	}
	if _, err := client.Decide(t.Context(), fourth, true); err == nil || !strings.Contains(err.Error(), "the operator has permitted the call of bash") {
		t.Errorf("permitted twice: %v", err)
	}
	page, err := client.Approvals(t.Context())
	if err != nil || len(page.Approvals) != 4 || page.Approvals[2].State != admin.ApprovalRefused || page.Approvals[3].State != admin.ApprovalUsed {
		t.Errorf("all requests: %+v, %v", page.Approvals, err)
	}
	list, err := client.Sessions(t.Context(), admin.SessionQuery{})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%+v, %v", list.Sessions, err)
	}
	replaysTheSame(t, recordingOf(t, gw, string(list.Sessions[0].ID)))
}

// pressRefuse lets Ann press the button under the question of that code that refuses it.
func pressRefuse(t *testing.T, env *gatewaytest.Env, code string) {
	t.Helper()
	says := "/deny " + code
	for _, m := range env.Telegram.Books().Messages {
		if markup := m.Versions[len(m.Versions)-1].Markup; strings.Contains(markup, `"callback_data":"`+says+`"`) {
			if _, err := env.Telegram.Press(gatewaytest.Ann, gatewaytest.Ann.ID, m.MessageID, says, telegram.PressOptions{}); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no message has a button that says %q", says)
}

// typedAs is what a question says that permits it.
var typedAs = regexp.MustCompile(`(\S+approve [0-9A-Z]{5}) permits it once`)

// On each network a person types what the question says, and another person's word counts for
// nothing; what that one's agent asks, the first one reads and permits in their own chat.
func TestPeoplePermitOnEveryNetwork(t *testing.T) {
	t.Parallel()
	offered := make(chan bool, 100)
	const ann, ben = 70070001, 70070002
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: gatewaytest.AllNetworks(), Brain: scripting(offered), Change: func(c *settings.Config) {
		c.Bash.Enabled = true
		for name, a := range c.Channels.Telegram {
			a.Access.Approvers = []string{"70070001"}
			c.Channels.Telegram[name] = a
		}
		for name, a := range c.Channels.Slack {
			a.Access.Approvers = []string{gatewaytest.SlackPerson(ann).ID}
			c.Channels.Slack[name] = a
		}
		for name, a := range c.Channels.Signal {
			a.Access.Approvers = []string{gatewaytest.SignalPerson(ann).ACI}
			c.Channels.Signal[name] = a
		}
	}})
	env.Start()
	for _, n := range gatewaytest.AllNetworks() {
		p := env.Direct(n, ann)
		p.Say("no-such-program || echo permitted-it")
		shown := p.AwaitWords("May I use bash?")
		m := typedAs.FindStringSubmatch(shown[len(shown)-1])
		if m == nil {
			t.Fatalf("%s: no question: %q", p, shown)
		}
		p.Say(m[1])
		p.AwaitWords("stdout:\npermitted-it")
		other := env.Direct(n, ben)
		other.Say("no-such-program || echo by-another")
		other.AwaitWords("You may not decide about it yourself.")
		other.Say(m[1])
		other.AwaitWords("nothing waits that you may decide about")
		sign, _, _ := strings.Cut(m[1], "approve")
		p.Say(sign + "approvals")
		listed := p.AwaitWords("May I use bash? Asked by")
		p.Say(typedAs.FindStringSubmatch(listed[len(listed)-1])[1])
		p.AwaitWords("Its result goes to the chat where it was asked.")
		other.AwaitWords("stdout:\nby-another")
	}
}
