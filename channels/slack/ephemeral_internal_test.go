package slack

import "testing"

// What a press names as the address for the line that takes the place of its buttons is called at
// Slack's hosts alone.
func TestIsResponseURL(t *testing.T) {
	t.Parallel()
	const fake = "http://127.0.0.1:3300/api/"
	for _, c := range []struct {
		raw, api string
		want     bool
	}{
		{"https://hooks.slack.com/actions/T/1/x", publicAPI + "/", true},
		{"https://hooks.slack-gov.com/actions/T/1/x", "https://slack-gov.com/api/", true},
		{"http://127.0.0.1:3300/actions/T/1/x", fake, true},
		{"http://127.0.0.1:3301/actions/T/1/x", fake, false},
		{"http://user@127.0.0.1:3300/actions", fake, false},
		{"http://127.0.0.1:3300/actions", publicAPI + "/", false},
		{"http://hooks.slack.com/actions/T/1/x", publicAPI + "/", false},
		{"https://user@hooks.slack.com/x", publicAPI + "/", false},
		{"https://hooks.slack.com.example/x", publicAPI + "/", false},
		{"https://hooks.slack.com:8443/x", publicAPI + "/", false},
		{"https://slack.com/api/chat.postMessage", publicAPI + "/", false},
		{"file:///etc/passwd", publicAPI + "/", false},
		{":", publicAPI + "/", false},
		{"", publicAPI + "/", false},
	} {
		if got := isResponseURL(c.raw, c.api); got != c.want {
			t.Errorf("%q beside %q: %v", c.raw, c.api, got)
		}
	}
}
