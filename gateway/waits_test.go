package gateway_test

import (
	"testing"

	"parley/gateway/gatewaytest"
	"parley/simulators/telegram"
)

// firstday T4: a bot that is restarted within a penalty of its network does
// not call within it, which would make it longer.
func TestAPenaltyIsKeptOverARestart(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{})
	gw := env.Start()
	gw.Ask(gatewaytest.Ben, "hello")
	err := env.Telegram.Plan(telegram.Fault{Trouble: telegram.TooManyRequests, Method: "sendMessage", Chat: gatewaytest.Ann.ID, Next: 1, RetryAfter: 3600})
	if err != nil {
		t.Fatal(err)
	}
	env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "hello")
	gw.AwaitMetrics(`parley_turns_total{channel="tg",chat="dm",outcome="ok"} 2`)
	env.Await("the penalty", func(b telegram.Book) bool { return b.Totals.Faults > 0 })
	gw.Stop()

	again := env.Start()
	again.Ask(gatewaytest.Ben, "hello") // the outbox is looked at in its order
	if n := env.Telegram.Books().Totals.Violations; n != 0 {
		t.Errorf("%d calls fell into the penalty", n)
	}
}
