package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

func TestAHouseWithAWebhookAnswers(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Webhook: true, Brain: model.Demo(0)})
	gw := env.Start()
	for range 2 {
		if got := gw.Ask(gatewaytest.Ann, "what is 12*7"); !strings.Contains(got, "84") {
			t.Errorf("Ann was told %q", got)
		}
	}
	if got := gw.AskIn(gatewaytest.Kitchen, gatewaytest.Ben, "@"+gatewaytest.Username+" what is 5*5"); !strings.Contains(got, "25") {
		t.Errorf("the group was told %q", got)
	}
	b := env.Telegram.Books()
	for _, c := range b.Calls {
		if c.Method == "getUpdates" {
			t.Error("it polls as well")
		}
	}
	if b.Totals.Hooked < 3 || b.Totals.Confirmed != 3 {
		t.Errorf("%+v", b.Totals)
	}

	// What is said while no gateway runs waits at Telegram.
	gw.Stop()
	env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "what is 6*7")
	again := env.Start()
	if got := env.DeliveredText(telegram.PrivateChat(gatewaytest.Ann), again.NextDelivered()); !strings.Contains(got, "42") {
		t.Errorf("after a restart Ann was told %q", got)
	}
}

// row 3: while the message log is full nothing is confirmed, and everything is
// answered once when it has room again.
func TestRow03_WhatTheHouseCannotStoreComesAgainAndIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	room := int64(1 << 20)
	env := gatewaytest.Open(t, gatewaytest.Options{
		Webhook: true,
		Brain: func(_ context.Context, p *model.Prompt) model.Answer {
			before, _, _ := strings.Cut(p.LastText(), " xxx")
			return model.Reply(model.Say("done " + before[strings.LastIndexAny(before, " \n")+1:] + "."))
		},
		Change: func(c *settings.Config) { c.Broker.MaxBytes = room },
	})
	gw := env.Start()
	const n = 60
	for i := range n {
		p := telegram.Person{ID: int64(5000 + i), FirstName: "P"}
		env.Say(telegram.PrivateChat(p), p, fmt.Sprintf("%d %s", i, strings.Repeat("x", 30_000)))
	}
	env.Await("a refusal", func(b telegram.Book) bool {
		return slices.ContainsFunc(b.Hooks, func(e telegram.HookEntry) bool { return e.Status == http.StatusServiceUnavailable })
	})
	if b := env.Telegram.Books(); b.Totals.Confirmed == n {
		t.Error("everything fitted into the log, so this test shows nothing")
	}
	gw.Stop()
	room = 64 << 20
	env.Start()
	b := env.Await("all answers", func(b telegram.Book) bool { return b.Totals.Confirmed == n && b.Totals.Sent >= n })
	for i := range n {
		answers := 0
		for _, m := range b.Messages {
			if m.ChatID == int64(5000+i) && m.Text() == fmt.Sprintf("done %d.", i) {
				answers++
			}
		}
		if answers != 1 {
			t.Errorf("message %d was answered %d times", i, answers)
		}
	}
}

func TestRow03_ARequestWithAWrongSecretCostsNothing(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Webhook: true})
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "hello")
	before := len(env.Model.Requests())
	update := `{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":1001,"type":"private"},"from":{"id":1001,"first_name":"Ann"},"text":"/cost"}}`
	for _, secret := range []string{"", "guess", gatewaytest.Token} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, env.WebhookProxy.URL(), strings.NewReader(update))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized || len(body) != 0 {
			t.Errorf("with the secret %q: %s %q", secret, res.Status, body)
		}
	}
	// What came after it is all that was received.
	gw.Ask(gatewaytest.Ann, "hello again")
	gw.AwaitMetrics(`parley_messages_received_total{channel="tg",chat="dm"} 2`)
	if sent := env.SentTexts(telegram.PrivateChat(gatewaytest.Ann)); len(sent) != 2 {
		t.Errorf("sent %q", sent)
	}
	if n := len(env.Model.Requests()) - before; n != 1 {
		t.Errorf("%d model calls", n)
	}
	// Nothing else is served there.
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+gw.WebhooksAddr()+"/metrics", nil)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("/metrics on the listener of the webhooks: %s", res.Status)
	}
}

// row 1: each update may come several times, late and in any order.
func TestRow01_WebhooksThatComeAgainAndShuffledAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Webhook: true, Change: func(c *settings.Config) {
		for name, tg := range c.Channels.Telegram {
			tg.Webhook.MaxConnections = 5
			c.Channels.Telegram[name] = tg
		}
	}})
	for _, f := range []telegram.Fault{
		{Trouble: telegram.Redelivered, Probability: 0.5, Copies: 4},
		{Trouble: telegram.Redelivered, Probability: 0.5, After: 50 * time.Millisecond},
		{Trouble: telegram.Ambiguous, Method: "webhook", Probability: 0.2},
		{Trouble: telegram.Reordered, Method: "webhook", Probability: 0.5},
	} {
		noError(t, env.Telegram.Plan(f))
	}
	const people, each = 10, 5
	for i := range each {
		for p := range people {
			who := telegram.Person{ID: int64(6000 + p), FirstName: "P"}
			env.Say(telegram.PrivateChat(who), who, fmt.Sprintf("question %d of %d.", i, p))
		}
	}
	gw := env.Start()
	for range people * each {
		gw.NextDelivered()
	}
	b := env.Await("everything to be confirmed", func(b telegram.Book) bool {
		return b.Totals.Confirmed == people*each && !slices.ContainsFunc(b.Updates, func(u telegram.UpdateEntry) bool { return u.Confirmed.IsZero() })
	})
	if b.Totals.Hooked <= people*each {
		t.Error("nothing came again, so this test shows nothing")
	}
	answered := map[string]int{}
	for _, m := range b.Messages {
		answered[m.Text()]++
	}
	for i := range each {
		for p := range people {
			text := fmt.Sprintf("question %d of %d.", i, p)
			n := 0
			for answer, times := range answered {
				if strings.Contains(answer, text) {
					n += times
				}
			}
			if n != 1 {
				t.Errorf("%q was answered %d times", text, n)
			}
		}
	}
}
