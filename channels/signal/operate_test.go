package signal_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"parley/channels"
	sim "parley/simulators/signal"
)

// firstday G4. Another signal-cli would wait for the account's lock for ever.
func TestGroupsAndKeysAreAskedOfTheSignalCLIThatRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t)
	got := take(t, ch, nil)
	r.say(t, team, ann, "hello", sim.SayOptions{})
	got.next()
	did(t)(r.Invite(sim.Chat{Group: sim.MadeUpGroup(2), Name: "Other"}, bob, ourACI))
	got.next()
	groups, err := ch.Groups(t.Context())
	if err != nil || len(groups) != 2 {
		t.Fatalf("%+v, %v", groups, err)
	}
	want := []channels.Group{{ID: team.Group, Name: "Team", Member: true, Members: 3}, {ID: sim.MadeUpGroup(2), Name: "Other", Invited: true, Members: 1}}
	for i, g := range groups {
		if g != want[i] {
			t.Errorf("group %d is %+v, want %+v", i, g, want[i])
		}
	}
	// A new telephone: what ann writes is kept back until somebody compared the numbers.
	noError(t, r.Reinstall(ann))
	r.say(t, sim.Chat{}, ann, "kept back", sim.SayOptions{})
	if m := got.next(); m.Kind != channels.Unreadable {
		t.Fatalf("a message under another key came as %+v", m)
	}
	keys, err := ch.Keys(t.Context())
	if err != nil || len(keys) != 2 || keys[0].Person != ann.ACI || keys[0].Trust != "UNTRUSTED" || len(keys[0].SafetyNumber) != 60 {
		t.Fatalf("%+v, %v", keys, err)
	}
	for _, wrong := range []string{"", "12345", strings.Repeat("x", 60)} {
		if err := ch.Trust(t.Context(), ann.ACI, wrong); err == nil {
			t.Errorf("the safety number %q is taken", wrong)
		}
	}
	if err := ch.Trust(t.Context(), ann.ACI, strings.Repeat("9", 60)); err == nil {
		t.Error("another safety number is taken")
	}
	spaced := keys[0].SafetyNumber[:30] + " " + keys[0].SafetyNumber[30:]
	noError(t, ch.Trust(t.Context(), strings.ToUpper(ann.ACI), spaced))
	if m := got.next(); m.Text != "kept back" {
		t.Errorf("then came %+v", m)
	}
}

// firstday G4.
func TestAnAccountIsLinkedByItsTelephone(t *testing.T) {
	t.Parallel()
	unlinked := func(o *sim.Options) { o.Accounts[0].Unlinked = true }
	scan := func(r *fixture) func(string) error {
		return func(uri string) error { return r.Scan(uri, number) }
	}
	t.Run("supervised", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, unlinked)
		ch := r.start(t, r.options(), nil)
		got := take(t, ch, nil)
		if account, err := ch.Link(t.Context(), "parley", scan(r)); err != nil || account != number {
			t.Fatalf("linked to %q, %v", account, err)
		}
		r.seen.await(t, "the channel is up", func(w *watched) bool { return w.up })
		r.say(t, sim.Chat{}, ann, "hello", sim.SayOptions{})
		if m := got.next(); m.Text != "hello" {
			t.Errorf("came %+v", m)
		}
		if _, err := ch.Link(t.Context(), "parley", scan(r)); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("a second time: %v", err)
		}
	})
	t.Run("nobody scans, or nobody sees it", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, unlinked)
		ch := r.start(t, r.options(), nil)
		ctx, giveUp := context.WithCancel(t.Context())
		defer giveUp()
		if _, err := ch.Link(ctx, "parley", func(string) error { giveUp(); return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
		gone := errors.New("the operator has gone")
		if _, err := ch.Link(t.Context(), "parley", func(string) error { return gone }); !errors.Is(err, gone) {
			t.Errorf("not shown: %v", err)
		}
	})
	t.Run("attached", func(t *testing.T) {
		t.Parallel()
		a := newAttached(t, "http", unlinked)
		ch := a.open(t)
		if account, err := ch.Link(t.Context(), "parley", scan(a.fixture)); err != nil || account != number {
			t.Fatalf("linked to %q, %v", account, err)
		}
	})
}
