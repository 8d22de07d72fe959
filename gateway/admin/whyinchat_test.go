package admin_test

import (
	"regexp"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// /why tells people what became of their own last message, or of the one that they reply to, as its id
// or that of its answer; and of nobody else's anything.
func TestWhyInChat(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Demo(0), Change: func(c *settings.Config) {
		for name, a := range c.Channels.Telegram {
			a.Access = policy.Access{People: []string{"1001", "1002"}, Groups: []string{"-2001"}}
			c.Channels.Telegram[name] = a
		}
	}})
	gw := env.Start()
	say := func(chat telegram.Chat, from telegram.Person, text string, replyTo int64) telegram.ActionResult {
		t.Helper()
		r, err := env.Telegram.Say(chat, from, text, telegram.SayOptions{ReplyTo: replyTo})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	times := regexp.MustCompile(`\d\d:\d\d:\d\d UTC on \d+ \w+|\d+(\.\d)?m?s\b`)
	money := regexp.MustCompile(`\$0\.\d+`)
	why := func(chat telegram.Chat, from telegram.Person, replyTo int64) string {
		t.Helper()
		text := "/why"
		if chat != telegram.PrivateChat(from) {
			text = "/why@" + gatewaytest.Username
		}
		say(chat, from, text, replyTo)
		return money.ReplaceAllString(times.ReplaceAllString(env.DeliveredText(chat, gw.NextDelivered()), "T"), "$")
	}
	const unknown = "I know nothing of such a message of yours here."
	const answered = "Your message of T:\n– heard: a direct message\n– taken up after T, answered T later\n– set aside: $ for 1 call; spent: $\n– sent at T, in 1 message"
	private := telegram.PrivateChat(gatewaytest.Ann)
	if got := why(private, gatewaytest.Ann, 0); !strings.HasPrefix(got, unknown) {
		t.Errorf("of nothing: %q", got)
	}
	first := say(private, gatewaytest.Ann, "what is 12*7", 0)
	gw.NextDelivered()
	book := env.Telegram.Books()
	answer := book.Messages[len(book.Messages)-1].MessageID
	say(private, gatewaytest.Ann, "/status", 0)
	gw.NextDelivered()
	if got := why(private, gatewaytest.Ann, 0); got != "Your message of T:\n– answered at once: the command /status, which does not wait for its turn" {
		t.Errorf("of a command: %q", got)
	}
	for what, id := range map[string]int64{"their message": first.MessageID, "the answer to it": answer} {
		if got := why(private, gatewaytest.Ann, id); got != answered {
			t.Errorf("of %s: %q", what, got)
		}
	}
	say(private, gatewaytest.Ann, "/new", 0)
	gw.NextDelivered()
	if got := why(private, gatewaytest.Ann, 0); !strings.Contains(got, "\n– carried out as a command, without a model\n– sent at T, in 1 message") {
		t.Errorf("of a command that waits for its turn: %q", got)
	}

	// In a group: what is said to others, and what another person said.
	aside := say(gatewaytest.Kitchen, gatewaytest.Ann, "who makes dinner?", 0)
	if got := why(gatewaytest.Kitchen, gatewaytest.Ann, 0); !strings.HasPrefix(got, "Your message of T:\n– passed over: in a group the bot answers") {
		t.Errorf("of what was said to others: %q", got)
	}
	bens := say(gatewaytest.Kitchen, gatewaytest.Ben, "@"+gatewaytest.Username+" what is 6*7", 0)
	gw.NextDelivered()
	book = env.Telegram.Books()
	toBen := book.Messages[len(book.Messages)-1].MessageID
	for what, id := range map[string]int64{"Ben's message": bens.MessageID, "the answer to Ben": toBen} {
		if got := why(gatewaytest.Kitchen, gatewaytest.Ann, id); !strings.HasPrefix(got, unknown) {
			t.Errorf("Ann reads of %s: %q", what, got)
		}
	}
	if got := why(gatewaytest.Kitchen, gatewaytest.Ben, bens.MessageID); !strings.Contains(got, "it mentions the bot") || !strings.Contains(got, "spent: $") {
		t.Errorf("Ben reads of his own: %q", got)
	}
	if got := why(gatewaytest.Kitchen, gatewaytest.Ben, aside.MessageID); !strings.HasPrefix(got, unknown) {
		t.Errorf("Ben reads of what Ann said to others: %q", got)
	}
	// The same id in another chat is another message.
	if got := why(telegram.PrivateChat(gatewaytest.Ben), gatewaytest.Ben, 0); !strings.HasPrefix(got, unknown) {
		t.Errorf("Ben reads elsewhere: %q", got)
	}
}
