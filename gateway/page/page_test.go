package page_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/broker/brokertest"
	"parley/costs"
	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/sessions/redis/redistest"
	"parley/simulators/telegram"
)

// What the overview says was spent is what the ledger says, to the last digit, and a session's tree
// adds up to it; a turn shows its calls.
func TestThePageShowsTheLedger(t *testing.T) {
	t.Parallel()
	gw := open(t, gatewaytest.Options{})
	gw.Ask(gatewaytest.Ann, "research the weather")
	used, err := client(gw).Usage(t.Context(), admin.UsageQuery{By: "model"})
	if err != nil {
		t.Fatal(err)
	}
	total := "$" + used.Total.Cost.Exact()
	b := newBrowser(t, gw).logIn()
	overview := b.see("/")
	if used.Total.Cost == 0 || !strings.Contains(overview, "<strong>"+total+"</strong> spent of $50.00") {
		t.Errorf("%s was spent, and the overview says\n%s", total, overview)
	}
	list, err := client(gw).Sessions(t.Context(), admin.SessionQuery{})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	path := "/sessions/" + string(list.Sessions[0].ID)
	for _, page := range []string{overview, b.see("/sessions"), b.see("/sessions?sort=cost&channel=main")} {
		if !strings.Contains(page, `href="`+path+`"`) && !strings.Contains(page, "There is none.") {
			t.Errorf("the session is not in\n%s", page)
		}
	}
	session := b.see(path)
	d, err := client(gw).Session(t.Context(), string(list.Sessions[0].ID), false)
	if err != nil || len(d.Tree) < 2 {
		t.Fatalf("%+v, %v", d.Tree, err)
	}
	if !strings.Contains(session, "<caption>"+total+" in all</caption>") {
		t.Errorf("the tree costs %s, and it says\n%s", total, session)
	}
	for _, n := range d.Tree {
		if !strings.Contains(session, string(n.ID)) || !strings.Contains(session, ">own $"+n.Own.Exact()+"<") {
			t.Errorf("%s with %s is not in\n%s", n.ID, n.Own.Exact(), session)
		}
	}
	turn := b.see(within(t, session, `href="(/sessions/[^"]+/turns/[^"]+)"`))
	for _, want := range []string{"$" + d.Tree[0].Own.Exact(), "sessions_spawn", "Step 1", "Sub-agents that it started", string(d.Tree[1].ID)} {
		if !strings.Contains(turn, want) {
			t.Errorf("the turn does not show %s:\n%s", want, turn)
		}
	}
	if strings.Contains(turn, "research the weather") {
		t.Error("what was said is shown without being asked for")
	}
	if words := b.see(within(t, session, `href="(/sessions/[^"]+/turns/[^"]+)"`) + "?words=1"); !strings.Contains(words, "research the weather") {
		t.Errorf("what was said is not shown:\n%s", words)
	}
	child := b.see("/sessions/" + string(d.Tree[1].ID))
	if !strings.Contains(child, "of this sub-agent") {
		t.Errorf("a sub-agent's page is\n%s", child)
	}
}

// A permission is given once, whoever sends the form how often, and it is recorded who did it.
func TestAFormActsOnce(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		formActsOnce(t, open(t, gatewaytest.Options{}))
	})
	t.Run("NATS and Redis", func(t *testing.T) {
		t.Parallel()
		log, store := brokertest.Cluster(t, 1), redistest.Start(t, redistest.Options{})
		formActsOnce(t, open(t, gatewaytest.Options{Change: func(c *settings.Config) {
			c.Broker.URL, c.Store.Redis.URL = log.URL(), settings.NewSecret(store.URL)
		}}))
	})
}

func formActsOnce(t *testing.T, gw *gatewaytest.Running) {
	t.Helper()
	gw.Ask(gatewaytest.Ann, "set COLOUR=blue")
	b := newBrowser(t, gw).logIn()
	waiting := b.see("/waiting")
	path := within(t, waiting, `action="(/approvals/[^"]+)"`)
	if !strings.Contains(waiting, "COLOUR=blue") || !strings.Contains(b.see("/"), "<strong>1</strong> for your permission") {
		t.Errorf("what waits is not shown whole:\n%s", waiting)
	}
	form := url.Values{"token": {hidden(t, waiting, "token")}, "once": {hidden(t, waiting, "once")}, "do": {"approve"}}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if status, body := b.send(path, form); status != http.StatusOK {
				t.Errorf("%d: %s", status, body)
			}
		})
	}
	both.Wait()
	gw.NextDelivered()
	page, err := client(gw).Approvals(t.Context())
	if err != nil || len(page.Approvals) != 1 || page.Approvals[0].State != admin.ApprovalUsed || page.Approvals[0].By != "the operator (ann)" {
		t.Errorf("%+v, %v", page.Approvals, err)
	}
	if status, body := b.send(path, form); status != http.StatusOK || !strings.Contains(body, "that was done already, by ann at ") {
		t.Errorf("a third time: %d: %s", status, body)
	}
	form.Set("once", "anotherform1234567")
	if _, body := b.send(path, form); !strings.Contains(body, "Nothing was done: the operator has permitted") {
		t.Errorf("by another form: %s", body)
	}

	overview := b.see("/")
	raise := url.Values{
		"token": {hidden(t, overview, "token")}, "once": {hidden(t, overview, "once")},
		"budget": {"global_per_day"}, "amount": {"2.50"}, "for": {"1h"},
	}
	for range 2 {
		both.Go(func() { b.send("/raise", raise) })
	}
	both.Wait()
	limits, err := client(gw).TotalBudgets(t.Context())
	if err != nil || limits.Budgets[0].Raised != admin.USD(5*costs.USD/2) || len(limits.Raises) != 1 || limits.Raises[0].By != "the operator (ann)" {
		t.Errorf("raised twice: %+v, %v", limits, err)
	}
	did, err := client(gw).Actions(t.Context())
	if err != nil || len(did.Actions) != 3 || did.Actions[0].What != "raise" || did.Actions[0].By != "ann" || did.Actions[0].Ended.IsZero() || did.Actions[0].Problem != "" || did.Actions[1].Problem == "" {
		t.Errorf("%+v, %v", did.Actions, err)
	}
	for _, path := range []string{"/", "/sessions", "/sessions?sort=cost", "/sessions/" + string(page.Approvals[0].Session), "/trouble"} {
		if body := b.see(path); !strings.Contains(body, string(page.Approvals[0].Session)) && path != "/trouble" {
			t.Errorf("%s does not show the session:\n%s", path, body)
		}
	}
	overview = b.see("/")
	_, standing, _ := strings.Cut(overview, "by the operator (ann) at ")
	revoke := url.Values{"token": {hidden(t, standing, "token")}, "once": {hidden(t, standing, "once")}, "back": {hidden(t, standing, "back")}}
	path = within(t, standing, `action="(/raises/[^"]+)"`)
	for _, want := range []string{"Taken back: the budget is lower by $2.50 again.", "that was done already, by ann at "} {
		if status, body := b.send(path, revoke); status != http.StatusOK || !strings.Contains(body, want) || strings.Contains(body, "/raises/") {
			t.Errorf("a raise is taken back: %d: %s", status, body)
		}
	}
	revoke.Set("once", "anotherform7654321")
	if _, body := b.send(path, revoke); !strings.Contains(body, "Nothing was done: that raise is over since ") {
		t.Errorf("taken back by another form: %s", body)
	}
	limits, err = client(gw).TotalBudgets(t.Context())
	if err != nil || limits.Budgets[0].Raised != 0 || limits.Raises[0].State != admin.RaiseRevoked {
		t.Errorf("after it was taken back: %+v, %v", limits, err)
	}
	if actions := b.see("/actions"); strings.Count(actions, "<bdi>ann</bdi>") != 5 || !strings.Contains(actions, "global_per_day by $2.50 for 1h0m0s") {
		t.Errorf("what operators did:\n%s", actions)
	}
}

// A raised budget lets turns go on that it had refused, for its conversation alone.
func TestARaisedBudgetIsSpent(t *testing.T) {
	t.Parallel()
	gw := open(t, gatewaytest.Options{Change: budget})
	if got := gw.Ask(gatewaytest.Ann, "hello"); !strings.Contains(got, "$0.0001") {
		t.Fatalf("the budget of a conversation does not refuse: %s", got)
	}
	gw.Ask(gatewaytest.Ben, "hello")
	b := newBrowser(t, gw).logIn()
	trouble := b.see("/trouble")
	if strings.Count(trouble, ">budget<") != 2 {
		t.Errorf("turns that a budget ended are not in\n%s", trouble)
	}
	d, err := client(gw).Sessions(t.Context(), admin.SessionQuery{})
	if err != nil || len(d.Sessions) != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	anns := d.Sessions[0]
	if !strings.Contains(anns.Key, "1001") {
		anns = d.Sessions[1]
	}
	page := b.see("/sessions/" + string(anns.ID))
	raise := func(amount string) string {
		form := url.Values{
			"token": {hidden(t, page, "token")}, "once": {time.Now().Format("20060102150405") + "abcdef" + strings.ReplaceAll(amount, ".", "x")}, "session": {string(anns.ID)},
			"back": {string(anns.ID)}, "budget": {"session"}, "amount": {amount}, "for": {"1h"},
		}
		_, body := b.send("/raise", form)
		return body
	}
	for amount, want := range map[string]string{
		"-1": "is not by how many dollars", "0": "is not by how many dollars", "1e3": "by how many dollars", "1.25": "Raised by $1.25 until",
	} {
		if body := raise(amount); !strings.Contains(body, want) {
			t.Errorf("raised by %s:\n%s", amount, body)
		}
	}
	_, person, _ := strings.Cut(page, `<input type="hidden" name="budget" value="person_per_day">`)
	form := url.Values{
		"token": {hidden(t, page, "token")}, "once": {"abcdefgh12345678"}, "budget": {"person_per_day"}, "amount": {"2"}, "for": {"1h"}, "back": {string(anns.ID)},
		"channel": {hidden(t, person, "channel")}, "person": {hidden(t, person, "person")},
	}
	if _, body := b.send("/raise", form); !strings.Contains(body, "Raised by $2.00 until") || !strings.Contains(body, "of $7.00") || !strings.Contains(body, "by the operator (ann) at") {
		t.Errorf("a person's budget raised, as the page has it:\n%s", body)
	}
	if got := gw.Ask(gatewaytest.Ann, "hello"); strings.Contains(got, "may cost") {
		t.Errorf("after it was raised: %s", got)
	}
	if got := gw.Ask(gatewaytest.Ben, "hello"); !strings.Contains(got, "may cost") {
		t.Errorf("another conversation's was raised too: %s", got)
	}
}

// Nothing that people write is markup, or turns the page round.
func TestWhatPeopleWriteIsOnlyText(t *testing.T) {
	t.Parallel()
	const evil = `<script>alert(1)</script><img src=x onerror=alert(2)>"'&` + "\u202e\u2066\u200b"
	gw := open(t, gatewaytest.Options{Change: onlyAnn})
	gw.Ask(gatewaytest.Ann, evil+" hello")
	gw.Ask(gatewaytest.Ann, "/title "+evil)
	gw.Ask(gatewaytest.Ann, "set COLOUR=<script>alert(3)</script>")
	mallory := telegram.Person{ID: 6666, FirstName: evil}
	gw.Env.Say(telegram.PrivateChat(mallory), mallory, "let me in")
	gw.NextDelivered()
	b := newBrowser(t, gw).logIn()
	list, err := client(gw).Sessions(t.Context(), admin.SessionQuery{})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	session := "/sessions/" + string(list.Sessions[0].ID)
	turn := within(t, b.see(session), `href="(/sessions/[^"]+/turns/[^"]+)"`)
	var seen []string
	for _, path := range []string{"/", "/sessions", session, turn, turn + "?words=1", "/waiting", "/trouble", "/actions", "/why?message=" + url.QueryEscape(evil)} {
		page := b.see(path)
		if strings.Contains(page, "&lt;script&gt;alert(") {
			seen = append(seen, path)
		}
		for _, bad := range []string{"<script>alert", "<img src=x", "\u202e", "\u2066", "\u200b"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s contains %q:\n%s", path, bad, page)
			}
		}
	}
	if len(seen) < 3 {
		t.Errorf("what people wrote was seen only at %q", seen)
	}
}
