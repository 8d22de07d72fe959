package gateway_test

import (
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/simulators/slack"
)

// firstday S4: a file that came with a mention reaches the model, whichever of the two
// events of the post comes first, and the post is answered once.
func TestAFileWithAMentionReachesTheModelWhicheverEventComesFirst(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"message first": false, "app_mention first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Slack}})
			if first {
				noError(t, env.Slack.Plan(slack.Fault{Trouble: slack.MentionFirst}))
			}
			gw := env.Start()
			sayInSlack(t, env, slackChannel, gatewaytest.SlackPerson(7001), "@"+gatewaytest.Username+" what is this?", slack.SayOptions{
				Files: []slack.File{{Name: "cat.txt", Mimetype: "text/plain", Data: []byte("meow")}},
			})
			gw.NextDelivered()
			inSlack(t, env, "the end of both events", func(b slack.Book) bool { return b.Pending[gatewaytest.Username] == 0 })
			if rs := env.Model.Requests(); len(rs) != 1 || !strings.Contains(string(rs[0].Body), "cat.txt") {
				t.Errorf("%d questions; the first: %s", len(rs), rs[0].Body)
			}
		})
	}
}

// A mention that an edit adds is told in two events, as that of a post is.
func TestAMentionThatAnEditAdds(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"message_changed first": false, "app_mention first": true} {
		t.Run("is answered with the file of its post, "+name, func(t *testing.T) {
			t.Parallel()
			env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Slack}})
			gw := env.Start()
			said := sayInSlack(t, env, slackChannel, gatewaytest.SlackPerson(7001), "what is this?", slack.SayOptions{
				Files: []slack.File{{Name: "cat.txt", Mimetype: "text/plain", Data: []byte("meow")}},
			})
			if first {
				noError(t, env.Slack.Plan(slack.Fault{Trouble: slack.MentionFirst}))
			}
			editInSlack(t, env, said, "@"+gatewaytest.Username+" what is this?")
			gw.NextDelivered()
			inSlack(t, env, "the end of both events", func(b slack.Book) bool { return b.Pending[gatewaytest.Username] == 0 })
			if rs := env.Model.Requests(); len(rs) != 1 || !strings.Contains(string(rs[0].Body), "cat.txt") {
				t.Errorf("%d questions; the first: %s", len(rs), rs[0].Body)
			}
		})
	}
	t.Run("runs no command", func(t *testing.T) {
		t.Parallel()
		env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Slack}})
		gw := env.Start()
		noError(t, env.Slack.Plan(slack.Fault{Trouble: slack.MentionFirst}))
		said := sayInSlack(t, env, slackChannel, gatewaytest.SlackPerson(7001), "hello", slack.SayOptions{})
		editInSlack(t, env, said, "@"+gatewaytest.Username+" !new")
		sayInSlack(t, env, slackChannel, gatewaytest.SlackPerson(7001), "@"+gatewaytest.Username+" and that?", slack.SayOptions{})
		gw.NextDelivered()
		if n := len(env.Model.Requests()); n != 1 { // the answer of a command comes without one
			t.Errorf("%d questions", n)
		}
	})
}

func editInSlack(t *testing.T, env *gatewaytest.Env, said slack.ActionResult, text string) {
	t.Helper()
	if _, err := env.Slack.Edit(said.Channel, said.TS, text, slack.SayOptions{}); err != nil {
		t.Fatal(err)
	}
}
