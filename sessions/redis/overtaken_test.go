package redis_test

import (
	"context"
	"errors"
	"testing"

	"parley/sessionkeys"
	"parley/sessions"
)

// child is one that is spawned by the session of a turn: of what a fence allows, it
// changes neither the mailbox nor the turn.
func (h fixture) child(turn sessions.Turn) sessions.Session {
	h.t.Helper()
	parent, err := h.s.Session(h.t.Context(), turn.Session)
	h.ok(err)
	k, err := parent.Key.Child("helper")
	h.ok(err)
	return sessions.Session{ID: sessionkeys.ChildID(parent.ID, turn.ID, 1, "kid"), Key: k, Parent: parent.ID, ToolCallID: "kid", Role: "task", CreatedAt: noon}
}

// TestAFactThatChangesNoRowOfTheNextOwnerIsOvertakenToo: the row of the mailbox alone
// tells that another fence was given before the fact could be applied.
func TestAFactThatChangesNoRowOfTheNextOwnerIsOvertakenToo(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	m := p.take(p.alive("ann"), "one", 1)
	child := p.child(p.fixture.open(m, 1))
	ctx, cancel := context.WithCancel(t.Context())
	p.log.fail = func([]byte) error { cancel(); return context.Canceled }
	if _, _, err := p.s.Spawn(ctx, m.Fence(), child); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	p.log.fail = nil
	p.ok(p.s.Leave(t.Context(), m.Owner))
	p.take(p.alive("bob"), "one", 1) // and writes nothing down
	p.cutOff()
	p.failOver()
	_, err := p.s.Session(t.Context(), child.ID)
	p.is(err, sessions.ErrNotFound)
}
