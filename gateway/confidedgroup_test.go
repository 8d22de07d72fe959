package gateway_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/telegram"
)

// inTelegram waits for a message that the bot has sent, or changed, to be so, and returns it.
func inTelegram(t *testing.T, env *gatewaytest.Env, what string, is func(m telegram.MessageEntry) bool) (found telegram.MessageEntry) {
	t.Helper()
	env.Await(what, func(b telegram.Book) bool {
		for _, m := range b.Messages {
			if is(m) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// K01, F27: in a group of Telegram, where the bot is an administrator, only those who may decide are
// shown what would run, each alone, if the operator wants that. (docs/decisions/0111)
func TestInAGroupOfTelegramThoseWhoMayDecideAreAskedAlone(t *testing.T) {
	t.Parallel()
	ben := strconv.FormatInt(gatewaytest.Ben.ID, 10)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: wishing, Change: func(c *settings.Config) {
		c.Bash.Enabled = true
		for name, a := range c.Channels.Telegram {
			a.Access.Approvers, a.Questions = []string{ben}, "approvers"
			c.Channels.Telegram[name] = a
		}
	}})
	env.Start()
	group := gatewaytest.Kitchen
	env.Say(group, gatewaytest.Ben, "good morning")
	if _, err := env.Telegram.SetStanding(group, gatewaytest.Ben, gatewaytest.Username, "administrator"); err != nil {
		t.Fatal(err)
	}
	env.Say(group, gatewaytest.Ann, mention+"please")
	const secret = "no-such-program || echo permitted-it"
	question := inTelegram(t, env, "the question to ben", func(m telegram.MessageEntry) bool {
		return m.Receiver == gatewaytest.Ben.ID && strings.Contains(m.Text(), secret)
	})
	code := regexp.MustCompile(`approve ([0-9A-Z]{5})`).FindStringSubmatch(question.Text())
	if code == nil {
		t.Fatalf("ben is asked %q", question.Text())
	}
	inTelegram(t, env, "the notice", func(m telegram.MessageEntry) bool {
		return m.Receiver == 0 && strings.Contains(m.Text(), "I have asked those who may give it, for their eyes only. /approve "+code[1])
	})
	if _, err := env.Telegram.PressEphemeral(gatewaytest.Ben, group.ID, question.EphemeralID, "/approve "+code[1]); err != nil {
		t.Fatal(err)
	}
	inTelegram(t, env, "the result", func(m telegram.MessageEntry) bool {
		return m.Receiver == 0 && strings.Contains(m.Text(), "permitted-it")
	})
	inTelegram(t, env, "what was pressed", func(m telegram.MessageEntry) bool {
		return m.EphemeralID == question.EphemeralID && m.Text() == "(Permit once)"
	})
	for _, m := range env.Telegram.Books().Messages {
		for _, v := range m.Versions {
			if m.Receiver == 0 && (strings.Contains(v.Text, secret) || v.Markup != "") {
				t.Errorf("everybody reads %+v", v)
			}
		}
	}
}
