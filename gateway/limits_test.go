package gateway_test

import (
	"context"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
)

// restless hands a task to a sub-agent; both look around as long as they may.
func restless(_ context.Context, p *model.Prompt) model.Answer {
	look := model.Use("list_directory", map[string]string{"path": "."})
	switch {
	case p.Choice.Mode == model.ChoiceNone:
		return model.Reply(model.Say("as far as I got"))
	case strings.HasPrefix(p.Messages[0].Text, "look for") || len(p.Answering()) > 0:
		return model.Reply(model.Say(strings.Repeat("thinking aloud ", 100)), look)
	default:
		return model.Reply(model.Use("sessions_spawn", map[string]string{"task": "look for it"}))
	}
}

// Addition 8 of 2.7, AA01-AA03: a message that has cost what the operator says comes to its
// end with what was found, and so does the sub-agent that spent it; no budget is needed for
// that. The next message has its own.
func TestAMessageThatHasCostEnoughComesToAnEnd(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: restless, Change: func(c *settings.Config) {
		a := c.Agents["main"]
		a.MaxTurnCost = "0.02"
		c.Agents["main"] = a
		c.Budgets.Turn = "none"
	}})
	gw := env.Start()
	for range 2 {
		got := gw.Ask(gatewaytest.Ann, "where is it?")
		if !strings.HasPrefix(got, "as far as I got\n\n(I stopped here: this message has cost $0.0") || !strings.HasSuffix(got, "and I stop at $0.0200. Write again to go on.)") {
			t.Errorf("Ann was told %q", got)
		}
	}
	requests := env.Model.Requests()
	last := requests[len(requests)-1]
	if n := strings.Count(string(last.Body), `\"status\":\"stopped\"`); n != 2 {
		t.Errorf("%d sub-agents were stopped, so the last request says: %s", n, last.Body)
	}
	if agents := gw.Ask(gatewaytest.Ann, "/agents"); !strings.Contains(agents, "stopped") {
		t.Errorf("/agents says %q", agents)
	}
}

// The list of an agent is what decides: without compact its conversations are left alone.
func TestAnAgentHasTheMiddlewareOfItsConfiguration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list    []string
		summary bool
	}{{[]string{"turn_limit", "compact"}, true}, {[]string{"turn_limit"}, false}} {
		env := gatewaytest.Open(t, gatewaytest.Options{
			Brain: func(context.Context, *model.Prompt) model.Answer {
				return model.Reply(model.Say(strings.Repeat("it is so ", 300)))
			},
			Change: func(cfg *settings.Config) {
				a := cfg.Agents["main"]
				a.Middleware, a.MaxTurnTokens = c.list, 0
				cfg.Agents["main"] = a
				cfg.Context.MaxTokens = 2500
			},
		})
		gw := env.Start()
		for range 5 {
			gw.Ask(gatewaytest.Ann, "tell me more "+strings.Repeat("and more ", 200))
		}
		if got := len(env.Model.Requests()) > 5; got != c.summary {
			t.Errorf("with %q: %d requests", c.list, len(env.Model.Requests()))
		}
	}
}

// requirements TS07, TX35, C01-C05: a model that calls tools without end is asked for last words
// after as many calls as its agent has; where it has none, the chat gets the fixed text. The
// history has what was done, and not the request for last words.
func TestAModelWithoutEndIsAskedForLastWords(t *testing.T) {
	t.Parallel()
	for last, want := range map[string]string{"as far as I got": "as far as I got", "": "Stopped: maximum iteration limit reached."} {
		env := gatewaytest.Open(t, gatewaytest.Options{
			Brain: func(_ context.Context, p *model.Prompt) model.Answer {
				look := model.Use("list_directory", map[string]string{"path": "."})
				switch {
				case strings.Contains(p.LastText(), "and now?"):
					return model.Reply(model.Say("fine"))
				case p.Choice.Mode == model.ChoiceNone && last != "":
					return model.Reply(model.Say(last))
				}
				return model.Reply(look)
			},
			Change: func(c *settings.Config) {
				a := c.Agents["main"]
				a.MaxIterations = 2
				c.Agents["main"] = a
			},
		})
		gw := env.Start()
		if got := gw.Ask(gatewaytest.Ann, "look"); got != want {
			t.Errorf("Ann was told %q, want %q", got, want)
		}
		gw.Ask(gatewaytest.Ann, "and now?")
		requests := env.Model.Requests()
		if len(requests) != 4 {
			t.Fatalf("%d requests", len(requests))
		}
		third, fourth := string(requests[2].Body), string(requests[3].Body)
		if !strings.Contains(third, `"tool_choice":{"type":"none"}`) || strings.Count(fourth, `"tool_use"`) != 2 || strings.Contains(fourth, `"tool_choice"`) {
			t.Errorf("last words are asked for with %s, and the next turn's first request is %s", third, fourth)
		}
	}
}
