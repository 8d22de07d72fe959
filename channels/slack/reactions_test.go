package slack_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/slack"
	sim "parley/simulators/slack"
)

func (r *fixture) Reactions() (seen []string) {
	for _, s := range r.Books().Signals {
		switch s.Kind {
		case "reaction":
			seen = append(seen, map[string]string{"eyes": "working", "white_check_mark": "done"}[s.Text])
		case "unreaction":
			seen = append(seen, "-")
		}
	}
	return seen
}

func (r *fixture) LimitNextReaction(t testing.TB, d time.Duration) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.TooManyRequests, Method: "reactions.add", Next: 1, RetryAfter: int(d.Seconds())})
}

func (r *fixture) ReactionCalls() (n int) {
	for _, c := range r.Books().Calls {
		if strings.HasPrefix(c.Method, "reactions.") {
			n++
		}
	}
	return n
}

func kind(err error) channels.ErrorKind {
	var e *channels.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// firstday A4: what Slack says of reactions, and how often it is asked.
func TestReact(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change    func(*slack.Options)
		app       func(*sim.Options)
		message   string // empty: the one that was written
		gone      bool   // an admin deletes what was written
		kind      channels.ErrorKind
		calls     int // of three tries to show that the bot works, and one to take that away
		otherwise channels.ErrorKind
	}{
		"it is there already, and gone already": {calls: 4},
		"the app has no right to": {
			app: func(o *sim.Options) {
				o.Apps[0].Scopes = slices.DeleteFunc(slices.Clone(o.Apps[0].Scopes), func(s string) bool { return s == "reactions:write" })
			},
			kind: channels.Unauthorized, otherwise: channels.Refused, calls: 2,
		},
		"the workspace has no such emoji": {
			change: func(o *slack.Options) { o.Reactions.Working = "partyparrot" },
			kind:   channels.Refused, otherwise: channels.Refused, calls: 2,
		},
		"the message is gone":           {message: "1600000000.000001", kind: channels.Refused, otherwise: channels.Refused, calls: 4},
		"a slash command is no message": {message: channels.PublicReplyPrefix + "7", kind: channels.Refused, otherwise: channels.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var on []func(*sim.Options)
			if row.app != nil {
				on = append(on, row.app)
			}
			r := newRig(t, on...)
			var change []func(*slack.Options)
			if row.change != nil {
				change = append(change, row.change)
			}
			x := r.run(t, change...)
			r.say(t, general, ann, "<@"+botUser+"> hello", sim.SayOptions{Raw: true})
			m := x.said()
			id := row.message
			if id == "" {
				id = m.MessageID
			}
			for i := range 3 {
				want := row.kind
				if i > 0 {
					want = row.otherwise
				}
				if err := x.React(t.Context(), m.Address, id, channels.Working); kind(err) != want {
					t.Errorf("try %d: %v, want %q", i, err, want)
				}
			}
			err := x.React(t.Context(), m.Address, id, channels.Idle)
			if row.kind == "" && err != nil {
				t.Error(err)
			}
			if n := r.ReactionCalls(); n != row.calls {
				t.Errorf("%d calls, want %d", n, row.calls)
			}
		})
	}
}

// firstday A4: the manifest asks for the scope of reactions when there are any.
func TestTheManifestHasReactionsOnlyIfTheyAreConfigured(t *testing.T) {
	t.Parallel()
	for _, reacts := range []bool{true, false} {
		o := asked()
		o.Reacts = reacts
		if has := strings.Contains(string(manifest(t, o)), `"reactions:write"`); has != reacts {
			t.Errorf("reacts %v: the manifest has the scope: %v", reacts, has)
		}
	}
}

func TestCheckReactions(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"": true, "eyes": true, "+1": true, "wave::skin-tone-2": true, ":eyes:": false, "👀": false, "two words": false} {
		if err := slack.CheckReactions(channels.Reactions{Done: name}); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
