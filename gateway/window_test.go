package gateway_test

import (
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/prices"
	"parley/gateway/settings"
)

// requirements TX06, M05: what a turn takes for its model's window is what the operator says,
// else what the catalogue knows: of that name, of the longest name that it begins with, of the
// longest that it contains, else 8192 tokens.
func TestTheWindowOfAModelIsFoundByItsName(t *testing.T) {
	t.Parallel()
	for model, c := range map[string]struct {
		window int
		want   string
	}{
		"gpt-4.1":                      {0, "of 1048k tokens"},
		"claude-sonnet-4-5-20250929-x": {0, "of 200k tokens"},
		"eu.gpt-4.1-mini-v9":           {0, "of 1048k tokens"},
		"somebodys-own":                {0, "of 8k tokens"},
		"somebodys-other":              {33_000, "of 33k tokens"},
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			env := gatewaytest.Open(t, gatewaytest.Options{Change: func(cfg *settings.Config) {
				cfg.Agents["main"] = settings.AgentConfig{Model: "sim/" + model, Window: c.window}
				cfg.Prices.Ceiling = prices.Ceiling{Input: "5", Output: "25"}
			}})
			gw := env.Start()
			gw.Ask(gatewaytest.Ann, "hello")
			if got := gw.Ask(gatewaytest.Ann, "/status"); !strings.Contains(got, c.want) {
				t.Errorf("%s\nlacks %q", got, c.want)
			}
		})
	}
}
