package gateway_test

import (
	"context"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/signal"
	"parley/simulators/slack"
	"parley/simulators/telegram"
)

// polite is a model that never ends a conversation, and always calls the other
// bot.
func polite(context.Context, *model.Prompt) model.Answer {
	return model.Reply(model.Say("@" + gatewaytest.Username + " @" + gatewaytest.TwinUsername + " " + strings.Repeat("How kind of you to say so! ", 10)))
}

// Two gateways, each with a bot that answers whatever it hears, and that hear each
// other on every network. They fall silent, and go on serving people. (F19)
func TestF19_TwoBotsThatHearEachOtherFallSilent(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{
		Networks: gatewaytest.AllNetworks(), Twin: true, Brain: polite,
		Change: func(c *settings.Config) { c.Limits.BotLoop = 10 },
	})
	gw, twin := env.Start(), env.StartTwin()
	both := "@" + gatewaytest.Username + " @" + gatewaytest.TwinUsername + " hello you two"

	// Telegram and Slack say who is a bot: the answer to a person is all that there
	// is, although it mentions the other, and stands in a thread of the other's.
	env.Say(gatewaytest.Kitchen, gatewaytest.Ann, both)
	sayInSlack(t, env, slackChannel, gatewaytest.SlackPerson(7001), both, slack.SayOptions{})
	for range 2 {
		gw.NextDelivered()
		twin.NextDelivered()
	}

	// Signal does not. What the twin's people say on another device of its account
	// begins it.
	sayInSignal(t, env, signal.Chat{Account: gatewaytest.SignalNumber}, signal.Person{ACI: gatewaytest.TwinACI, Number: gatewaytest.TwinNumber, Name: "twin"}, "hello", signal.SayOptions{})
	const note = "I take you for a bot"
	between := func(b signal.Book) (said [2]int, notes int) {
		for _, m := range b.Messages {
			to := map[string]int{gatewaytest.TwinACI: 0, gatewaytest.SignalACI: 1}
			i, ok := to[m.Chat]
			switch {
			case !ok:
			case strings.Contains(m.Text(), note):
				notes++
			default:
				said[i]++
			}
		}
		return said, notes
	}
	inSignal(t, env, "one of the bots to end it", func(b signal.Book) bool { _, notes := between(b); return notes > 0 })
	// A person is answered as ever, also by what comes after it in the journal.
	for _, p := range []*gatewaytest.Conversation{env.Direct(gatewaytest.Signal, 7001), env.Direct(gatewaytest.Telegram, 7001), env.Direct(gatewaytest.Slack, 7001)} {
		p.Say("and I am a person")
		p.AwaitWords("How kind")
	}
	env.Await("everything to be heard", func(b telegram.Book) bool {
		return b.Pending[gatewaytest.Username] == 0 && b.Pending[gatewaytest.TwinUsername] == 0
	})
	inSlack(t, env, "everything to be heard", func(b slack.Book) bool {
		return b.Pending[gatewaytest.Username] == 0 && b.Pending[gatewaytest.TwinUsername] == 0
	})
	gw.Stop()
	twin.Stop()

	said, notes := between(env.Signal.Books())
	if said[0] > 10 || said[1] > 10 || said[0]+said[1] < 10 || notes > 2 {
		t.Errorf("the bots said %d and %d things to each other on Signal, and %d notes", said[0], said[1], notes)
	}
	kitchen := 0
	for _, m := range env.Telegram.Books().Messages {
		if m.ChatID == gatewaytest.Kitchen.ID {
			kitchen++
		}
	}
	channel := 0
	for _, m := range env.Slack.Books().Messages {
		if m.Channel == slackChannel.ID {
			channel++
		}
	}
	if kitchen != 2 || channel != 2 {
		t.Errorf("a person was answered %d times on Telegram and %d times on Slack, not once by each bot", kitchen, channel)
	}
}
