package signal_test

import (
	"testing"
	"time"

	"parley/channels"
	"parley/channels/signal"
	sim "parley/simulators/signal"
)

func (r *fixture) Reactions() (seen []string) {
	for _, s := range r.Books().Signals {
		switch s.Kind {
		case "reaction":
			seen = append(seen, map[string]string{"👀": "working", "✅": "done"}[s.Text])
		case "reaction_removed":
			seen = append(seen, "-")
		}
	}
	return seen
}

func (r *fixture) LimitNextReaction(t testing.TB, d time.Duration) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.RateLimited, Method: "sendReaction", Next: 1, RetryAfter: int(d.Seconds())})
}

func (r *fixture) ReactionCalls() (n int) {
	for _, c := range r.Books().Calls {
		if c.Method == "sendReaction" {
			n++
		}
	}
	return n
}

// firstday A4: a reaction is a message to everybody: none goes while Signal has enough of
// them, nor before one got through after that.
func TestReact(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t)
	in := take(t, ch, nil)
	r.say(t, team, ann, "hello", sim.SayOptions{})
	m := in.next()
	react := func(s channels.Stage) error { return ch.React(t.Context(), m.Address, m.MessageID, s) }
	noError(t, react(channels.Working))
	reply := channels.Reply{To: m.Address, Body: channels.Body{Text: "hi"}}
	r.plan(t, sim.Fault{Trouble: sim.Flooded, Method: "send", Next: 1})
	if _, err := ch.Send(t.Context(), reply); failed(t, err).Kind != channels.RateLimit {
		t.Error(err)
	}
	for _, wait := range []time.Duration{0, 2 * time.Minute} { // within the wait, and after it
		r.Advance(wait)
		if e := failed(t, react(channels.Idle)); e.Kind != channels.RateLimit || e.RetryAfter <= 0 {
			t.Error(e)
		}
	}
	if n := r.ReactionCalls(); n != 1 {
		t.Errorf("%d reactions were tried", n)
	}
	if _, err := ch.Send(t.Context(), reply); err != nil {
		t.Fatal(err)
	}
	if err := react(channels.Idle); err != nil {
		t.Error(err)
	}
	if seen := r.Reactions(); len(seen) != 2 || seen[0] != "working" || seen[1] != "-" || r.Totals().StrayReactions != 0 {
		t.Errorf("people saw %q", seen)
	}
	bad := m
	bad.MessageID = "yesterday"
	if e := failed(t, ch.React(t.Context(), bad.Address, bad.MessageID, channels.Working)); e.Kind != channels.Refused {
		t.Error(e)
	}
}

func TestCheckReactions(t *testing.T) {
	t.Parallel()
	for e, ok := range map[string]bool{"": true, "👀": true, "✅": true, "❤\ufe0f": true, "👨‍💻": true, "eyes": false, "👀 👍": false, ":)": false} {
		if err := signal.CheckReactions(channels.Reactions{Working: e}); (err == nil) != ok {
			t.Errorf("%q: %v", e, err)
		}
	}
}
