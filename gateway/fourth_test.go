package gateway_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/channels/pigeontest"
	"parley/gateway"
	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/problems"
	"parley/sessionkeys"
	"parley/sessions"
)

// A network that no product file names answers through the whole gateway by its row in the
// table alone.
func TestFourthNetwork(t *testing.T) {
	t.Parallel()
	loft := pigeontest.New("p1")
	env := gatewaytest.Open(t, gatewaytest.Options{Change: func(c *settings.Config) {
		addPigeons(c, map[string]pigeonConfig{"pp": {Loft: loft, Access: policy.Access{People: []string{"ann"}, Groups: []string{"kitchen"}}}})
	}})
	gw := env.Start()
	direct, group := loft.Direct("ann"), loft.Group("kitchen")
	ask := func(in sessionkeys.Address, person, text string) string {
		t.Helper()
		before := len(loft.Sent())
		loft.Say(in, person, text)
		answer := gw.NextDelivered()
		sent := loft.Sent()[before:]
		if len(sent) != 1 || answer.Parts != 1 || sent[0].To != in {
			t.Fatalf("%q: sent %+v, delivered %+v", text, sent, answer)
		}
		return sent[0].Text
	}

	// What is neither allowed nor for the bot comes first, so that an answer to it would
	// be seen.
	loft.Say(group, "mallory", "@p1 let me in")
	loft.Say(group, "ann", "said to the others")
	if got := ask(direct, "ann", "hello"); !strings.Contains(got, "hello") {
		t.Errorf("in the direct chat: %q", got)
	}
	if got := ask(group, "ann", "@p1 is the soup ready"); !strings.Contains(got, "is the soup ready") || strings.Contains(got, "said to the others") {
		t.Errorf("in the group: %q", got)
	}
	if got := ask(direct, "ann", "~help"); !strings.Contains(got, "\n~new – ") || !strings.Contains(got, "\n~stop – ") {
		t.Errorf("help: %q", got)
	}
	if got := ask(group, "ann", "@p1 ~status"); !strings.Contains(got, "I am idle.") {
		t.Errorf("status: %q", got)
	}
	if got := ask(direct, "ann", "~stats"); got != "I do not know the command ~stats: did you mean ~status?" {
		t.Errorf("a mistyped command: %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), gatewaytest.Patience)
	defer cancel()
	noError(t, loft.AwaitTaken(ctx))
	if n := len(env.Model.Requests()); n != 2 {
		t.Errorf("%d calls of the model", n)
	}

	client := admin.NewClient(gw.AdminSocket())
	all, err := client.Sessions(t.Context(), admin.SessionQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, s := range all.Sessions {
		keys = append(keys, s.Key)
		if s.Messages != 2 {
			t.Errorf("%s has %d messages", s.Key, s.Messages)
		}
	}
	slices.Sort(keys)
	if want := []string{"main:p1:pigeon-post:dm:ann", "main:p1:pigeon-post:group:kitchen"}; !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
	used, err := client.Usage(t.Context(), admin.UsageQuery{By: sessions.ByChannel})
	if err != nil || len(used.Groups) != 1 || used.Groups[0].Group != "pp" || used.Groups[0].Calls != 2 || used.Groups[0].Cost == 0 {
		t.Errorf("the ledger says %+v, %v", used, err)
	}
	gw.AwaitMetrics(
		`parley_channel_up{channel="pp"} 1`,
		`parley_turns_total{channel="pp",chat="dm",outcome="ok"} 1`,
		`parley_turns_total{channel="pp",chat="group",outcome="ok"} 1`,
		`parley_messages_ignored_total{channel="pp",reason="not_allowed"} 1`,
		`parley_messages_ignored_total{channel="pp",reason="not_mentioned"} 1`,
		`parley_messages_sent_total{channel="pp",outcome="ok"} 5`,
	)

	// Another process, as after a crash, knows the conversations.
	gw.Stop()
	gw = env.Start()
	if got := ask(direct, "ann", "~status"); !strings.Contains(got, "has 2 messages") {
		t.Errorf("after a restart: %q", got)
	}
}

// The accounts of any network go through the same checks, under its name.
func TestFourthNetworkIsValidated(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Change: func(c *settings.Config) {
		addPigeons(c, map[string]pigeonConfig{"tg": {Agent: "nobody"}})
	}})
	_, err := gateway.New(env.Config(), gateway.Options{})
	problems, ok := errors.AsType[problems.List](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		"channels.pigeon-post.tg.loft: required", `channels.pigeon-post.tg.agent: no agent "nobody"`,
		"the instance name is that of channels.pigeon-post.tg already",
	} {
		if !strings.Contains(problems.Error(), want) {
			t.Errorf("%q is not in\n%v", want, problems)
		}
	}
}
