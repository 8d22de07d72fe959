package gateway_test

import (
	"context"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/prices"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/signal"
	"parley/simulators/slack"
)

// whoAnswers answers with what tells agents apart: the model, the prompt, and whether there are
// tools. Asked to wait, it answers once held is closed.
func whoAnswers(waiting chan<- struct{}, held <-chan struct{}) model.Brain {
	return func(ctx context.Context, p *model.Prompt) model.Answer {
		if strings.HasSuffix(p.LastText(), "wait") {
			waiting <- struct{}{}
			select {
			case <-held:
			case <-ctx.Done():
			}
		}
		who := p.Model
		if strings.Contains(p.System, "You are on duty.") {
			who += ", on duty"
		}
		if _, ok := p.Offers("write_file"); ok {
			who += ", writes"
		}
		if p.Thinking {
			return model.Reply(model.Think("Who am I?"), model.Say(who))
		}
		return model.Reply(model.Say(who))
	}
}

func answersHere(p *model.Prompt) model.Answer {
	return whoAnswers(nil, nil)(context.Background(), p)
}

const (
	mainAnswers = "demo, writes"
	dutyAnswers = "duty-model, on duty"
)

// onDuty adds an agent that differs from main in model, prompt and tools.
func onDuty(c *settings.Config) {
	c.Prices.Ceiling = prices.Ceiling{Input: "5", Output: "25"}
	c.Agents["duty"] = settings.AgentConfig{Model: "sim/duty-model", Window: 200_000, Prompt: "You are on duty.", Tools: []string{"read_file"}}
}

// dutyEverywhere binds the agent to group 101 and to person 102 on every network, and to all else of
// Signal.
func dutyEverywhere(c *settings.Config) {
	onDuty(c)
	c.Bindings = []settings.Binding{
		{Agent: "duty", Account: "tg", Group: "-101"},
		{Agent: "duty", Account: "tg", Person: "102"},
		{Agent: "duty", Network: "slack", Group: "C101"},
		{Agent: "duty", Network: "slack", Person: "U102"},
		{Agent: "duty", Network: "signal"},
		{Agent: "main", Account: "sig", Person: signal.MadeUpACI(103)},
	}
}

// issue 13: one agent answers in a group and to a person, another the rest; the model, the prompt
// and the tools are those of the agent, and commands concern the same conversation.
func TestAgentsAreBoundToGroupsPeopleAndNetworks(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{
		Networks: gatewaytest.AllNetworks(), Change: dutyEverywhere,
		Brain: func(_ context.Context, p *model.Prompt) model.Answer { return answersHere(p) },
	})
	gw := env.Start()
	for _, c := range []struct {
		at   *gatewaytest.Conversation
		want string
	}{
		{env.Group(gatewaytest.Telegram, 101, 101), dutyAnswers},
		{env.Group(gatewaytest.Telegram, 102, 102), mainAnswers},
		{env.Direct(gatewaytest.Telegram, 101), mainAnswers},
		{env.Direct(gatewaytest.Telegram, 102), dutyAnswers},
		{env.Group(gatewaytest.Slack, 101, 101), dutyAnswers},
		{env.Group(gatewaytest.Slack, 102, 102), mainAnswers},
		{env.Direct(gatewaytest.Slack, 101), mainAnswers},
		{env.Direct(gatewaytest.Slack, 102), dutyAnswers},
		{env.Group(gatewaytest.Signal, 101, 101), dutyAnswers},
		{env.Direct(gatewaytest.Signal, 101), dutyAnswers},
		{env.Direct(gatewaytest.Signal, 103), mainAnswers},
	} {
		if got := gw.AskAt(c.at, "who is there?"); got != c.want {
			t.Errorf("%s: %q answers, want %q", c.at, got, c.want)
		}
	}
	if got := gw.AskAt(env.Group(gatewaytest.Telegram, 101, 101), "/status"); !strings.Contains(got, "Model: sim/duty-model") || !strings.Contains(got, "2 messages") {
		t.Errorf("the status of a bound group is of another conversation: %q", got)
	}
}

// issue 13: what an agent was asked before its chat was bound to another is answered by it,
// once; /stop reaches it where the other one has nothing to do.
func TestWorkOfAnAgentGoesOnWhenItsChatIsBoundAnew(t *testing.T) {
	t.Parallel()
	waiting, held := make(chan struct{}, 9), make(chan struct{})
	env := gatewaytest.Open(t, gatewaytest.Options{Change: onDuty, Brain: whoAnswers(waiting, held)})
	bound := func(c *settings.Config) {
		c.Bindings = []settings.Binding{{Agent: "duty", Account: "tg", Person: "1001"}, {Agent: "duty", Account: "tg", Person: "1002"}}
		c.Worker.Grace = 1
	}
	chat, other := env.Direct(gatewaytest.Telegram, 1001), env.Direct(gatewaytest.Telegram, 1002)
	gw := env.StartAs(func(c *settings.Config) { c.Worker.Grace = 1 })
	chat.Say("wait")
	chat.Say("and who are you?") // it queues behind
	other.Say("wait")
	<-waiting
	<-waiting
	gw.Stop()
	gw = env.StartAs(bound)
	<-waiting
	<-waiting
	other.Say("/stop")
	other.AwaitWords("topped")
	chat.Say("who is it now?")
	chat.AwaitWords(dutyAnswers)
	close(held)
	shown := chat.Await("three answers", func(shown []string) bool { return len(shown) >= 3 })
	gw.Stop()
	if got := count(shown, mainAnswers); got != 2 {
		t.Errorf("the old agent answered %d times, want 2: %q", got, shown)
	}
	if got := count(shown, dutyAnswers); got != 1 {
		t.Errorf("the new agent answered %d times, want 1: %q", got, shown)
	}
	if got := other.Texts(); len(got) != 1 {
		t.Errorf("after /stop the chat shows %q", got)
	}
}

// issue 13: a thread in which one agent answered is followed without a mention by the one to
// which its channel is bound now.
func TestAThreadIsFollowedWhenItsChannelIsBoundAnew(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{
		Networks: []gatewaytest.Network{gatewaytest.Slack}, Change: onDuty,
		Brain: func(_ context.Context, p *model.Prompt) model.Answer { return answersHere(p) },
	})
	thread, ann := env.Group(gatewaytest.Slack, 101, 101), gatewaytest.SlackPerson(101)
	gw := env.Start()
	gw.AskAt(thread, "who?")
	gw.Stop()
	env.StartAs(func(c *settings.Config) {
		c.Bindings = []settings.Binding{{Agent: "duty", Network: "slack", Group: thread.ID}}
	})
	_, err := env.Slack.Say(slack.Channel{ID: thread.ID, Kind: slack.Public, Name: "group-101"}, ann, "and who is it now?", slack.SayOptions{ThreadTS: thread.Thread})
	noError(t, err)
	if shown := thread.AwaitWords(dutyAnswers); len(shown) != 2 || shown[0] != mainAnswers {
		t.Errorf("the thread shows %q", shown)
	}
}

func count(in []string, what string) (n int) {
	for _, s := range in {
		if s == what {
			n++
		}
	}
	return n
}
