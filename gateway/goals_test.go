package gateway_test

import (
	"context"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// obedient says what a person tells it to say, or looks around first.
func obedient(_ context.Context, p *model.Prompt) model.Answer {
	text := p.LastText()
	if rest, ok := strings.CutPrefix(text, "look and say "); ok && len(p.Answering()) == 0 {
		return model.Reply(model.Say(rest), model.Use("list_directory", map[string]string{"path": "."}))
	}
	if len(p.Answering()) > 0 {
		return model.Reply(model.Say("Done."))
	}
	_, rest, _ := strings.Cut(text, "say ")
	return model.Reply(model.Say(rest))
}

// TX28, AD01-AD04, AI08, AI02: what people see of a goal. A completion is a message of its own,
// which no model reads; the prompt has nothing of goals unless the operator wants it.
func TestAGoalIsSetReachedAndShown(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: obedient})
	gw := env.Start()
	ask := func(text, want string) {
		t.Helper()
		if got := gw.Ask(gatewaytest.Ann, text); !strings.Contains(got, want) {
			t.Errorf("%q is answered with %q", text, got)
		}
	}
	reached := func(text string) {
		t.Helper()
		ask(text, "")
		if got := env.DeliveredText(telegram.PrivateChat(gatewaytest.Ann), gw.NextDelivered()); got != "✓ Goal completed: paint the gate" {
			t.Errorf("after %q: %q", text, got)
		}
	}
	ask("/done", "There is no goal")
	ask("/goal", "There is no goal. /goal with words behind it sets one.")
	ask("say Done.", "Done.") // of nothing
	ask("/goal paint the gate", "That is our goal now: paint the gate")
	ask("/status", "Goal: paint the gate")
	ask("say I have not finished.", "not finished")
	ask("look and say Done.", "Done.") // it called a tool
	ask("/goal", "Goal: paint the gate")
	reached("say It took a while. It is done.")
	ask("/status", "Goal completed: paint the gate")
	ask("say Done.", "Done.") // reached already
	ask("/goal paint the gate", "our goal now")
	ask("/done", "✓ Goal completed: paint the gate")
	ask("/goal paint the gate", "our goal now")
	ask("/clear", "A new conversation")
	ask("/goal", "There is no goal")
	ask("say Done.", "Done.")
	ask("/resume 1", "Back in the conversation")
	ask("/goal", "Goal: paint the gate")
	reached("say All finished!")
	for _, r := range env.Model.Requests() {
		if strings.Contains(string(r.Body), "paint the gate") {
			t.Errorf("a request holds the goal: %s", r.Body)
		}
	}
	gw.AwaitMetrics(`parley_goals_completed_total{how="phrase"} 2`, `parley_goals_completed_total{how="command"} 1`)
}

// AD04, AD05, ruling 15: with the operator's keys the text, never the state, is in the system
// message, behind what is cached, and the first message is the goal.
func TestAGoalIsShownToTheModelWhereTheOperatorWantsIt(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: obedient, Change: func(c *settings.Config) {
		c.Goals.TrackInSystemPrompt, c.Goals.FromMessages = true, true
		c.Goals.CompletionPhrases = []string{"ship it"}
	}})
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "say Not yet, I wait.")
	gw.Ask(gatewaytest.Ann, "say hm")
	gw.Ask(gatewaytest.Ann, "say Ship it!")
	if got := env.DeliveredText(telegram.PrivateChat(gatewaytest.Ann), gw.NextDelivered()); got != "✓ Goal completed: say Not yet, I wait." {
		t.Errorf("Ann was told %q", got)
	}
	gw.Ask(gatewaytest.Ann, "say hm")
	const tracked = `set this goal, quoted in their words: \"say Not yet, I wait.\"`
	var seen []bool
	for _, r := range env.Model.Requests() {
		system, _, _ := strings.Cut(string(r.Body), `"messages"`)
		_, after, _ := strings.Cut(string(r.Body), `"system"`)
		seen = append(seen, strings.Contains(strings.ReplaceAll(after, `\\\"`, `\"`), tracked))
		if strings.Contains(system, "active") {
			t.Errorf("the state is in %s", system)
		}
	}
	if want := []bool{false, true, true, false}; len(seen) != len(want) || seen[0] != want[0] || seen[1] != want[1] || seen[2] != want[2] || seen[3] != want[3] {
		t.Errorf("the goal is in the requests %v, e.g. %s", seen, env.Model.Requests()[1].Body)
	}
	if sent := env.SentTexts(telegram.PrivateChat(gatewaytest.Ann)); len(sent) != 5 {
		t.Errorf("the chat shows %q", sent)
	}
}
