package gateway_test

import (
	"runtime"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/simulators/model"
)

// BenchmarkPlainTurn is one message and its answer in the whole gateway, the servers around it
// included: two thirds of the allocations are the gateway's. A conversation has about so many
// turns before it.
func BenchmarkPlainTurn(b *testing.B) {
	for _, protocol := range []string{"anthropic", "openai"} {
		b.Run(protocol, func(b *testing.B) {
			env := gatewaytest.Open(b, gatewaytest.Options{Brain: model.Echo, OpenAI: protocol == "openai", Keep: 1})
			gw := env.Start()
			for range 25 {
				gw.Ask(gatewaytest.Ann, "what is it that you know about the weather of tomorrow?")
			}
			b.ReportAllocs()
			for b.Loop() {
				gw.Ask(gatewaytest.Ann, "what is it that you know about the weather of tomorrow?")
			}
		})
	}
}

// mostAllocations is a seventh more than what a plain turn takes, the servers around the gateway
// included.
const mostAllocations = 4000

// TestAPlainTurnTakesFewAllocations is no parallel test, so that nothing else allocates. Of several
// series of turns the cheapest counts: what a gateway does once in a while comes on top.
func TestAPlainTurnTakesFewAllocations(t *testing.T) { // see above
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Echo, OpenAI: true, Keep: 1})
	gw := env.Start()
	const turns = 10
	series := func() uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range turns {
			gw.Ask(gatewaytest.Ann, "hello")
		}
		runtime.ReadMemStats(&after)
		return (after.Mallocs - before.Mallocs) / turns
	}
	series() // which makes mailbox, session and connections
	least := min(series(), series(), series())
	t.Logf("%d allocations", least)
	if least > mostAllocations {
		t.Errorf("a plain turn takes %d allocations, and may take %d", least, mostAllocations)
	}
}
