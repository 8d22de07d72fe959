package channeltest

import (
	"slices"
	"testing"
	"time"

	"parley/channels"
)

// ReactionHarness is a Rig whose channels put a reaction on messages that a turn works on, and
// another on those that were answered; Features.Reacts needs it.
type ReactionHarness interface {
	Harness

	// Reactions returns what people saw of the bot's reactions, in order: working, done,
	// and - where one was taken away.
	Reactions() []string

	// LimitNextReaction makes the network refuse the next reaction of the bot and ask to
	// wait for d.
	LimitNextReaction(t testing.TB, d time.Duration)

	// ReactionCalls returns how often the bot called for a reaction, whatever came of it.
	ReactionCalls() int
}

func reactionHarness(t *testing.T, rig Harness) ReactionHarness {
	t.Helper()
	r, ok := rig.(ReactionHarness)
	if !ok {
		t.Fatal("the rig has no reactions")
	}
	return r
}

// testReact: a reaction comes, is replaced, goes; each of it as often as somebody asks, in
// whatever process.
func testReact(t *testing.T, bare Harness) {
	rig := reactionHarness(t, bare)
	ch, m := startChat(t, rig)
	next := rig.Open(t)
	show := func(ch channels.Channel, s channels.Stage) {
		t.Helper()
		r, ok := ch.(channels.Reactor)
		if !ok {
			t.Fatal("the channel has no reactions")
		}
		if err := r.React(t.Context(), m.Address, m.MessageID, s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []channels.Stage{channels.Working, channels.Idle, channels.Working} {
		show(ch, s)
		show(next, s)
	}
	show(next, channels.Done)
	seen := rig.Reactions()
	// A network on which reactions stand side by side takes the first away behind the second.
	if seen = slices.DeleteFunc(seen, func(s string) bool { return s == "-" }); !slices.Equal(seen, []string{"working", "working", "done"}) {
		t.Errorf("people saw %q", rig.Reactions())
	}
	if all := rig.Reactions(); !slices.Equal(all[:3], []string{"working", "-", "working"}) {
		t.Errorf("people saw %q", all)
	}
}

// testReactPenalty: within a penalty for a reaction no further one is tried.
func testReactPenalty(t *testing.T, bare Harness) {
	rig := reactionHarness(t, bare)
	ch, m := startChat(t, rig)
	r := ch.(channels.Reactor) // reacts says so
	const d = 7 * time.Second
	rig.LimitNextReaction(t, d)
	show := func() error { return r.React(t.Context(), m.Address, m.MessageID, channels.Working) }
	if err := show(); kindOf(err) != channels.RateLimit {
		t.Errorf("a limit came as %v", err)
	}
	calls := rig.ReactionCalls()
	for range 3 {
		if err := show(); kindOf(err) != channels.RateLimit {
			t.Errorf("within a penalty came %v", err)
		}
	}
	if n := rig.ReactionCalls() - calls; n != 0 {
		t.Errorf("%d calls were made within the penalty", n)
	}
	rig.Advance(d)
	if err := show(); err != nil {
		t.Errorf("after the penalty: %v", err)
	}
}
