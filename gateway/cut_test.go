package gateway_test

import (
	"context"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
)

// B06, and no half call is run: a call that the limit of an answer cuts is not made, its model is
// told so, and the conversation goes on, with a history that the provider takes, in each protocol.
// (docs/decisions/0063)
func TestACallThatTheLimitCutIsNotMade(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{settings.KindAnthropic, settings.KindOpenAI, settings.KindOpenAIResponses} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			brain := func(_ context.Context, p *model.Prompt) model.Answer {
				switch {
				case len(p.Answering()) > 0:
					return model.Reply(model.Say("I see: " + p.Answering()[0].Text))
				case p.LastText() == "write":
					return model.Reply(model.Say("I write."), model.Use("write_file", map[string]string{"path": "half.txt", "content": strings.Repeat("word ", 1000)}))
				}
				return model.Reply(model.Use("list_directory", map[string]string{"path": "."}))
			}
			env := gatewaytest.Open(t, gatewaytest.Options{Brain: brain, Change: func(c *settings.Config) {
				p := c.Providers["sim"]
				if p.Kind = kind; kind != settings.KindAnthropic {
					p.BaseURL += "/v1"
				}
				c.Providers["sim"] = p
				a := c.Agents["main"]
				a.MaxTokens = 100
				c.Agents["main"] = a
			}})
			gw := env.Start()
			if got := gw.Ask(gatewaytest.Ann, "write"); !strings.HasPrefix(got, "I see: ") || !strings.Contains(got, "inside this call; it was not run") {
				t.Errorf("Ann is told %q", got)
			}
			if got := gw.Ask(gatewaytest.Ann, "look"); !strings.HasPrefix(got, "I see: ") || strings.Contains(got, "half.txt") {
				t.Errorf("then Ann is told %q", got)
			}
			for _, e := range env.Model.Bill().Entries {
				if e.Outcome == model.Refused {
					t.Errorf("the provider refused a request: %s", e.Error)
				}
			}
		})
	}
}
