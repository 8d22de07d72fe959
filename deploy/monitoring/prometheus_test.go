package monitoring_test

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/costs"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/sessionkeys"
	"parley/sessions/sqlite"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// digging is the demonstration model, which hands "dig 3" to a child as "dig 2",
// and so on down to "dig 0".
func digging(ctx context.Context, p *model.Prompt) model.Answer {
	depth, digs := strings.CutPrefix(p.LastText(), "dig ")
	n, _ := strconv.Atoi(depth)
	switch {
	case !digs:
		return model.Demo(0)(ctx, p)
	case n > 0 && len(p.Answering()) == 0:
		return model.Reply(model.Use("sessions_spawn", map[string]string{"task": fmt.Sprint("dig ", n-1)}))
	}
	return model.Reply(model.Say("a hole"))
}

// A real Prometheus watches a real gateway: questions, tools, sub-agents of
// three levels, requests that fail and are repeated, streams that break, sends
// that must wait, and a restart in the middle. Afterwards it knows to the pico-dollar what stands in the ledger (I7), all
// rules work, and every panel shows something.
func TestPrometheusKnowsWhatTheLedgerKnows(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	p := startPrometheus(t, strings.TrimPrefix(d.URL, "http://"), asShipped) // it knows its targets after 5 s
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: digging, Change: func(c *settings.Config) {
		c.Subagents.MaxDepth = 3
		c.Web.Search = settings.WebSearchConfig{Kind: "searxng", URL: "http://search.invalid/", Price: "0.005"} // nobody searches
		c.Retry.Base, c.Retry.Cap = time.Millisecond, 10*time.Millisecond
	}})
	gw := env.Start()
	d.open(gw.OpsAddr())
	p.scraped()

	gw.Ask(gatewaytest.Ann, "what is 12*7")
	gw.Ask(gatewaytest.Ann, "list files")
	gw.AskIn(gatewaytest.Kitchen, gatewaytest.Ben, "@"+gatewaytest.Username+" what is 5*5")
	trouble(t, env, gw)
	p.scraped()
	before := p.query("sum(parley_llm_cost_usd_total)")["{}"]

	gw.Stop()
	gw = env.Start()
	d.open(gw.OpsAddr())
	p.scraped()
	if got := p.query("sum(parley_llm_cost_usd_total)")["{}"]; got != before || got == 0 {
		t.Errorf("the restart made %v of %v", got, before)
	}
	gw.Ask(gatewaytest.Ben, "hello")
	gw.Ask(gatewaytest.Ann, "read notes.txt")
	trouble(t, env, gw)
	p.scraped()

	if got := p.query(`sum by (depth) (parley_subagent_spawns_total)`); len(got) != 3 || got[`{"depth":"3"}`] != 2 {
		t.Errorf("sub-agents were started at the depths %v", got)
	}
	if got := p.query(`sum(parley_message_send_retries_total{reason="rate_limited"})`); got["{}"] != 1 {
		t.Errorf("sends that had to wait since the restart: %v", got)
	}
	checkWiring(t, p)
	shown := p.query("parley_llm_cost_usd_total")
	total := p.query("sum(parley_llm_cost_usd_total)")["{}"]
	checkRules(t, p)
	checkPanels(t, p)
	checkFigures(t, p, total)
	if n := len(p.query("ALERTS{alertname=~\"ParleyUnpriced.*|ParleyDown\",alertstate=\"firing\"}")); n != 0 {
		t.Errorf("%d alerts fire", n)
	}
	gw.Stop()
	compare(t, shown, total, ledger(t, env))
}

// trouble lets requests fail in several ways.
func trouble(t *testing.T, env *gatewaytest.Env, gw *gatewaytest.Running) {
	t.Helper()
	for _, f := range []model.Fault{
		{Kind: model.FaultStatus, Status: 529, Next: 1}, // repeated, then answered
		{Kind: model.FaultCut, After: 3, Next: 1},       // a stream that breaks
		{Kind: model.FaultStatus, Status: 401, Next: 1}, // not repeated: told
	} {
		if err := env.Model.Plan(f); err != nil {
			t.Fatal(err)
		}
		gw.Ask(gatewaytest.Ann, "what is 6*7")
		env.Model.ClearFaults()
	}
	if err := env.Telegram.Plan(telegram.Fault{Trouble: telegram.TooManyRequests, Method: "sendMessage", Next: 1}); err != nil {
		t.Fatal(err)
	}
	gw.Ask(gatewaytest.Ben, "dig 3")
	if err := env.Model.Plan(model.Fault{Kind: model.FaultCut, After: 3, Match: "dig 0", Next: 1}); err != nil {
		t.Fatal(err)
	}
	if got := gw.Ask(gatewaytest.Ben, "dig 3"); got != "a hole" {
		t.Errorf("digging gave %q", got)
	}
}

// ledger is the sum of all rows by label, once no gateway has the database.
func ledger(t *testing.T, env *gatewaytest.Env) map[string]costs.Amount {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(env.Dir, "state", "parley.db")})
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]costs.Amount{}
	rows, failed := 0, 0
	err = s.Ledger(t.Context(), "", func(_ sessionkeys.SessionID, e costs.Entry) bool {
		rows++
		if e.Outcome != "ok" {
			failed++
		}
		l := e.Labels
		sums[l.Provider+"/"+l.Model+"/"+l.Channel+"/"+string(l.Purpose)] += e.Amount
		return true
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if rows < 40 || failed < 8 {
		t.Errorf("the ledger has %d rows, %d of them of requests that failed: the test tests too little", rows, failed)
	}
	return sums
}

// compare wants the same to the pico-dollar.
func compare(t *testing.T, shown map[string]float64, total float64, rows map[string]costs.Amount) {
	t.Helper()
	var sum costs.Amount
	for labels, a := range rows {
		sum += a
		if shown[labels] != a.Dollars() {
			t.Errorf("%s: prometheus has %v and the ledger %v", labels, shown[labels], a.Dollars())
		}
	}
	for labels, v := range shown {
		if _, ok := rows[labels]; !ok && v != 0 {
			t.Errorf("%s: prometheus has %v and the ledger nothing", labels, v)
		}
	}
	if sum == 0 || math.Round(total*1e12) != float64(sum) {
		t.Errorf("prometheus has %v in all and the ledger %v", total, sum.Dollars())
	}
}

func checkRules(t *testing.T, p *watcher) {
	t.Helper()
	n := 0
	for _, g := range p.groups() {
		for _, r := range g.Rules {
			n++
			if r.Health != "ok" || r.LastError != "" {
				t.Errorf("the rule %s is %s: %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	if n != 38 {
		t.Errorf("%d rules run", n)
	}
	for _, r := range rules(t) {
		if r.Record == "" {
			continue
		}
		if got := p.query(r.Record); len(got) == 0 {
			t.Errorf("%s is empty", r.Record)
		}
	}
	increase := p.query("sum(model:parley_llm_cost_usd:increase1h)")["{}"]
	if total := p.query("sum(parley_llm_cost_usd_total)")["{}"]; increase < total/2 || increase > total*2 {
		t.Errorf("the last hour cost %v, and all %v", increase, total)
	}
}

var listed = regexp.MustCompile(`(?m)^\| ([a-z_]+) \| (counter|gauge|histogram) \|`)

// checkWiring wants every documented metric to have arrived, and values where
// only the whole gateway sets them.
func checkWiring(t *testing.T, p *watcher) {
	t.Helper()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := listed.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 40 {
		t.Errorf("only %d metrics are documented", len(rows))
	}
	for _, r := range rows {
		name := "parley_" + r[1]
		if r[2] == "histogram" {
			name += "_count"
		}
		if len(p.query(name)) == 0 {
			t.Errorf("%s has not arrived", name)
		}
	}
	for _, expr := range []string{
		"parley_llm_price_table_timestamp_seconds > 1.7e9 < time()",
		"parley_config_last_reload_successful == 1",
		"parley_config_last_reload_success_timestamp_seconds > time() - 3600",
		`parley_budget_limit_usd{scope="global",window="day"} == 50`,
		`abs(parley_budget_spent_usd{scope="global",window="month"} - scalar(sum(parley_llm_cost_usd_total or parley_tool_cost_usd_total))) < 1e-12`,
		`count(parley_session_cost_rank_usd) == 10`,
		`parley_sessions_active{chat="dm"} == 2`,
		`parley_sessions_active{chat="group"} == 1`,
		`parley_dependency_up{dependency="nats"} == 1`,
		`parley_dependency_up{dependency="store"} == 1`,
		`parley_dependency_up{dependency="sim"} == 1`,
	} {
		if len(p.query(expr)) != 1 {
			t.Errorf("it does not hold that %s", expr)
		}
	}
	name := url.QueryEscape("parley_turn_cost_usd_bucket")
	var found []struct {
		Exemplars []struct{ Labels map[string]string }
	}
	p.ask("/api/v1/query_exemplars?query="+name+"&start="+strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)+"&end="+strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10), &found)
	if len(found) == 0 || len(found[0].Exemplars) == 0 || !strings.HasPrefix(found[0].Exemplars[0].Labels["turn"], "t-") {
		t.Errorf("the exemplars are %v", found)
	}
}

// checkPanels asks what the panels ask.
func checkPanels(t *testing.T, p *watcher) {
	t.Helper()
	for _, e := range expressions(t) {
		if got := p.query(e); len(got) == 0 {
			t.Errorf("a panel shows nothing: %s", e)
		}
	}
}

// checkFigures wants the single figures of the first row to be one number each, and right.
func checkFigures(t *testing.T, p *watcher, total float64) {
	t.Helper()
	figures := map[string][]float64{}
	for _, d := range dashboards(t) {
		for _, panel := range d.Panels {
			if panel.Type != "stat" {
				continue
			}
			for _, q := range panel.Targets {
				got := p.query(filled(q.Expr))
				if len(got) != 1 {
					t.Fatalf("%s shows %v", panel.Title, got)
				}
				figures[panel.Title] = append(figures[panel.Title], got["{}"])
			}
		}
	}
	spent, share := figures["Spent today"][0], figures["Share of today's budget"][0]
	if spent <= 0 || spent > total+1e-12 || math.Abs(share-spent/50) > 1e-9 { // a day may have ended
		t.Errorf("of %v in all %v is spent today, which is %v of the budget", total, spent, share)
	}
	if turns := figures["Turns"][0]; turns < 5 || turns > 100 {
		t.Errorf("there were %v turns", turns)
	}
	if failed := figures["Share of errors"][0]; failed <= 0 || failed >= 1 {
		t.Errorf("%v of the turns failed", failed)
	}
	if up := figures["Channels up"]; len(up) != 2 || up[0] != 1 || up[1] != 1 {
		t.Errorf("channels up, and there: %v", up)
	}
}
