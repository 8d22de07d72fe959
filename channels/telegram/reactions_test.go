package telegram_test

import (
	"testing"
	"time"

	"parley/channels"
	"parley/channels/telegram"
	sim "parley/simulators/telegram"
)

func (r *fixture) Reactions() (seen []string) {
	for _, s := range r.Books().Signals {
		if s.Kind == "reaction" {
			seen = append(seen, map[string]string{"👀": "working", "👍": "done", "": "-"}[s.Text])
		}
	}
	return seen
}

func (r *fixture) LimitNextReaction(t testing.TB, d time.Duration) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.TooManyRequests, Method: "setMessageReaction", Next: 1, RetryAfter: int(d.Seconds())})
}

func (r *fixture) ReactionCalls() (n int) {
	for _, c := range r.Books().Calls {
		if c.Method == "setMessageReaction" {
			n++
		}
	}
	return n
}

// firstday A4: REACTION_INVALID comes once in a chat, and not again before a day is over;
// a message that is gone says nothing of its chat.
func TestReact(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t)
	events := listen(t, ch)
	r.say(t, super, ann, "@Parley_bot hello", sim.SayOptions{})
	m := next(t, events)
	react := func(id string, s channels.Stage) error { return ch.React(t.Context(), m.Address, id, s) }
	if err := react("777", channels.Working); wrong(err).Kind != channels.Refused {
		t.Errorf("on no message: %v", err)
	}
	if err := react(m.MessageID, channels.Working); err != nil {
		t.Error(err)
	}
	if err := r.AllowReactions(super, "🔥"); err != nil {
		t.Fatal(err)
	}
	if err := react(m.MessageID, channels.Done); err != nil { // what is there goes all the same
		t.Error(err)
	}
	calls := r.ReactionCalls()
	for range 3 {
		if e := wrong(react(m.MessageID, channels.Working)); e.Kind != channels.Refused {
			t.Error(e)
		}
	}
	if n := r.ReactionCalls(); n != calls || calls != 4 {
		t.Errorf("%d calls, and %d in a chat that takes no reaction", calls, n-calls)
	}
	if err := r.AllowReactions(super, "👀"); err != nil {
		t.Fatal(err)
	}
	r.Advance(25 * time.Hour)
	if err := react(m.MessageID, channels.Working); err != nil {
		t.Errorf("a day later: %v", err)
	}
	if _, err := r.Kick(super, ann, ""); err != nil {
		t.Fatal(err)
	}
	if e := wrong(react(m.MessageID, channels.Idle)); e.Kind != channels.Gone {
		t.Error(e)
	}
}

// firstday A4: reactions take nothing of what answers and previews may; and of an answer's
// penalty they wait for the end.
func TestReactionsTakeNoAllowanceOfAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t, func(o *telegram.Options) { o.Pace = 1 })
	events := listen(t, ch)
	r.Say(t, "Ann", "hello")
	m := next(t, events)
	took := 0
	for range 30 {
		if ch.React(t.Context(), m.Address, m.MessageID, channels.Working) == nil {
			took++
		}
		r.Advance(time.Second)
	}
	if took != 20 {
		t.Errorf("%d of 30 reactions were made", took)
	}
	reply := channels.Reply{To: m.Address, Body: channels.Body{Text: "hi"}}
	if _, err := ch.StartStream(t.Context(), reply); err != nil {
		t.Errorf("a preview behind reactions: %v", err)
	}
	r.Advance(2 * time.Second)
	if wait := sendDelay(ch, m.Address); wait != 0 {
		t.Errorf("an answer waits %s behind reactions", wait)
	}
	r.LimitNext(t, 30*time.Second)
	if _, err := ch.Send(t.Context(), reply); wrong(err).Kind != channels.RateLimit {
		t.Error(err)
	}
	calls := r.ReactionCalls()
	if e := wrong(ch.React(t.Context(), m.Address, m.MessageID, channels.Idle)); e.Kind != channels.RateLimit || r.ReactionCalls() != calls {
		t.Errorf("within a penalty: %v", e)
	}
}

func TestCheckReactions(t *testing.T) {
	t.Parallel()
	for e, ok := range map[string]bool{"": true, "👀": true, "❤\ufe0f": true, "✅": false, "eyes": false} {
		if err := telegram.CheckReactions(channels.Reactions{Working: e}); (err == nil) != ok {
			t.Errorf("%q: %v", e, err)
		}
	}
}
