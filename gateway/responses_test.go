package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"parley/costs"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// reasons thinks before each of two calls, and before it answers.
func reasons(_ context.Context, p *model.Prompt) model.Answer {
	calls := 0
	for _, m := range p.Messages {
		calls += len(m.Calls)
	}
	switch calls {
	case 0:
		return model.Reply(model.Think("first thought"), model.Use("list_directory", map[string]string{}))
	case 1:
		return model.Reply(model.Think("second thought"), model.Use("write_file", map[string]string{"path": "a", "content": "b"}))
	default:
		return model.Reply(model.Think("third thought"), model.Say("done"))
	}
}

// reasoned are the reasoning items of a request, byte for byte.
func reasoned(t *testing.T, body []byte) []string {
	t.Helper()
	var request struct{ Input []json.RawMessage }
	noError(t, json.Unmarshal(body, &request))
	var items []string
	for _, raw := range request.Input {
		var item struct {
			Type      string
			Encrypted string `json:"encrypted_content"`
		}
		noError(t, json.Unmarshal(raw, &item))
		if item.Type == "reasoning" {
			if item.Encrypted == "" {
				t.Errorf("a reasoning item came back without its encrypted content: %s", raw)
			}
			items = append(items, string(raw))
		}
	}
	return items
}

// The model server refuses reasoning that comes back altered; that it comes back
// at all is seen in the requests.
func TestWithResponsesTheModelKeepsItsReasoningOverTheStepsOfATurn(t *testing.T) {
	t.Parallel()
	const usd = 1_000_000 // pico-dollars of a token at one dollar for a million
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain:  reasons,
		Prices: map[string]model.Price{"gpt-5.6-sol": {Input: 4 * usd, Output: 20 * usd, CacheRead: 4 * usd / 10}},
		Change: func(c *settings.Config) {
			p := c.Providers["sim"]
			c.Providers["sim"] = settings.ProviderConfig{Kind: settings.KindOpenAIResponses, BaseURL: p.BaseURL + "/v1"}
			c.Agents = map[string]settings.AgentConfig{"main": {Model: "sim/gpt-5.6-sol"}}
		},
	})
	gw := env.Start()
	env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "go")
	a := gw.NextDelivered()
	if got := env.DeliveredText(telegram.PrivateChat(gatewaytest.Ann), a); got != "done" {
		t.Fatalf("Ann was told %q", got)
	}
	if bill := env.Model.Bill(); a.Cost != costs.Amount(bill.Pico) || bill.Pico == 0 || bill.Unpriced > 0 {
		t.Errorf("the answer cost %s by the ledger, %s by the bill", a.Cost.Display(), costs.Amount(bill.Pico).Display())
	}
	gw.Ask(gatewaytest.Ann, "and again")

	requests := env.Model.Requests()
	if len(requests) != 4 {
		t.Fatalf("%d requests, not 4", len(requests))
	}
	var before []string
	for i, r := range requests {
		if r.Protocol != model.OpenAIResponses {
			t.Fatalf("request %d speaks %s", i+1, r.Protocol)
		}
		items := reasoned(t, r.Body)
		if len(items) != i {
			t.Fatalf("request %d brings %d reasoning items, not %d", i+1, len(items), i)
		}
		if was := strings.Join(before, "\n"); was != strings.Join(items[:len(before)], "\n") {
			t.Errorf("request %d brings other reasoning than the one before:\n%s\n%s", i+1, was, items)
		}
		before = items
	}
}

func TestBothProtocolsOfOpenAIHaveItsPrices(t *testing.T) {
	t.Parallel()
	c := settings.Config{Providers: map[string]settings.ProviderConfig{
		"openai-responses": {}, "openai": {}, "anthropic": {}, "mine": {Kind: settings.KindOpenAIResponses, Prices: "demo"},
	}}.Defaults()
	for name, want := range map[string]string{"openai-responses": "openai", "openai": "openai", "anthropic": "anthropic", "mine": "demo"} {
		if got := c.Providers[name].Prices; got != want {
			t.Errorf("%s has the prices of %s, not of %s", name, got, want)
		}
	}
}
