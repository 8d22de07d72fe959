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
