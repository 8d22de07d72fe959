package gateway_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// budgeted starts an environment with budgets.
func budgeted(t *testing.T, change func(*settings.Config)) *gatewaytest.Running {
	t.Helper()
	return gatewaytest.Open(t, gatewaytest.Options{Change: change}).Start()
}

// said is how often the bot has said something like it in c.
func said(r *gatewaytest.Running, c telegram.Chat, words string) (n int) {
	for _, s := range r.Env.SentTexts(c) {
		n += strings.Count(s, words)
	}
	return n
}

func TestWhoComesToTheEndOfABudgetIsToldOnceAndOthersGoOn(t *testing.T) {
	t.Parallel()
	r := budgeted(t, func(c *settings.Config) { c.Budgets.PersonPerDay = "0.05" })
	ann, asked := telegram.PrivateChat(gatewaytest.Ann), 0
	for said(r, ann, "I cannot answer") == 0 {
		if asked++; asked > 500 {
			t.Fatalf("after %d answers nothing was refused: %s", asked, r.Ask(gatewaytest.Ann, "/cost"))
		}
		r.Ask(gatewaytest.Ann, strings.Repeat("word ", 200))
	}
	texts := r.Env.SentTexts(ann)
	last := texts[len(texts)-1]
	if !regexp.MustCompile(`^I cannot answer: you may spend \$0\.0500 a day here, \$0\.0\d+ of it is used or set aside, and the rest is not enough for this, until 00:00 UTC on \d+ \w+\.$`).MatchString(last) {
		t.Errorf("Ann is told %q", last)
	}
	if asked < 2 {
		t.Error("nothing was answered before")
	}
	if n := said(r, ann, "I cannot answer"); n != 1 {
		t.Errorf("Ann was told %d times", n)
	}
	if got := r.Ask(gatewaytest.Ben, "hello"); !strings.Contains(got, "hello") {
		t.Errorf("Ben is told %q", got)
	}
	if got := r.Ask(gatewaytest.Ann, "/cost"); !strings.Contains(got, "Left (days are UTC): $19.") || !strings.Contains(got, "of $0.0500 for you today") {
		t.Errorf("/cost says %q", got)
	}
	r.AwaitMetrics(
		`parley_budget_denials_total{action="refused",scope="peer"} 1`,
		`parley_turns_total{channel="tg",chat="dm",outcome="budget"} 1`,
	)
}

func TestTheBudgetOfAllNamesNoAmounts(t *testing.T) {
	t.Parallel()
	r := budgeted(t, func(c *settings.Config) { c.Budgets.GlobalPerDay = "0.000001" })
	got := r.Ask(gatewaytest.Ann, "hello")
	if !strings.HasPrefix(got, "I cannot answer: the budget of this bot for today is used up, until 00:00 UTC on ") || strings.Contains(got, "$") {
		t.Errorf("Ann is told %q", got)
	}
}

func TestNewFreesAConversationThatHasUsedItsBudget(t *testing.T) {
	t.Parallel()
	r := budgeted(t, func(c *settings.Config) { c.Budgets.Session = "0.08" })
	got := ""
	for n := 0; !strings.Contains(got, "I cannot answer"); n++ {
		if n > 200 {
			t.Fatalf("nothing was refused: %s", r.Ask(gatewaytest.Ann, "/cost"))
		}
		got = r.Ask(gatewaytest.Ann, strings.Repeat("word ", 200))
	}
	if !strings.Contains(got, "one conversation may cost $0.0800 here, $0.0") || !strings.HasSuffix(got, "; /new starts a new one.") {
		t.Errorf("Ann is told %q", got)
	}
	r.Ask(gatewaytest.Ann, "/new")
	if got := r.Ask(gatewaytest.Ann, "again"); !strings.Contains(got, "again") {
		t.Errorf("after /new Ann is told %q", got)
	}
}

func TestATurnThatMayNotGoOnEndsAndSaysWhy(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(_ context.Context, p *model.Prompt) model.Answer {
			if p.Choice.Mode == "none" {
				return model.Reply(model.Say("so far"))
			}
			return model.Reply(model.Say(strings.Repeat("thinking aloud ", 200)), model.Use("list_directory", map[string]string{"path": "."}))
		},
		Change: func(c *settings.Config) { c.Budgets.Turn = "0.08" },
	}).Start()
	got := r.Ask(gatewaytest.Ann, "look around")
	if n := strings.Count(got, "I had to stop: one message may cost $0.0800 here, $0.0"); n != 1 || !strings.Contains(got, "; write again to go on.") {
		t.Errorf("Ann is told %q", got)
	}
	r.AwaitMetrics(
		`parley_budget_denials_total{action="stopped",scope="turn"} 1`,
		`parley_budget_denials_total{action="refused",scope="turn"} 0`,
	)
}

// I10: a gateway that nobody configured budgets for has them.
func TestAModelWithoutAPriceIsRefusedWhenNothingIsSaidOfBudgets(t *testing.T) {
	t.Parallel()
	r := budgeted(t, func(c *settings.Config) {
		c.Agents = map[string]settings.AgentConfig{"main": {Model: "sim/nobody-knows-it"}}
	})
	if got := r.Ask(gatewaytest.Ann, "hello"); got != "I cannot answer: nobody told me what my model costs, and spending is limited here, so please tell the operator." {
		t.Errorf("Ann is told %q", got)
	}
	if n := len(r.Env.Model.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestABudgetThatEndsASubAgentIsCounted(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(_ context.Context, p *model.Prompt) model.Answer {
			if rs := p.Answering(); len(rs) > 0 {
				head, _, _ := strings.Cut(rs[0].Text, "\n")
				return model.Reply(model.Say(head))
			}
			return model.Reply(model.Use("sessions_spawn", map[string]string{"task": "find gold", "max_cost_usd": "0.000001"}))
		},
	}).Start()
	if got := r.Ask(gatewaytest.Ann, "go"); !strings.Contains(got, `"status":"budget"`) {
		t.Errorf("the sub-agent ended as %q", got)
	}
	r.AwaitMetrics(`parley_budget_denials_total{action="refused",scope="session"} 1`)
}

// The end of a budget that may be raised is asked about in the chat; it is raised there by a button's
// word, by an approver from their own chat, and by the operator, each time for one scope and a while.
func TestABudgetIsRaisedInTheChat(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Change: func(c *settings.Config) {
		c.Budgets.Session, c.Budgets.Pause.RaiseBy = "0.03", map[string]string{"session": "0.03"}
		for name, a := range c.Channels.Telegram {
			a.Access.Approvers = []string{"1001"}
			c.Channels.Telegram[name] = a
		}
	}})
	r := env.Start()
	ask := func() string {
		t.Helper()
		for n := 0; ; n++ {
			if got := r.Ask(gatewaytest.Ann, strings.Repeat("word ", 400)); strings.Contains(got, "May I go on?") {
				return codeInQuestion.FindStringSubmatch(got)[1]
			} else if n > 200 {
				t.Fatalf("nothing was asked: %s", r.Ask(gatewaytest.Ann, "/cost"))
			}
		}
	}
	code := ask()
	if got := r.Ask(gatewaytest.Ann, "/approve "+code); !strings.Contains(got, "1001 has permitted to spend $0.0300 more. Go on where you stopped.") && !strings.Contains(got, "has permitted to spend $0.0300 more. Go on where you stopped.") {
		t.Errorf("it went on with %q", got)
	}
	if got := r.Ask(gatewaytest.Ann, "/cost"); !strings.Contains(got, "of $0.0600 for this conversation") {
		t.Errorf("/cost says %q", got)
	}
	code = ask()
	client := admin.NewClient(r.AdminSocket())
	d, err := client.Approval(t.Context(), code)
	if err != nil || d.Raise == nil || d.Raise.Budget != "session" || d.Raise.Holds || !strings.Contains(d.Text, "budget: session of $0.06, of which $0.0") {
		t.Errorf("the operator sees %+v, %v", d, err)
	}
	a, err := client.Decide(t.Context(), code, true)
	if err != nil || !strings.HasPrefix(a.By, "the operator (uid ") || a.Raise == nil || !a.Raise.Holds || a.Raise.Until.Sub(a.Decided) != time.Hour {
		t.Errorf("the operator raises: %+v, %v", a, err)
	}
	if got := env.DeliveredText(telegram.PrivateChat(gatewaytest.Ann), r.NextDelivered()); !strings.Contains(got, "the operator has permitted to spend $0.0300 more") {
		t.Errorf("it went on with %q", got)
	}
	code = ask()
	if got := r.Ask(gatewaytest.Ann, "/deny "+code); !strings.HasSuffix(got, "has refused a higher budget, so I leave it there.") {
		t.Errorf("refused: %q", got)
	}
	list, err := client.Sessions(t.Context(), admin.SessionQuery{})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%+v, %v", list.Sessions, err)
	}
	replaysTheSame(t, recordingOf(t, r, string(list.Sessions[0].ID)))
}
