package admin_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/broker"
	"parley/costs"
	"parley/gateway/admin"
	"parley/gateway/fates"
	"parley/gateway/gatewaytest"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// An operator who is asked why the bot did not answer finds each message by the network's id: heard
// or passed over, by which rule, what was reserved, spent and sent; after a restart too.
func TestWhySaysWhatBecameOfAMessage(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Demo(0), Change: func(c *settings.Config) {
		for name, a := range c.Channels.Telegram {
			a.Access = policy.Access{People: []string{"1001"}, Groups: []string{"-2001"}}
			c.Channels.Telegram[name] = a
		}
	}})
	gw := env.Start()
	say := func(chat telegram.Chat, from telegram.Person, text string) admin.WhyQuery {
		t.Helper()
		r := env.Say(chat, from, text)
		return admin.WhyQuery{Message: strconv.FormatInt(r.MessageID, 10), Chat: strconv.FormatInt(r.ChatID, 10)}
	}
	private := telegram.PrivateChat(gatewaytest.Ann)
	answered := say(private, gatewaytest.Ann, "what is 12*7")
	cost := gw.NextDelivered().Cost
	stranger := say(telegram.PrivateChat(gatewaytest.Ben), gatewaytest.Ben, "hello")
	gw.NextDelivered() // that they are not known
	aside := say(gatewaytest.Kitchen, gatewaytest.Ann, "who makes dinner?")
	atOnce := say(private, gatewaytest.Ann, "/status")
	gw.NextDelivered()
	queued := say(private, gatewaytest.Ann, "/new")
	gw.NextDelivered()
	last := say(private, gatewaytest.Ann, "hello") // so that all before it is stored

	gw.NextDelivered()
	gw.Stop()
	stopped(t, env, func(b *broker.Broker) { bury(t, b, givenUp(t, b)) })
	gw = env.Start()
	ask := admin.NewClient(gw.AdminSocket())
	one := func(q admin.WhyQuery, verdict fates.Verdict) admin.Fate {
		t.Helper()
		all, err := ask.Why(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all.Fates, func(f admin.Fate) bool { return f.Verdict == verdict })
		if i < 0 || q.Chat != "" && all.Fates[i].Message != q.Message {
			t.Fatalf("of %+v it says %+v, and not %s", q, all.Fates, verdict)
		}
		return all.Fates[i]
	}
	f := one(answered, fates.Ended)
	switch turn := f.Turn; {
	case turn == nil || turn.Outcome != "end_turn" || turn.Calls != 1 || turn.Steps != 1 || turn.Attempts != 1 || turn.EndedAt.Before(turn.OpenedAt):
		t.Errorf("its turn: %+v", turn)
	case costs.Amount(turn.Spent) != cost || turn.Total != turn.Spent || turn.Reserved <= turn.Spent || turn.Held != 0:
		t.Errorf("it cost %s, and it says %+v", cost, turn)
	case len(f.Answers) != 1 || len(f.Answers[0].Parts) != 1 || f.Answers[0].Parts[0].State != "sent" || f.Answers[0].Parts[0].Message == "" || f.Answers[0].Parts[0].At.IsZero():
		t.Errorf("its answers: %+v", f.Answers)
	case f.Why != "a direct message" || f.Sender != "1001" || f.Name != "Ann" || f.Channel != "tg" || f.QueuedAt.IsZero() || f.Key != annsKey(t).String():
		t.Errorf("%+v", f)
	}
	if byTurn := one(admin.WhyQuery{Message: f.Turn.ID}, fates.Ended); byTurn.Event != f.Event {
		t.Errorf("by its turn it is %+v", byTurn)
	}
	if f := one(stranger, fates.PassedOver); f.Reason != "not_allowed" || f.Why != "the sender is not in access.people" || f.Name != "Ben" || f.Turn != nil {
		t.Errorf("of a stranger: %+v", f)
	}
	if f := one(aside, fates.PassedOver); f.Reason != "not_mentioned" || !strings.HasPrefix(f.Why, "in a group the bot answers") {
		t.Errorf("of what was said to others: %+v", f)
	}
	if f := one(atOnce, fates.AtOnce); f.Why != "the command /status, which does not wait for its turn" || f.Reason != "" {
		t.Errorf("of a command: %+v", f)
	}
	if f := one(queued, fates.Command); len(f.Answers) != 1 || f.Answers[0].Parts[0].State != "sent" {
		t.Errorf("of a command that waits for its turn: %+v", f)
	}
	if f := one(answered, fates.DeadLettered); f.Reason != "attempts" || f.Letter == "" {
		t.Errorf("of the dead letter: %+v", f)
	}
	one(last, fates.Ended)
	none, err := ask.Why(t.Context(), admin.WhyQuery{Message: "424242"})
	if err != nil || len(none.Fates) != 0 {
		t.Errorf("of no message it says %+v, %v", none, err)
	}
	if _, err := ask.Why(t.Context(), admin.WhyQuery{}); err == nil {
		t.Error("it answers about nothing")
	}
}

// A message that joined the turn of another is found with that turn, and one that waits as such.
func TestWhyKnowsWhatJoinedAndWhatWaits(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan string, 10), make(chan struct{})
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
			asked <- p.LastText()
			select {
			case <-goOn:
			case <-ctx.Done(): // it is interrupted
			}
			return model.Echo(ctx, p)
		},
		Change: func(c *settings.Config) {
			for name, a := range c.Channels.Telegram {
				a.WhileBusy = policy.Interrupt
				c.Channels.Telegram[name] = a
			}
		},
	})
	gw := env.Start()
	ask := admin.NewClient(gw.AdminSocket())
	say := func(chat telegram.Chat, p telegram.Person, text string) string {
		return strconv.FormatInt(env.Say(chat, p, text).MessageID, 10)
	}
	private := telegram.PrivateChat(gatewaytest.Ann)
	first := say(private, gatewaytest.Ann, "one")
	<-asked
	second := say(private, gatewaytest.Ann, "two")
	<-asked
	of := func(id string) admin.Fate {
		t.Helper()
		all, err := ask.Why(t.Context(), admin.WhyQuery{Message: id, Chat: "1001"})
		if err != nil || len(all.Fates) != 1 {
			t.Fatalf("of %s it says %+v, %v", id, all, err)
		}
		return all.Fates[0]
	}
	a, b := of(first), of(second)
	if a.Verdict != fates.Running || a.Turn.Joined || b.Verdict != fates.Running || !b.Turn.Joined || a.Turn.ID != b.Turn.ID {
		t.Errorf("of both: %+v %+v, %+v %+v", a, a.Turn, b, b.Turn)
	}
	if a.Turn.Reserved == 0 || a.Turn.Calls != 2 || a.Turn.Held == 0 {
		t.Errorf("its money: %+v", a.Turn)
	}
	close(goOn)
	gw.NextDelivered()
	if a := of(second); a.Verdict != fates.Ended || len(a.Answers) != 1 {
		t.Errorf("at the end: %+v", a)
	}
}

// Whoever may not talk to the bot any more when their turn comes is passed over, and why says by which rule.
func TestWhyKnowsWhoWasRefusedWhileTheyWaited(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan struct{}, 1), make(chan struct{})
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
			asked <- struct{}{}
			<-goOn
			return model.Echo(ctx, p)
		},
		Change: func(c *settings.Config) {
			for name, a := range c.Channels.Telegram {
				a.WhileBusy = policy.Queue
				c.Channels.Telegram[name] = a
			}
		},
	})
	gw := env.Start()
	ask := admin.NewClient(gw.AdminSocket())
	private := telegram.PrivateChat(gatewaytest.Ann)
	env.Say(private, gatewaytest.Ann, "one")
	<-asked
	second := strconv.FormatInt(env.Say(private, gatewaytest.Ann, "two").MessageID, 10)
	limit := time.After(gatewaytest.Patience)
	for waits := false; !waits; {
		all, err := ask.Why(t.Context(), admin.WhyQuery{Message: second})
		if err != nil {
			t.Fatal(err)
		}
		waits = len(all.Fates) == 1 && all.Fates[0].Verdict == fates.Waiting
		select {
		case <-limit:
			t.Fatalf("the message does not wait: %+v", all)
		default:
		}
	}
	if _, err := ask.Access().Deny(t.Context(), "tg", "1001"); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	gw.AwaitMetrics(`parley_messages_ignored_total{channel="tg",reason="not_allowed"} 1`)
	all, err := ask.Why(t.Context(), admin.WhyQuery{Message: second})
	if err != nil || len(all.Fates) != 1 {
		t.Fatalf("it says %+v, %v", all, err)
	}
	f := all.Fates[0]
	if f.Verdict != fates.PassedOver || f.Reason != "not_allowed" || !strings.HasPrefix(f.Why, "a direct message, and when its turn came nothing was done with it: the sender is") || f.QueuedAt.IsZero() {
		t.Errorf("%+v", f)
	}
	refused, err := ask.Refusals(t.Context())
	if err != nil || len(refused.Refusals) != 1 || refused.Refusals[0].Message != second {
		t.Errorf("refused were %+v, %v", refused, err)
	}
}
