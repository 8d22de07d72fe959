package gateway_test

import (
	"slices"
	"testing"

	"parley/gateway"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
)

func TestExamine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ price, want string }{
		"the model of voice notes is asked and priced":                      {"0.006", "model.missing"},
		"without a price per minute the model of voice notes is not called": {"", "model.refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := gatewaytest.Open(t, gatewaytest.Options{Change: func(c *settings.Config) { hearing(c) }})
			cfg := env.Config()
			cfg.Transcription.Model, cfg.Transcription.PricePerMinute = "ears/nobody-knows-it", c.price
			g, err := gateway.New(cfg, gateway.Options{})
			if err != nil {
				t.Fatal(err)
			}
			found, err := g.Examine(t.Context(), gateway.Examination{NoServers: true})
			if err != nil {
				t.Fatal(err)
			}
			var of []string
			for _, f := range found {
				if f.Subject == "ears/nobody-knows-it" {
					of = append(of, f.ID)
				}
			}
			if !slices.Contains(of, c.want) || c.price != "" && slices.Contains(of, "model.refused") {
				t.Errorf("of it is found %q, not %s: %v", of, c.want, found)
			}
		})
	}
}
