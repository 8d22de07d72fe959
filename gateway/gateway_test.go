package gateway_test

import (
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/simulators/model"
)

// The whole gateway in a second: read this test to see what parley does.
// (requirements B01)
func TestTheWholeHouse(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Demo(0)})
	gw := env.Start()

	if got := gw.Ask(gatewaytest.Ann, "what is 12*7"); !strings.Contains(got, "84") {
		t.Errorf("Ann was told %q", got)
	}
	if got := gw.Ask(gatewaytest.Ben, "what is 6*7"); !strings.Contains(got, "42") {
		t.Errorf("Ben was told %q", got)
	}

	// In a group only what mentions the bot is answered.
	env.Say(gatewaytest.Kitchen, gatewaytest.Ann, "who makes dinner?")
	if got := gw.AskIn(gatewaytest.Kitchen, gatewaytest.Ann, "@"+gatewaytest.Username+" what is 5*5"); !strings.Contains(got, "25") {
		t.Errorf("the group was told %q", got)
	}
	if sent := env.SentTexts(gatewaytest.Kitchen); len(sent) != 1 {
		t.Errorf("the group got %d answers, not 1: %q", len(sent), sent)
	}

	// Tools run in the session's own workspace.
	if got := gw.Ask(gatewaytest.Ann, "list files"); !strings.Contains(strings.ToLower(got), "empty") && !strings.Contains(got, "0") {
		t.Errorf("the tool's answer is %q", got)
	}

	// What it costs is in the chat and in the metrics.
	if got := gw.Ask(gatewaytest.Ann, "/cost"); !strings.Contains(got, "$0.00") {
		t.Errorf("/cost says %q", got)
	}
	gw.AwaitMetrics(`parley_turns_total{channel="tg",chat="dm",outcome="ok"} 3`)
	gw.Get("/readyz", 200)

	// A new conversation forgets; another gateway on the same state remembers.
	if got := gw.Ask(gatewaytest.Ann, "/new"); !strings.Contains(got, "new conversation") {
		t.Errorf("/new says %q", got)
	}
	gw.Ask(gatewaytest.Ann, "hello")
	gw.Stop()
	again := env.Start()
	if got := again.Ask(gatewaytest.Ann, "/status"); !strings.Contains(got, "2 messages") {
		t.Errorf("after a restart /status says %q", got)
	}
}

// noError ends the test if err is an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
