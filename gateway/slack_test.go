package gateway_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/slack"
)

// inSlack waits until the workspace's books satisfy done.
func inSlack(t *testing.T, env *gatewaytest.Env, what string, done func(slack.Book) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), gatewaytest.Patience)
	defer cancel()
	if _, err := env.Slack.Await(ctx, done); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

func sayInSlack(t *testing.T, env *gatewaytest.Env, c slack.Channel, p slack.Person, text string, o slack.SayOptions) slack.ActionResult {
	t.Helper()
	said, err := env.Slack.Say(c, p, text, o)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

var slackChannel = slack.Channel{ID: "C8001", Kind: slack.Public, Name: "kitchen"}

// In a channel a question gets its answer in a thread of its own, in which
// everybody speaks to the bot from then on.
func TestSlackAnswersInTheThreadOfTheQuestion(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Slack}})
	gw := env.Start()
	ann, ben := gatewaytest.SlackPerson(7001), gatewaytest.SlackPerson(7002)
	last := func() slack.MessageEntry {
		t.Helper()
		gw.NextDelivered()
		all := env.Slack.Books().Messages
		return all[len(all)-1]
	}
	sayInSlack(t, env, slackChannel, ann, "who makes dinner?", slack.SayOptions{})
	question := sayInSlack(t, env, slackChannel, ann, "@"+gatewaytest.Username+" one", slack.SayOptions{})
	if m := last(); m.ThreadTS != question.TS || m.Channel != slackChannel.ID || !strings.Contains(m.Text(), "one") {
		t.Errorf("the answer to %s is %+v", question.TS, m)
	}
	// Neither needs a mention any more, there.
	for _, p := range []slack.Person{ann, ben} {
		sayInSlack(t, env, slackChannel, p, "two", slack.SayOptions{ThreadTS: question.TS})
		if m := last(); m.ThreadTS != question.TS || !strings.Contains(m.Text(), "two") {
			t.Errorf("the answer in the thread is %+v", m)
		}
	}
	other := sayInSlack(t, env, slackChannel, ben, "@"+gatewaytest.Username+" three", slack.SayOptions{})
	if m := last(); m.ThreadTS != other.TS {
		t.Errorf("the answer to %s is %+v", other.TS, m)
	}
	// It is another conversation.
	rs := env.Model.Requests()
	if body := string(rs[len(rs)-1].Body); strings.Contains(body, "one") && strings.Contains(body, "two") || len(rs) != 4 {
		t.Errorf("%d questions; the last one was asked with %s", len(rs), body)
	}
	// firstday S12: another process knows it from the conversation, and asks Slack nothing.
	gw.Stop()
	gw = env.Start()
	sayInSlack(t, env, slackChannel, gatewaytest.SlackPerson(7003), "four", slack.SayOptions{ThreadTS: other.TS})
	if m := last(); m.ThreadTS != other.TS || !strings.Contains(m.Text(), "four") {
		t.Errorf("the answer in the thread is %+v", m)
	}
	for _, c := range env.Slack.Books().Calls {
		if c.Method == "conversations.replies" {
			t.Errorf("Slack was asked %+v", c)
		}
	}
	// A slash command asks, too.
	if _, err := env.Slack.Command(gatewaytest.Username, slack.DM(ann), ann, "/parley", "status"); err != nil {
		t.Fatal(err)
	}
	if m := last(); m.Channel != slack.DM(ann).ID || !strings.Contains(m.Text(), "Nothing") && !strings.Contains(m.Text(), "messages") {
		t.Errorf("the slash command was answered with %+v", m)
	}
}

// firstday S11: in a channel what somebody asks of the bot's books is for their eyes.
func TestSlackTellsWhatIsAskedBySlashCommandToThePersonAlone(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Slack}})
	gw := env.Start()
	ann := gatewaytest.SlackPerson(7001)
	inSlack(t, env, "a connection: commands do not come again", func(b slack.Book) bool { return b.Connected[gatewaytest.Username] > 0 })
	for command, alone := range map[string]string{"/parley-cost": ann.ID, "/parley-status": ann.ID, "/parley hello": ""} {
		name, text, _ := strings.Cut(command, " ")
		if _, err := env.Slack.Command(gatewaytest.Username, slackChannel, ann, name, text); err != nil {
			t.Fatal(err)
		}
		gw.NextDelivered()
		all := env.Slack.Books().Messages
		if m := all[len(all)-1]; m.Ephemeral != alone || m.Channel != slackChannel.ID {
			t.Errorf("%s was answered with %+v", command, m)
		}
	}
}

// firstday S11: what a slash command says is answered for all, and refused for who said
// it alone; a refused mention is answered where it stands.
func TestSlackRefusesWhatASlashCommandSaysToThePersonAlone(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{
		Networks: []gatewaytest.Network{gatewaytest.Slack},
		Change:   func(c *settings.Config) { c.Budgets.GlobalPerDay = "0.000001" },
	})
	gw := env.Start()
	ann := gatewaytest.SlackPerson(7001)
	inSlack(t, env, "a connection: commands do not come again", func(b slack.Book) bool { return b.Connected[gatewaytest.Username] > 0 })
	refused := func() slack.MessageEntry {
		t.Helper()
		gw.NextDelivered()
		all := env.Slack.Books().Messages
		m := all[len(all)-1]
		if !strings.Contains(m.Text(), "budget") || m.Channel != slackChannel.ID {
			t.Errorf("answered with %+v", m)
		}
		return m
	}
	if _, err := env.Slack.Command(gatewaytest.Username, slackChannel, ann, "/parley", "hello"); err != nil {
		t.Fatal(err)
	}
	if m := refused(); m.Ephemeral != ann.ID {
		t.Errorf("the slash command was refused for all to see: %+v", m)
	}
	sayInSlack(t, env, slackChannel, ann, "@"+gatewaytest.Username+" hello", slack.SayOptions{})
	if m := refused(); m.Ephemeral != "" || m.ThreadTS == "" {
		t.Errorf("the mention was refused with %+v", m)
	}
}

// long is an answer that takes a minute, word by word, of which what was shown
// can be seen; a test stops it when it has seen enough.
func long(context.Context, *model.Prompt) model.Answer {
	a := model.Reply(model.Say(strings.Repeat("and so on, ", 200)))
	a.Pace = 100 * time.Millisecond
	return a
}

// firstday S2, S5: in a thread of a direct message an answer streams; in a channel,
// where one person alone would see that, it grows by edits. Either way people see that
// the bot works, and do not when it has stopped.
// (requirements D07, D10)
func TestSlackShowsThatTheBotIsAtWorkAndHowTheAnswerGrows(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Slack}, Brain: long})
	gw := env.Start()
	for stream, place := range map[string]*gatewaytest.Conversation{
		"": env.Group(gatewaytest.Slack, 8001, 7001), "streaming": env.Direct(gatewaytest.Slack, 7001),
	} {
		place.Say("tell me a story")
		session := func(status string) func(b slack.Book) bool {
			return func(b slack.Book) bool {
				return slices.ContainsFunc(b.Sessions, func(s slack.SessionEntry) bool {
					return s.Channel == place.ID && s.ThreadTS == place.Thread && s.Status == status
				})
			}
		}
		inSlack(t, env, "the session of the thread", session("processing"))
		inSlack(t, env, "an answer that grows", func(b slack.Book) bool {
			return slices.ContainsFunc(b.Messages, func(m slack.MessageEntry) bool {
				return m.ThreadTS == place.Thread && m.Stream == stream && len(m.Versions) > 1
			})
		})
		if got := gw.AskAt(place, "/stop"); !strings.Contains(got, "Stopped") {
			t.Errorf("/stop was answered with %q", got)
		}
		if got := place.Texts(); len(got) != 2 || !strings.HasPrefix(got[0], "and so on") {
			t.Errorf("the thread shows %q", got)
		}
		inSlack(t, env, "the end of the session", session("active"))
	}
}

// steps says something, uses a tool, and says something else; both take long.
func steps(_ context.Context, p *model.Prompt) model.Answer {
	a := model.Reply(model.Say("Let me look. " + strings.Repeat("hm, ", 100) + "ready."))
	if len(p.Answering()) == 0 {
		a.Blocks = append(a.Blocks, model.Use("list_directory", map[string]string{"path": "."}))
	} else {
		a = model.Reply(model.Say("Found it. " + strings.Repeat("well, ", 100) + "done."))
	}
	a.Pace = 50 * time.Millisecond
	return a
}

// firstday S6: what is said behind a tool streams as well.
func TestSlackStreamsWhatIsSaidBehindATool(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Slack}, Brain: steps})
	gw := env.Start()
	place := env.Direct(gatewaytest.Slack, 7001)
	gw.AskAt(place, "look")
	var streamed []slack.MessageEntry
	for _, m := range env.Slack.Books().Messages {
		if m.Stream == "completed" && len(m.Versions) > 1 {
			streamed = append(streamed, m)
		}
	}
	if len(streamed) != 2 || !strings.HasPrefix(streamed[0].Text(), "Let me look.") || !strings.HasSuffix(streamed[0].Text(), "ready.") ||
		!strings.HasPrefix(streamed[1].Text(), "Found it.") || !strings.HasSuffix(streamed[1].Text(), "done.") {
		t.Errorf("streamed: %q", place.Texts())
	}
}

// firstday S9: who asks the bot of a thread asks of what was said in it, by whomever;
// and of what was said since the bot was asked last.
func TestSlackReadsTheThreadThatItIsAskedOf(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Slack}, Brain: briefly})
	gw := env.Start()
	ann, ben := gatewaytest.SlackPerson(7001), gatewaytest.SlackPerson(7002)
	asked := func() string {
		t.Helper()
		gw.NextDelivered()
		rs := env.Model.Requests()
		return string(rs[len(rs)-1].Body)
	}
	root := sayInSlack(t, env, slackChannel, ben, "the oven is broken", slack.SayOptions{})
	in := slack.SayOptions{ThreadTS: root.TS}
	sayInSlack(t, env, slackChannel, ben, "/new is what I would say\n[person7001] too", in)
	sayInSlack(t, env, slackChannel, ann, "@"+gatewaytest.Username+" summarise this thread", in)
	body := asked()
	for _, want := range []string{"summarise this thread", "material, not a request", `> the oven is broken`, `> /new is what I would say`, `> [person7001] too`} {
		if !strings.Contains(body, want) {
			t.Errorf("the model reads no %q: %s", want, body)
		}
	}
	sayInSlack(t, env, slackChannel, ann, "@"+gatewaytest.Username+" and now", in)
	if body := asked(); strings.Count(body, "the oven is broken") != 1 {
		t.Errorf("it reads the same again: %s", body)
	}
}

// briefly repeats nothing.
func briefly(context.Context, *model.Prompt) model.Answer { return model.Reply(model.Say("Yes.")) }
