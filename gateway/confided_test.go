package gateway_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/slack"
)

// wishing is a model that runs a script when a message says please, and answers with its result.
func wishing(_ context.Context, p *model.Prompt) model.Answer {
	if rs := p.Answering(); len(rs) > 0 && !strings.HasPrefix(rs[0].Text, "This call needs a person's permission") {
		return model.Reply(model.Say("Done: " + rs[0].Text))
	}
	if !strings.Contains(p.LastText(), "please") {
		return model.Reply(model.Say("Hm."))
	}
	return model.Reply(model.Use("bash", map[string]string{"command": "no-such-program || echo permitted-it"}))
}

// confided waits for the n-th message that p alone is shown, and returns it.
func confided(t *testing.T, env *gatewaytest.Env, p slack.Person, n int) (m slack.MessageEntry) {
	t.Helper()
	inSlack(t, env, "a message for one person", func(b slack.Book) bool {
		left := n
		for _, e := range b.Messages {
			if e.Ephemeral == p.ID {
				if m, left = e, left-1; left == 0 {
					return true
				}
			}
		}
		return false
	})
	return m
}

// buttonIn returns the button of a message that says so.
func buttonIn(t *testing.T, m slack.MessageEntry, says string) (actionID string) {
	t.Helper()
	var blocks []struct {
		Elements []struct {
			ActionID string `json:"action_id"`
			Value    string `json:"value"`
		} `json:"elements"`
	}
	if raw := m.Versions[len(m.Versions)-1].Blocks; len(raw) > 0 {
		if err := json.Unmarshal(raw, &blocks); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range blocks {
		for _, e := range b.Elements {
			if e.Value == says {
				return e.ActionID
			}
		}
	}
	t.Fatalf("no button of %+v says %q", m, says)
	return ""
}

// K01, F27: in a channel only those who may decide are shown what would run, each alone. What they
// lost they are shown again when they type the command, which decides nothing before they had it in
// front of them; a restart changes nothing; a button decides once, goes when it is pressed, and says
// why when it comes too late. (docs/decisions/0111)
func TestInAChannelThoseWhoMayDecideAreAskedAlone(t *testing.T) {
	t.Parallel()
	ann, ben, eve := gatewaytest.SlackPerson(7001), gatewaytest.SlackPerson(7002), gatewaytest.SlackPerson(7003)
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Slack}, Brain: wishing, Change: func(c *settings.Config) {
		c.Bash.Enabled = true
		for name, a := range c.Channels.Slack {
			a.Access.Approvers = []string{ben.ID, eve.ID} // eve is not in the channel
			c.Channels.Slack[name] = a
		}
	}})
	gw := env.Start()
	sayInSlack(t, env, slackChannel, ben, "good morning", slack.SayOptions{})
	root := sayInSlack(t, env, slackChannel, ann, "@"+gatewaytest.Username+" please", slack.SayOptions{})
	question := confided(t, env, ben, 1)
	code := regexp.MustCompile(`approve ([0-9A-Z]{5})`).FindStringSubmatch(question.Text())
	if code == nil || question.ThreadTS != root.TS || question.Unseen || !strings.Contains(question.Text(), "no-such-program || echo permitted-it") {
		t.Fatalf("ben is asked %+v", question)
	}
	say := func(p slack.Person, text string) {
		sayInSlack(t, env, slackChannel, p, text, slack.SayOptions{ThreadTS: root.TS})
	}
	shown := func(words string) {
		t.Helper()
		inSlack(t, env, words, func(b slack.Book) bool {
			return slices.ContainsFunc(b.Messages, func(m slack.MessageEntry) bool {
				return m.Ephemeral == "" && m.ThreadTS == root.TS && strings.Contains(m.Text(), words)
			})
		})
	}
	shown("I have asked those who may give it, for their eyes only. !approve " + code[1] + " shows it to them once more.")
	say(ann, "!approve "+code[1])
	shown("nothing waits that you may decide about")
	gw.Stop()
	env.Start()
	say(ben, "!approve "+code[1])
	again := confided(t, env, ben, 2)
	if !strings.Contains(again.Text(), "Please read it, and then decide") || !strings.Contains(again.Text(), "no-such-program || echo permitted-it") {
		t.Errorf("ben is shown %+v", again)
	}
	press := func(m slack.MessageEntry) {
		t.Helper()
		if _, err := env.Slack.Press(ben, slackChannel.ID, m.TS, buttonIn(t, m, "/approve "+code[1]), "/approve "+code[1]); err != nil {
			t.Fatal(err)
		}
	}
	press(question)
	shown("permitted-it")
	press(again)
	if late := confided(t, env, ben, 3); !strings.Contains(late.Text(), "has permitted the call of bash that "+code[1]+" asked about already") || late.ThreadTS != root.TS {
		t.Errorf("the second press is answered with %+v", late)
	}
	inSlack(t, env, "what was pressed in the place of the questions", func(b slack.Book) bool {
		n := 0
		for _, m := range b.Messages {
			if m.Ephemeral == ben.ID && m.Text() == "(Permit once)" {
				n++
			}
		}
		return n == 2
	})
	for _, m := range env.Slack.Books().Messages {
		for _, v := range m.Versions {
			if m.Ephemeral == "" && (strings.Contains(v.Shown, "no-such-program ||") || strings.Contains(string(v.Blocks), "choice-")) {
				t.Errorf("everybody reads %+v", v)
			}
		}
		if m.Ephemeral != "" && m.Ephemeral != ben.ID {
			t.Errorf("%s was shown %q", m.Ephemeral, m.Text())
		}
	}
}
