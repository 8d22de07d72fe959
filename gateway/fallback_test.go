package gateway_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/prices"
	"parley/gateway/settings"
	"parley/sessions"
	"parley/simulators/model"
)

// withSpare has the agent fall back to a model of a second provider, which speaks another
// protocol, after one failure.
func withSpare(cooldown time.Duration) func(*settings.Config) {
	return func(c *settings.Config) {
		c.Prices.Ceiling = prices.Ceiling{Input: "5", Output: "25"}
		sim := c.Providers["sim"]
		sim.Retry.Max = -1
		c.Providers["sim"] = sim
		c.Providers["spare"] = settings.ProviderConfig{
			Kind: settings.KindOpenAI, BaseURL: sim.BaseURL + "/v1", Prices: "demo", Retry: sim.Retry,
			Models: []settings.ModelConfig{{Name: "second", Window: 100_000}},
		}
		a := c.Agents["main"]
		a.Fallbacks = []string{"spare/second"}
		c.Agents["main"] = a
		c.Circuit = settings.CircuitConfig{Failures: 1, Cooldown: cooldown, NoneBackoff: cooldown}
	}
}

// requirements B22, TX20: while a provider is down another one answers, and the first is not
// asked again before its time; with both down people are told so at once. The ledger, the
// metrics, the log and the status say what happened. (docs/decisions/0066)
func TestAnotherProviderAnswersWhileOneIsDown(t *testing.T) {
	t.Parallel()
	log := &lines{}
	env := gatewaytest.Open(t, gatewaytest.Options{
		Log: slog.New(slog.NewTextHandler(log, nil)),
		Brain: func(_ context.Context, p *model.Prompt) model.Answer {
			return model.Reply(model.Say("from " + p.Model))
		},
		Change: withSpare(time.Hour),
	})
	gw := env.Start()
	client := admin.NewClient(gw.AdminSocket())
	ask := func(text, want string, requests int) {
		t.Helper()
		before := len(env.Model.Requests())
		if got := gw.Ask(gatewaytest.Ann, text); got != want {
			t.Errorf("%q is answered with %q, want %q", text, got, want)
		}
		if n := len(env.Model.Requests()) - before; n != requests {
			t.Errorf("%q: %d requests, want %d", text, n, requests)
		}
	}
	open := func(want ...string) {
		t.Helper()
		st, err := client.Status(t.Context())
		noError(t, err)
		var got []string
		for _, c := range st.Circuits {
			got = append(got, c.Provider+"/"+c.Model)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || st.Fine != (len(want) == 0) {
			t.Errorf("the status says that %v are not called, and fine: %v; want %v", got, st.Fine, want)
		}
	}
	ask("one", "from demo", 1)
	open()
	noError(t, env.Model.Plan(model.Fault{Kind: model.FaultStatus, Status: 500, Protocol: model.Anthropic, Next: 100}))
	ask("two", "from second", 2)
	ask("three", "from second", 1)
	open("sim/demo")
	gw.AwaitMetrics(
		`parley_llm_fallbacks_total{model="demo",provider="sim",to_model="second",to_provider="spare"} 2`,
		`parley_llm_circuit_state{model="demo",provider="sim"} 2`, `parley_llm_circuit_state{model="second",provider="spare"} 0`,
	)
	used, err := client.Usage(t.Context(), admin.UsageQuery{By: sessions.ByModel})
	noError(t, err)
	calls := map[string]int64{}
	for _, g := range used.Groups {
		calls[g.Group] = g.Calls
	}
	if calls["sim/demo"] != 2 || calls["spare/second"] != 2 {
		t.Errorf("the ledger has %v", calls)
	}

	noError(t, env.Model.Plan(model.Fault{Kind: model.FaultStatus, Status: 500, Protocol: model.OpenAI, Next: 100}))
	ask("four", "I could not reach the model. Please try again later.", 1)
	ask("five", "No model answers at the moment. Please try again in a minute.", 0)
	open("sim/demo", "spare/second")
	if want := "model given up, the turn goes on with the next"; strings.Count(log.String(), want) != 3 {
		t.Errorf("the log does not say three times that the %s", want)
	}
	gw.Stop()

	// The first model answers again as soon as it does.
	env.Model.ClearFaults()
	noError(t, env.Model.Plan(model.Fault{Kind: model.FaultStatus, Status: 500, Protocol: model.Anthropic, Next: 1}))
	gw = env.StartAs(withSpare(time.Nanosecond))
	client = admin.NewClient(gw.AdminSocket())
	ask("six", "from second", 2)
	ask("seven", "from demo", 1)
	open()
	gw.AwaitMetrics(`parley_llm_circuit_state{model="demo",provider="sim"} 0`)
}
