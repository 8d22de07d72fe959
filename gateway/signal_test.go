package gateway_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/simulators/signal"
)

// inSignal waits until the books of Signal satisfy done.
func inSignal(t *testing.T, env *gatewaytest.Env, what string, done func(signal.Book) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), gatewaytest.Patience)
	defer cancel()
	if b, err := env.Signal.Await(ctx, done); err != nil {
		t.Fatalf("waiting for %s: %v; %+v", what, err, b.Totals)
	}
}

func sayInSignal(t *testing.T, env *gatewaytest.Env, c signal.Chat, p signal.Person, text string, o signal.SayOptions) signal.ActionResult {
	t.Helper()
	said, err := env.Signal.Say(c, p, text, o)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// In a group of Signal who mentions the bot, or quotes it, is answered by a quote
// of what they said.
func TestSignalAnswersAMentionAndAQuoteByQuotingIt(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Signal}})
	gw := env.Start()
	group := signal.Chat{Group: signal.MadeUpGroup(8001), Name: "kitchen"}
	ann, ben := gatewaytest.SignalPerson(7001), gatewaytest.SignalPerson(7002)
	last := func() signal.MessageEntry {
		t.Helper()
		gw.NextDelivered()
		all := env.Signal.Books().Messages
		return all[len(all)-1]
	}
	sayInSignal(t, env, group, ann, "who makes dinner, @parley?", signal.SayOptions{}) // only typed
	// A mention anywhere in the text, behind a character of two units.
	said := sayInSignal(t, env, group, ben, "🍕 one, @bot", signal.SayOptions{Mentions: []signal.Mention{{Name: "@bot", ACI: gatewaytest.SignalACI}}})
	first := last()
	if first.Quote == nil || first.Quote.Timestamp != said.Timestamp || first.Quote.Author != ben.ACI || first.Chat != group.Group || !strings.Contains(first.Text(), "🍕 one") {
		t.Errorf("the answer to %d is %+v", said.Timestamp, first)
	}
	quote := signal.SayOptions{Quote: &signal.Quote{Timestamp: first.Timestamp, Author: gatewaytest.SignalACI}}
	said = sayInSignal(t, env, group, ann, "two", quote)
	if m := last(); m.Quote == nil || m.Quote.Timestamp != said.Timestamp || m.Quote.Author != ann.ACI || !strings.Contains(m.Text(), "two") {
		t.Errorf("the answer to a quote is %+v", m)
	}
	if n := questions(env); n != 2 {
		t.Errorf("%d questions were asked", n)
	}
}

// requirements D10
func TestSignalShowsThatTheBotWritesAndStops(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Signal}, Brain: long})
	gw := env.Start()
	for _, place := range []*gatewaytest.Conversation{env.Direct(gatewaytest.Signal, 7001), env.Group(gatewaytest.Signal, 8001, 7001)} {
		place.Say("tell me a story")
		inSignal(t, env, "a sign of typing", func(b signal.Book) bool {
			return slices.ContainsFunc(b.Signals, func(s signal.SignEntry) bool { return s.Kind == "typing" && s.Chat == place.ID })
		})
		if got := gw.AskAt(place, "/stop"); !strings.Contains(got, "Stopped") {
			t.Errorf("/stop was answered with %q", got)
		}
	}
}

// A signal-cli that dies is started again, and what is said meanwhile is
// answered.
func TestASignalCLIThatDiesCostsNothing(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Signal}})
	gw := env.Start()
	place := env.Direct(gatewaytest.Signal, 7001)
	gw.AskAt(place, "before")
	if n, err := env.Signal.Kill(""); n != 1 || err != nil {
		t.Fatalf("%d daemons were killed: %v", n, err)
	}
	if got := gw.AskAt(place, "meanwhile"); !strings.Contains(got, "meanwhile") {
		t.Errorf("the person was told %q", got)
	}
	if b := env.Signal.Books(); len(b.Daemons) < 2 {
		t.Errorf("%d daemons ran", len(b.Daemons))
	}
}

// firstday G1, G11. Through a signal-cli that would lose what people write nothing is
// received, and everything says so, while the other networks go on.
func TestADeafSignalIsSaidEverywhereAndLosesNothing(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Telegram, gatewaytest.Signal}})
	noError(t, env.Signal.SetVersion(signal.Version0144))
	gw := env.Start()
	place := env.Direct(gatewaytest.Signal, 7001)
	place.Say("hello")
	inSignal(t, env, "signal-cli to be asked for its version", func(b signal.Book) bool {
		return slices.ContainsFunc(b.Calls, func(c signal.CallEntry) bool { return c.Method == "version" })
	})
	if got := gw.Ask(gatewaytest.Ann, "meanwhile"); !strings.Contains(got, "meanwhile") {
		t.Errorf("on the other network the answer is %q", got)
	}
	if ready := gw.Get("/readyz", 200); !strings.Contains(ready, `"channel sig":"not connected, and nothing comes in; the log says why"`) || !strings.Contains(ready, `"channel tg":"ok"`) {
		t.Errorf("readiness says %s", ready)
	}
	if metrics := gw.Scrape(); !strings.Contains(metrics, `parley_channel_up{channel="sig"} 0`) {
		t.Error("the metric says that the channel is up")
	}
	if b := env.Signal.Books(); b.Totals.Acked != 0 {
		t.Errorf("%d messages were confirmed", b.Totals.Acked)
	}
	noError(t, env.Signal.SetVersion(signal.Version014))
	inSignal(t, env, "the answer", func(b signal.Book) bool { return len(b.Messages) == 1 })
	if ready := gw.Get("/readyz", 200); !strings.Contains(ready, `"channel sig":"ok"`) {
		t.Errorf("then readiness says %s", ready)
	}
}
