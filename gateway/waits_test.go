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
	house := gatewaytest.Open(t, gatewaytest.Options{})
	gw := house.Start()
	gw.Ask(gatewaytest.Ben, "hello")
	err := house.Telegram.Plan(telegram.Fault{Trouble: telegram.TooManyRequests, Method: "sendMessage", Chat: gatewaytest.Ann.ID, Next: 1, RetryAfter: 3600})
	if err != nil {
		t.Fatal(err)
	}
	house.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "hello")
	gw.AwaitMetrics(`parley_turns_total{channel="tg",chat="dm",outcome="ok"} 2`)
	house.Await("the penalty", func(b telegram.Book) bool { return b.Totals.Faults > 0 })
	gw.Stop()

	again := house.Start()
	again.Ask(gatewaytest.Ben, "hello") // the outbox is looked at in its order
	if n := house.Telegram.Books().Totals.Violations; n != 0 {
		t.Errorf("%d calls fell into the penalty", n)
	}
}
