package gateway_test

import (
	"context"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
)

// namesOrEchoes finds titles, and answers everything else with its last words.
func namesOrEchoes(_ context.Context, p *model.Prompt) model.Answer {
	if strings.HasPrefix(p.System, "You name conversations.") {
		return model.Reply(model.Say("**Red Apples**"))
	}
	return model.Reply(model.Say("re: " + p.LastText()))
}

// requirements Z01, T01, T02, TX15, issue 13: through the whole gateway, a conversation has its
// title in every list, and what that cost is in its own sum and in the metrics.
func TestATitleIsInEveryListAndPriced(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: namesOrEchoes, Change: func(c *settings.Config) { c.Titles.Model = "sim/demo" }})
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "which apples are red?")
	gw.AwaitMetrics(`parley_llm_requests_total{agent_kind="title",model="demo",outcome="ok",provider="sim"} 1`)
	if got := gw.Ask(gatewaytest.Ann, "/status"); !strings.Contains(got, "Title: Red Apples") {
		t.Errorf("/status: %q", got)
	}
	gw.Ask(gatewaytest.Ann, "/new")
	gw.Ask(gatewaytest.Ann, "pears")
	if got := gw.Ask(gatewaytest.Ann, "/title Pears & Co"); got != "This conversation is now called Pears & Co." {
		t.Errorf("/title: %q", got)
	}
	ask := admin.NewClient(gw.AdminSocket())
	known, err := ask.Sessions(t.Context(), admin.SessionQuery{})
	noError(t, err)
	usage, err := ask.Usage(t.Context(), admin.UsageQuery{By: "session"})
	noError(t, err)
	titles := map[string]int{}
	for _, s := range known.Sessions {
		titles[s.Title]++
		d, err := ask.Session(t.Context(), string(s.ID), false)
		noError(t, err)
		titles[d.Tree[0].Title]++
	}
	for _, g := range usage.Groups {
		titles[g.Title]++
	}
	if len(titles) != 2 || titles["Red Apples"] != 3 || titles["Pears & Co"] != 3 {
		t.Errorf("operators see the titles %v", titles)
	}
	list := gw.Ask(gatewaytest.Ann, "/sessions")
	if !strings.Contains(list, "Pears & Co") || !strings.Contains(list, "Red Apples") {
		t.Errorf("/sessions: %q", list)
	}
	if got := gw.Ask(gatewaytest.Ann, "/resume apples"); !strings.Contains(got, "Red Apples") {
		t.Errorf("/resume: %q", got)
	}
}
