package signal_test

import (
	"slices"
	"testing"

	"parley/channels"
	"parley/channels/signal"
	sim "parley/simulators/signal"
)

// firstday G2. Who adds the bot to a group without holding its profile key, as everybody
// does to whom it never wrote, only invites it.
func TestAnInvitationToAListedGroupIsAccepted(t *testing.T) {
	t.Parallel()
	other := sim.Chat{Group: sim.MadeUpGroup(2), Name: "Other"}
	for name, open := range map[string]func(t *testing.T) (*fixture, *taking){
		"supervised": func(t *testing.T) (*fixture, *taking) {
			r := newRig(t)
			return r, take(t, r.open(t, func(o *signal.Options) { o.Groups = []string{team.Group} }), nil)
		},
		"attached": func(t *testing.T) (*fixture, *taking) {
			a := newAttached(t, "http")
			got := take(t, a.open(t, func(o *signal.Options) { o.Groups = []string{team.Group} }), nil)
			a.seen.await(t, "it is up", func(w *watched) bool { return w.up })
			return a.fixture, got
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, got := open(t)
			do := did(t)
			do(r.Invite(other, ann, ourACI))
			do(r.Invite(team, ann, ourACI))
			for range 2 {
				if m := got.next(); m.Kind != channels.Unhandled || m.Problem != "a change of a group" {
					t.Errorf("an invitation came as %+v", m)
				}
			}
			r.await(t, "it is accepted", accepted(team))
			r.say(t, team, ann, "@us hello", sim.SayOptions{Mentions: []sim.Mention{{Name: "@us", ACI: ourACI}}})
			if m := got.next(); m.Text != "hello" || !m.Mentioned || m.Address.Peer != team.Group {
				t.Errorf("then came %+v", m)
			}
			if accepted(other)(r.Books()) {
				t.Error("the invitation to a group that is not listed was accepted")
			}
		})
	}
}

// accepted says whether updateGroup was called for a group.
func accepted(c sim.Chat) func(sim.Book) bool {
	return func(b sim.Book) bool {
		return slices.ContainsFunc(b.Calls, func(e sim.CallEntry) bool {
			return e.Method == "updateGroup" && e.Code == 0 && slices.Contains(e.Chats, c.Group)
		})
	}
}

// firstday G2. One that came while nothing ran, or that could not be accepted at once.
func TestAnInvitationIsAcceptedWhenItCanBe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	listed := func(o *signal.Options) { o.Groups = []string{team.Group} }
	first := take(t, r.open(t), nil) // it was not listed yet
	did(t)(r.Invite(team, ann, ourACI))
	first.next()
	noError(t, r.AwaitAcknowledged(t.Context(), 1))
	first.stop()
	r.stop()
	// AsamK/signal-cli #1841: a change of the group in between.
	r.plan(t, sim.Fault{Trouble: sim.IOError, Method: "updateGroup", Next: 2})
	take(t, r.open(t, listed), nil)
	b := r.await(t, "it is accepted", accepted(team))
	if b.Totals.Refused != 2 {
		t.Errorf("it was accepted after %d refusals", b.Totals.Refused)
	}
}
