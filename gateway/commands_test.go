package gateway_test

import (
	"strings"
	"testing"

	"parley/channels/slack"
	"parley/gateway/gatewaytest"
)

func TestAnUnknownCommandIsAnsweredInOneSentenceAndCostsNoCallOnEveryNetwork(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: gatewaytest.AllNetworks()})
	gw := env.Start()
	for i, n := range gatewaytest.AllNetworks() {
		sign := "/"
		if n == gatewaytest.Slack {
			sign = slack.CommandSign
		}
		for _, p := range []*gatewaytest.Conversation{env.Direct(n, 7001), env.Group(n, 8001, 7001)} {
			if got, want := gw.AskAt(p, sign+"stats"), "I do not know the command "+sign+"stats: did you mean "+sign+"status?"; got != want {
				t.Errorf("%s: %q, want %q", p, got, want)
			}
			if got := gw.AskAt(p, sign+"foo"); !strings.HasPrefix(got, "I do not know the command "+sign+"foo: there are "+sign+"new, ") {
				t.Errorf("%s: %q", p, got)
			}
			if n := len(env.Model.Requests()); n != i {
				t.Errorf("%s: %d calls", p, n)
			}
		}
		// A path is a question.
		if got := gw.AskAt(env.Direct(n, 7002), "/etc/passwd what is this file"); !strings.Contains(got, "/etc/passwd what is this file") {
			t.Errorf("%s: %q", n, got)
		}
	}
}
