package slack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/channels"
	sim "parley/simulators/slack"
)

func TestS19_AConnectionIsReplacedBeforeItEndsAndNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"warning", "refresh_requested"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			x := r.run(t)
			dm := r.dm(t, ann)
			for n := range 5 {
				r.say(t, dm, ann, fmt.Sprint(n), sim.SayOptions{})
				if m := x.said(); m.Text != fmt.Sprint(n) {
					t.Fatalf("event %d is %q", n, m.Text)
				}
				if _, err := r.Disconnect("parley", reason); err != nil {
					t.Fatal(err)
				}
				r.until(t, func(b sim.Book) bool { return b.Totals.Connections == n+2 && b.Connected["parley"] == 1 })
			}
			for i, c := range r.Books().Connections {
				if i > 0 && c.Beside != 2 {
					t.Errorf("connection %d was opened beside %d others: the one before had ended", i, c.Beside-1)
				}
			}
		})
	}
}

func TestS19_ATokenThatIsNoGoodEndsReceiveWithOneError(t *testing.T) {
	t.Parallel()
	for method, code := range map[string]string{"auth.test": "invalid_auth", "apps.connections.open": "token_revoked"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.plan(t, sim.Fault{Trouble: sim.Refused, Method: method, Error: code})
			x := r.run(t)
			err := <-x.ended
			if kindOf(err) != channels.Unauthorized || !strings.Contains(err.Error(), "is no good") {
				t.Errorf("Receive gave %v", err)
			}
			x.ended <- nil
		})
	}
}

func TestTokensAreNowhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	r.say(t, r.dm(t, ann), ann, "hello", sim.SayOptions{})
	m := x.said()
	r.plan(t, sim.Fault{Trouble: sim.Refused, Method: "chat.postMessage", Error: "no_" + botToken})
	_, err := x.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "x"}})
	for _, s := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", x.Channel), fmt.Sprintf("%#v", err)} {
		if i := slices.IndexFunc([]string{botToken, appToken, signing}, func(c string) bool { return strings.Contains(s, c) }); i >= 0 {
			t.Errorf("a secret is in %.200q", s)
		}
	}
}
