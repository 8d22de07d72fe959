package gateway_test

import (
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
