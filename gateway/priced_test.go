package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"parley/costs"
	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/sessions"
	"parley/simulators/model"
	"parley/simulators/telegram"
	"parley/tools"
	"parley/tools/commandline"
	"parley/tools/web"
)

// engine is a search engine that counts what it is asked, and answers with a status.
type engine struct {
	*httptest.Server
	asked  atomic.Int64
	status atomic.Int64
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	e := &engine{}
	e.status.Store(http.StatusOK)
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		e.asked.Add(1)
		w.WriteHeader(int(e.status.Load()))
		_, _ = fmt.Fprint(w, `{"results":[{"title":"The menu","url":"http://menu.example/","content":"cod"}]}`)
	}))
	t.Cleanup(e.Close)
	return e
}

// search gives the agents the engine, at a price, and person 1001 the right to decide.
func (e *engine) search(price string, change ...func(*settings.Config)) func(*settings.Config) {
	return func(c *settings.Config) {
		c.Web.Search = settings.WebSearchConfig{Kind: web.KindSearXNG, URL: e.URL, Price: price}
		for name, a := range c.Channels.Telegram {
			a.Access.Approvers = []string{"1001"} // Ann
			c.Channels.Telegram[name] = a
		}
		for _, f := range change {
			f(c)
		}
	}
}

// wantGroup wants the group of a sum of usage.
func wantGroup(t *testing.T, gw *gatewaytest.Running, by admin.Grouping, group string, calls int64, cost costs.Amount) {
	t.Helper()
	used, err := admin.NewClient(gw.AdminSocket()).Usage(t.Context(), admin.UsageQuery{By: by})
	noError(t, err)
	for _, g := range used.Groups {
		if g.Group == group {
			if g.Calls != calls || g.Interrupted != 0 || costs.Amount(g.Cost) != cost {
				t.Errorf("by %s: %+v, want %d calls for %s", by, g, calls, cost)
			}
			return
		}
	}
	t.Errorf("by %s there is no %s: %+v", by, group, used.Groups)
}

// requirements M01, M07: a search that costs money is on the books: in the conversation's cost,
// by tool and purpose, and in Prometheus, and a recording knows it. (docs/decisions/0096)
func TestASearchWithAPriceIsOnTheBooks(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: surfing, Change: e.search("0.005")})
	gw := env.Start()
	gw.AwaitMetrics(`parley_tool_cost_usd_total{channel="tg",tool="web_search"} 0`)
	first := env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "find the menu").MessageID
	gw.NextDelivered()
	if got := gw.Ask(gatewaytest.Ann, "find the menu"); !strings.Contains(got, "http://menu.example/") {
		t.Fatalf("answered with %s", got)
	}
	gw.AwaitMetrics(`parley_tool_cost_usd_total{channel="tg",tool="web_search"} 0.01`)
	e.status.Store(http.StatusTooManyRequests) // which nobody charges for
	if got := gw.Ask(gatewaytest.Ann, "find the menu"); !strings.Contains(got, "asked too often") {
		t.Errorf("answered with %s", got)
	}
	wantGroup(t, gw, sessions.ByModel, "tools/web_search", 3, costs.USD/100)
	wantGroup(t, gw, sessions.ByPurpose, "tool", 3, costs.USD/100)
	reconciles(t, gw)
	why, err := admin.NewClient(gw.AdminSocket()).Why(t.Context(), admin.WhyQuery{Message: fmt.Sprint(first)})
	if err != nil || len(why.Fates) != 1 || why.Fates[0].Turn == nil {
		t.Fatalf("%+v, %v", why, err)
	}
	turn := why.Fates[0].Turn // two calls of the model and a search
	if models := turn.Spent - admin.USD(costs.USD/200); turn.Calls != 3 || turn.Reserved <= admin.USD(costs.USD/200) || models <= 0 || turn.Total != turn.Spent {
		t.Errorf("of a search parley why says %+v", turn)
	}

	list, err := admin.NewClient(gw.AdminSocket()).Sessions(t.Context(), admin.SessionQuery{})
	if err != nil || len(list.Sessions) != 1 || costs.Amount(list.Sessions[0].Subtree) <= costs.USD/100 {
		t.Fatalf("%+v, %v", list.Sessions, err)
	}
	replaysTheSame(t, recordingOf(t, gw, string(list.Sessions[0].ID)))
}

// reconciles holds what Prometheus has in all to the ledger.
func reconciles(t *testing.T, gw *gatewaytest.Running) {
	t.Helper()
	used, err := admin.NewClient(gw.AdminSocket()).Usage(t.Context(), admin.UsageQuery{By: sessions.ByPurpose})
	noError(t, err)
	sum := 0.0
	for _, m := range costSeries.FindAllStringSubmatch(gw.Scrape(), -1) {
		var dollars float64
		_, err := fmt.Sscan(m[1], &dollars)
		noError(t, err)
		sum += dollars
	}
	if want := costs.Amount(used.Total.Cost).Dollars(); sum < want-1e-9 || sum > want+1e-9 {
		t.Errorf("Prometheus has %v, the ledger %v", sum, want)
	}
}

// A budget that has no room for a search refuses it, and the model goes on without. Where the
// budget may be raised, the turn waits for a person and goes on when they have raised it.
// (requirements M09; docs/decisions/0096)
func TestABudgetRefusesASearch(t *testing.T) {
	t.Parallel()
	t.Run("the model reads why", func(t *testing.T) {
		t.Parallel()
		e := newEngine(t)
		gw := gatewaytest.Open(t, gatewaytest.Options{Brain: surfing, Change: e.search("3", func(c *settings.Config) { c.Budgets.PersonPerDay, c.Budgets.Turn = "5", "none" })}).Start()
		if got := gw.Ask(gatewaytest.Ann, "find the menu"); !strings.Contains(got, "http://menu.example/") {
			t.Fatalf("answered with %s", got)
		}
		got := gw.Ask(gatewaytest.Ann, "find the menu")
		if !strings.Contains(got, "Error: not run: the budget does not allow it: a call of web_search costs $3.00, and you may spend $5.00 a day here, $3.") || e.asked.Load() != 1 {
			t.Errorf("asked %d times, answered with %s", e.asked.Load(), got)
		}
		wantGroup(t, gw, sessions.ByPurpose, "tool", 1, 3*costs.USD)
		gw.AwaitMetrics(`parley_turns_total{channel="tg",chat="dm",outcome="ok"} 2`) // the turn was not ended by it
		reconciles(t, gw)
	})
	t.Run("a person raises it", func(t *testing.T) {
		t.Parallel()
		e := newEngine(t)
		env := gatewaytest.Open(t, gatewaytest.Options{Brain: searchingAgain, Change: e.search("3", func(c *settings.Config) {
			c.Budgets.PersonPerDay, c.Budgets.Turn = "2", "none"
			c.Budgets.Pause.RaiseBy = map[string]string{"person_per_day": "2"}
		})})
		gw := env.Start()
		question := gw.Ask(gatewaytest.Ann, "find the menu")
		m := codeInQuestion.FindStringSubmatch(question)
		if m == nil || !strings.Contains(question, "May I go on?") || !strings.Contains(question, "I need more money for that: a call of web_search costs $3.00, and $2.00 is the most that you may spend a day here.") || e.asked.Load() != 0 {
			t.Fatalf("asked %q", question)
		}
		gw.Stop() // and nothing of it is lost
		gw = env.Start()
		if got := gw.Ask(gatewaytest.Ann, "/approve "+m[1]); !strings.Contains(got, "http://menu.example/") || e.asked.Load() != 1 {
			t.Errorf("asked %d times, answered with %s", e.asked.Load(), got)
		}
		wantGroup(t, gw, sessions.ByPurpose, "tool", 1, 3*costs.USD)
		list, err := admin.NewClient(gw.AdminSocket()).Sessions(t.Context(), admin.SessionQuery{})
		noError(t, err)
		replaysTheSame(t, recordingOf(t, gw, string(list.Sessions[0].ID)))
	})
}

// requirements K03: who is asked about a call reads what it costs, and their permission holds
// for that price. (docs/decisions/0096)
func TestAPermissionHoldsForThePriceThatWasShown(t *testing.T) {
	t.Parallel()
	offered := make(chan []string, 100)
	specs := kubectl(t, "echo ran")[2:]
	price := func(text string) func(*settings.Config) {
		return func(c *settings.Config) {
			priced := []commandline.Spec{specs[0]}
			priced[0].Price = text
			a := c.Agents["main"]
			a.Tools = []string{"deploy_app"}
			c.Agents["main"], c.Tools.Commands = a, priced
			for name, a := range c.Channels.Telegram {
				a.Access.Approvers = []string{"1001"} // Ann
				c.Channels.Telegram[name] = a
			}
		}
	}
	gw := gatewaytest.Open(t, gatewaytest.Options{Brain: using(offered), Change: price("0.25")}).Start()
	if st, err := admin.NewClient(gw.AdminSocket()).Status(t.Context()); err != nil || st.Sandbox == nil || !st.Sandbox.Usable {
		t.Skipf("no programs run here: %+v, %v", st.Sandbox, err)
	}
	if specs[0].Category != tools.Admin {
		t.Fatal("the tool needs no permission")
	}
	ask := func() string {
		question := gw.Ask(gatewaytest.Ann, `deploy_app {"environment":"staging"}`)
		m := codeInQuestion.FindStringSubmatch(question)
		if m == nil || !strings.Contains(question, "The call costs $0.25 at most.") && !strings.Contains(question, "The call costs $0.50 at most.") {
			t.Fatalf("no question with the price: %s", question)
		}
		return m[1]
	}
	first, second := ask(), ask()
	if got := gw.Ask(gatewaytest.Ann, "/approve "+first); !strings.Contains(got, "stdout:\nran") {
		t.Errorf("answered with %s", got)
	}
	wantGroup(t, gw, sessions.ByModel, "tools/deploy_app", 1, costs.USD/4)
	gw.Reconfigure(price("0.50"))
	if got := gw.Ask(gatewaytest.Ann, "/approve "+second); !strings.Contains(got, "what was permitted has changed since") {
		t.Errorf("at another price: %s", got)
	}
	third := ask()
	if got := gw.Ask(gatewaytest.Ann, "/approve "+third); !strings.Contains(got, "stdout:\nran") {
		t.Errorf("answered with %s", got)
	}
	wantGroup(t, gw, sessions.ByModel, "tools/deploy_app", 2, 3*costs.USD/4)
	reconciles(t, gw)
}

// searchingAgain searches for what a person asks, and again when more money was permitted.
func searchingAgain(ctx context.Context, p *model.Prompt) model.Answer {
	rs := p.Answering()
	if strings.Contains(p.LastText(), "has permitted to spend") && (len(rs) == 0 || strings.Contains(rs[0].Text, "not run")) {
		return model.Reply(model.Use("web_search", map[string]string{"query": "the menu"}))
	}
	return surfing(ctx, p)
}

// What a sub-agent's search costs counts for its parent, and in the budget of the message.
func TestASearchOfASubAgentCountsForItsParent(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	brain := func(ctx context.Context, p *model.Prompt) model.Answer {
		if rs := p.Answering(); len(rs) == 0 && slices.ContainsFunc(p.Tools, func(t model.Tool) bool { return t.Name == "sessions_send" }) {
			return model.Reply(model.Use("sessions_spawn", map[string]string{"task": "find the menu"}))
		}
		return surfing(ctx, p)
	}
	gw := gatewaytest.Open(t, gatewaytest.Options{Brain: brain, Change: e.search("0.4", func(c *settings.Config) {
		c.Subagents.Tools = []string{"web_search"}
		c.Budgets.Turn = "0.5"
	})}).Start()
	if got := gw.Ask(gatewaytest.Ann, "go"); !strings.Contains(got, "http://menu.example/") || e.asked.Load() != 1 {
		t.Fatalf("asked %d times, answered with %s", e.asked.Load(), got)
	}
	list, err := admin.NewClient(gw.AdminSocket()).Sessions(t.Context(), admin.SessionQuery{})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%+v, %v", list.Sessions, err)
	}
	root := list.Sessions[0]
	if price := 4 * costs.USD / 10; costs.Amount(root.Own) >= price || costs.Amount(root.Subtree) <= price {
		t.Errorf("the parent's own %s, with the child %s", root.Own, root.Subtree)
	}
	reconciles(t, gw)
	replaysTheSame(t, recordingOf(t, gw, string(root.ID)))
}
