package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/prices"
	"parley/gateway/settings"
	"parley/simulators/model"
)

// threeModels lets people choose among the agent's own model, its fall-back and another one
// of a second provider, whose window is small.
func threeModels(c *settings.Config) {
	c.Prices.Ceiling = prices.Ceiling{Input: "5", Output: "25"}
	spare := c.Providers["sim"]
	spare.Models = []settings.ModelConfig{{Name: "large", Window: 50_000, ModelSettings: settings.ModelSettings{MaxTokens: 700}}}
	c.Providers["spare"] = spare
	a := c.Agents["main"]
	a.Fallbacks = []string{"sim/second"}
	a.Choices = []string{"sim/demo", "sim/second", "spare/large"}
	c.Agents["main"] = a
}

// requirements AB01–AB05, AI06, A13, AC02, TX26: a person sees what there is to choose, chooses
// for one conversation, and finds the choice in /status, with its window, and after a restart;
// sub-agents keep their agent's model; what the operator takes out of the list answers no
// more, and no turn is refused for it.
func TestAPersonChoosesAModelForAConversation(t *testing.T) {
	t.Parallel()
	demo := model.Demo(0)
	env := gatewaytest.Open(t, gatewaytest.Options{Change: threeModels, Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
		if strings.HasSuffix(p.LastText(), "who?") {
			return model.Reply(model.Think("Who am I?"), model.Say(p.Model))
		}
		return demo(ctx, p)
	}})
	gw := env.Start()
	ann, group := env.Direct(gatewaytest.Telegram, 101), env.Group(gatewaytest.Telegram, 102, 101)
	says := func(at *gatewaytest.Conversation, text string, words ...string) {
		t.Helper()
		got := gw.AskAt(at, text)
		for _, w := range words {
			if !strings.Contains(got, w) {
				t.Errorf("%s is answered %q, without %q", text, got, w)
			}
		}
	}
	says(ann, "/model", "Here sim/demo answers, by default.", "1: sim/demo, the default, answers now", "3: spare/large", "/model 3 chooses")
	says(ann, "who?", "demo")
	says(ann, "/model large", "From your next message on spare/large answers here.")
	says(ann, "who?", "large")
	says(ann, "/status", "Model: spare/large, chosen here", " of 50k tokens")
	says(ann, "/provider", "Here spare/large answers, chosen here.", "sim: sim/demo, the default; sim/second", "spare: spare/large, answers now")
	says(group, "who?", "demo") // another conversation
	before := len(env.Model.Requests())
	says(ann, "research the weather")
	asked := map[string]int{}
	for _, r := range env.Model.Requests()[before:] {
		asked[modelOf(t, r.Body)]++
	}
	if asked["large"] == 0 || asked["demo"] == 0 || len(asked) != 2 { // the sub-agents'
		t.Errorf("a turn with sub-agents asked %v", asked)
	}
	gw.AwaitMetrics(`parley_llm_requests_total{agent_kind="root",model="large",outcome="ok",provider="spare"} 3`)
	gw.Stop()
	gw = env.Start()
	says(ann, "/new")
	says(ann, "who?", "large")
	says(ann, "/provider sim", "From your next message on sim/demo answers here.")
	says(ann, "/model second", "sim/second")
	says(ann, "who?", "second")
	gw.Stop()
	gw = env.StartAs(func(c *settings.Config) {
		threeModels(c)
		a := c.Agents["main"]
		a.Choices = []string{"spare/large"}
		c.Agents["main"] = a
	})
	says(ann, "who?", "demo")
	says(ann, "/status", "Model: sim/demo\n")
	says(ann, "/model second", "There is no such model to choose here")
	gw.Stop()
	gw = env.StartAs(func(c *settings.Config) {
		threeModels(c)
		a := c.Agents["main"]
		a.Choices = []string{}
		c.Agents["main"] = a
	})
	says(ann, "/model large", "There is no other model that you may choose")
	says(ann, "/model", "There is no other model that you may choose")
	says(ann, "who?", "demo")
}

// modelOf returns which model a request asks.
func modelOf(t *testing.T, body []byte) string {
	t.Helper()
	var asked struct{ Model string }
	noError(t, json.Unmarshal(body, &asked))
	return asked.Model
}
