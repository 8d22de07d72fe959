package settings_test

import (
	"strings"
	"testing"

	"parley/gateway/activity"
	"parley/gateway/settings"
	"parley/problems"
	"parley/tools/mcp/oauth"
)

// Of a mistyped word, a value that is one of a few says which it may have been.
func TestMistypedWordsAreSuggested(t *testing.T) {
	t.Parallel()
	c := settings.Config{StateDir: "/s"}
	c.Log.Format, c.Broker.Sync = "jsno", "relaxd"
	c.Channels.Slack = map[string]settings.SlackConfig{"s": {Streaming: "edit", Replies: "mention", Questions: "everyboy"}}
	var ps problems.List
	oauth.Config{Grant: "client_credential"}.Validate(&ps, "oauth")
	text := strings.Join([]string{c.Defaults().Validate().Error(), ps.Err().Error(), activity.Config{Direct: "brif", Groups: "off"}.Validate().Error()}, "\n")
	for _, want := range []string{"json", "relaxed", "edits", "mentions", "everybody", "client_credentials", "brief"} {
		if !strings.Contains(text, "(did you mean "+want+"?)") {
			t.Errorf("%s is not suggested:\n%s", want, text)
		}
	}
}
