package slack_test

import (
	"strings"
	"testing"

	"parley/channels/slack"
	sim "parley/simulators/slack"
)

// What an examination finds of an app, by the ids of the findings; and that it opens no connection.
func TestExamine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		app    func(*sim.Options)
		fault  *sim.Fault
		change func(*slack.Options)
		want   string
		say    string
	}{
		"an app as the manifest makes it": {want: "slack.account slack.permitted slack.socket"},
		"one without a scope": {
			app:  func(o *sim.Options) { o.Apps[0].Scopes = []string{"chat:write", "im:history"} },
			want: "slack.account slack.scopes slack.socket", say: "missing: app_mentions:read, channels:history",
		},
		"a token that was revoked": {
			fault: &sim.Fault{Trouble: sim.Refused, Method: "auth.test", Error: "token_revoked"}, want: "slack.token", say: "token_revoked",
		},
		"an app-level token that was revoked": {
			fault: &sim.Fault{Trouble: sim.Refused, Method: "apps.connections.open", Error: "invalid_auth"},
			want:  "slack.account slack.permitted slack.app_token",
		},
		"Slack is not available": {fault: &sim.Fault{Trouble: sim.Unavailable, Method: "auth.test"}, want: "slack.unreachable"},
		"nobody answers":         {change: func(o *slack.Options) { o.APIURL = "http://127.0.0.1:1/api" }, want: "slack.unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var changes []func(*sim.Options)
			if c.app != nil {
				changes = append(changes, c.app)
			}
			r := newRig(t, changes...)
			if c.fault != nil {
				r.plan(t, *c.fault)
			}
			var options []func(*slack.Options)
			if c.change != nil {
				options = append(options, c.change)
			}
			ch := r.open(t, options...)
			var ids []string
			said := ""
			for _, f := range ch.Examine(t.Context()) {
				ids, said = append(ids, f.ID), said+f.Detail+"\n"
			}
			if got := strings.Join(ids, " "); got != c.want || !strings.Contains(said, c.say) || strings.Contains(said, botToken) || strings.Contains(said, appToken) {
				t.Errorf("found %s, want %s: %s", got, c.want, said)
			}
			if n := len(r.Books().Connections); n != 0 {
				t.Errorf("%d connections were opened", n)
			}
		})
	}
}
