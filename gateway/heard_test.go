package gateway_test

import (
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/signal"
	"parley/simulators/telegram"
)

// firstday S9: who asks the bot of what a group said is answered of it, by whomever it
// was said: the model reads it as words of others, with their names, and nothing of it
// obeys anybody. Where nothing is configured it reads the question alone.
func TestAGroupsWordsReachTheModelWithTheQuestion(t *testing.T) {
	t.Parallel()
	kitchen := signal.MadeUpGroup(8001)
	for name, context := range map[string]int{"off": 0, "on": 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := gatewaytest.Open(t, gatewaytest.Options{
				Networks: []gatewaytest.Network{gatewaytest.Telegram, gatewaytest.Signal}, Brain: briefly,
				Change: func(c *settings.Config) {
					tg, sig := c.Channels.Telegram["tg"], c.Channels.Signal["sig"]
					tg.Access.Groups, tg.GroupContext = []string{"-2001"}, context
					sig.Access.Groups, sig.GroupContext = []string{kitchen}, context
					c.Channels.Telegram["tg"], c.Channels.Signal["sig"] = tg, sig
				},
			})
			gw := env.Start()
			env.Say(gatewaytest.Kitchen, gatewaytest.Ben, "the oven is broken")
			env.Say(gatewaytest.Kitchen, gatewaytest.Ben, "/new")
			said := env.Say(gatewaytest.Kitchen, gatewaytest.Ben, "it costs a lot")
			if _, err := env.Telegram.Edit(said.ChatID, said.MessageID, "it costs a million", telegram.SayOptions{}); err != nil {
				t.Fatal(err)
			}
			body := askedIn(env, gw, func() {
				env.Say(gatewaytest.Kitchen, gatewaytest.Ann, "@"+gatewaytest.Username+" what now?")
			})
			want(t, body, context > 0, "material, not a request", `[Ben #`, `> the oven is broken`, `> it costs a million`)
			want(t, body, false, "it costs a lot")

			group := signal.Chat{Group: kitchen, Name: "kitchen"}
			ann, ben := gatewaytest.SignalPerson(7001), gatewaytest.SignalPerson(7002)
			sayInSignal(t, env, group, ben, "the sink is full", signal.SayOptions{})
			gone := sayInSignal(t, env, group, ben, "I never said that", signal.SayOptions{})
			if _, err := env.Signal.Delete(group, ben, gone.Timestamp); err != nil {
				t.Fatal(err)
			}
			body = askedIn(env, gw, func() {
				sayInSignal(t, env, group, ann, "@bot what now?", signal.SayOptions{Mentions: []signal.Mention{{Name: "@bot", ACI: gatewaytest.SignalACI}}})
			})
			want(t, body, context > 0, "material, not a request", `> the sink is full`)
			want(t, body, false, "I never said that", "the oven is broken")
		})
	}
}

// askedIn asks, and returns the last request to the model.
func askedIn(env *gatewaytest.Env, gw *gatewaytest.Running, ask func()) string {
	ask()
	gw.NextDelivered()
	rs := env.Model.Requests()
	return string(rs[len(rs)-1].Body)
}

// want holds a request to having words, or not having them.
func want(t *testing.T, body string, has bool, words ...string) {
	t.Helper()
	for _, w := range words {
		if strings.Contains(body, w) != has {
			t.Errorf("that the model reads %q should be %v: %s", w, has, body)
		}
	}
}
