package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// why is an answer in many pieces, but for what follows it.
func why(ctx context.Context, p *model.Prompt) model.Answer {
	if p.LastText() != "why?" {
		return model.Echo(ctx, p)
	}
	return model.Reply(model.Say("The first reason is this. " + strings.Repeat("And there is more to it. ", 40)))
}

// requirements D05, L07, T05: what of an answer a person has seen stays in the chat and in
// the history, and the model is told that it was not finished.
// (requirements AH05)
func TestTheModelKnowsWhatItHadHalfSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		openAI bool
		fault  model.FaultKind
		mark   string
	}{
		"stopped, Anthropic":   {false, model.FaultSilentAfter, "[stopped by the user before it was finished]"},
		"stopped, OpenAI":      {true, model.FaultSilentAfter, "[stopped by the user before it was finished]"},
		"broken off, OpenAI":   {true, model.FaultCut, "[broke off before it was finished: the model failed]"},
		"ended, Anthropic":     {false, model.FaultEnd, "[broke off before it was finished: the model failed]"},
		"an error, Anthropic ": {false, model.FaultErrorEvent, "[broke off before it was finished: the model failed]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := gatewaytest.Open(t, gatewaytest.Options{Brain: why, OpenAI: c.openAI})
			noError(t, env.Model.Plan(model.Fault{Kind: c.fault, After: 30, Next: 1}))
			gw := env.Start()
			ann := telegram.PrivateChat(gatewaytest.Ann)
			env.Say(ann, gatewaytest.Ann, "why?")
			if c.fault == model.FaultSilentAfter {
				env.Await("the beginning of the answer", func(b telegram.Book) bool {
					return len(b.Messages) > 0 && strings.Contains(b.Messages[len(b.Messages)-1].Text(), "The first reason")
				})
				if got := gw.Ask(gatewaytest.Ann, "/stop"); got != "Stopped." {
					t.Errorf("/stop was answered with %q", got)
				}
			} else if got := env.DeliveredText(ann, gw.NextDelivered()); !strings.HasPrefix(got, "The first reason") || !strings.Contains(got, "\n\n(The answer broke off. ") {
				t.Errorf("the chat shows %q", got)
			}
			shown := strings.TrimSpace(strings.Split(env.SentTexts(ann)[0], "\n\n(")[0])
			gw.Ask(gatewaytest.Ann, "go on")
			half := assistantWords(t, env.Model.Requests())
			words, marked := strings.CutSuffix(half, "\n\n"+c.mark)
			if !marked || !strings.HasPrefix(shown, "The first reason") || !strings.HasPrefix(words, shown) {
				t.Errorf("the chat shows %q, the model reads %q", shown, half)
			}
		})
	}
}

// assistantWords returns the words of the model in the last request.
func assistantWords(t *testing.T, rs []model.Recorded) string {
	t.Helper()
	var q struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	noError(t, json.Unmarshal(rs[len(rs)-1].Body, &q))
	for _, m := range q.Messages {
		if m.Role != "assistant" {
			continue
		}
		var blocks []struct{ Text string }
		if json.Unmarshal(m.Content, &blocks) == nil && len(blocks) == 1 {
			return blocks[0].Text
		}
		var words string
		noError(t, json.Unmarshal(m.Content, &words))
		return words
	}
	t.Fatalf("no answer is in the request %s", rs[len(rs)-1].Body)
	return ""
}
