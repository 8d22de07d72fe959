package sessiontest

import (
	"testing"
	"time"

	"parley/sessions"
)

// order is that nobody is passed over for ever.
func order(t *testing.T, open opener) {
	found := func(h *fixture, limit int) (peers []string) {
		h.t.Helper()
		ms := must(h.s.Recover(h.ctx, h.ann, h.now, limit))
		for _, m := range ms {
			peers = append(peers, m.Key.Address().Peer)
		}
		return peers
	}
	yield := func(h *fixture, f sessions.Fence) bool {
		h.t.Helper()
		yielded := must(h.s.Yield(h.ctx, f, h.now))
		return yielded
	}
	cases{
		"what is yielded comes after all that wait, though its clock stood still": func(h *fixture) {
			m := h.take(h.ann, "flood", 9)
			h.now = h.now.Add(time.Hour) // the clock of another worker
			h.touch("one", 1)
			h.now = h.now.Add(-time.Minute)
			h.touch("two", 1)
			h.same("yielded", yield(h, m.Fence()), true)
			h.now = h.now.Add(2 * time.Minute)
			h.alive(h.ann)
			h.touch("three", 1)
			h.same("first", found(h, 2), []string{"two", "one"})
			h.same("then", found(h, 3), []string{"flood", "three"})
		},
		"what is yielded again goes behind again": func(h *fixture) {
			a := h.take(h.ann, "a", 9)
			h.touch("b", 9)
			for _, next := range []string{"b", "a", "b", "a"} {
				h.same("yielded", yield(h, a.Fence()), true)
				h.same("next", found(h, 1), []string{next})
				a = h.mailbox(next)
			}
		},
		"nothing is yielded to nobody": func(h *fixture) {
			m := h.take(h.ann, "one", 2)
			h.take(h.ann, "two", 2)
			h.touch("three", 0)
			h.same("yielded", yield(h, m.Fence()), false)
			h.same("mailbox", h.mailbox("one"), m)
		},
		"what a dead worker left waits too": func(h *fixture) {
			bob := sessions.Worker{Name: "bob", Nonce: "bob-1"}
			h.alive(bob)
			h.take(bob, "left", 1)
			m := h.take(h.ann, "one", 2)
			h.same("yielded while bob lives", yield(h, m.Fence()), false)
			h.ok(h.s.Leave(h.ctx, bob))
			h.same("yielded", yield(h, m.Fence()), true)
			h.same("order", found(h, 2), []string{"left", "one"})
		},
	}.run(t, open)
	turnCases{
		"what is yielded keeps its work and loses no attempt": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 5)
			h.touch("two", 1)
			h.same("yielded", yield(h, f), true)
			m := h.mailbox("one")
			h.same("owner, attempts, last seen, turn", []any{m.Owner, m.Attempts, m.LastSeen, m.Turn.ID, m.Turn.Attempts}, []any{sessions.Worker{}, 0, uint64(5), turn.ID, 0})
			n := h.take(h.ann, "one", 0)
			h.same("epoch, attempts, of the turn", []any{n.Epoch, n.Attempts, n.Turn.Attempts}, []any{f.Epoch + 1, 1, 1})
		},
	}.run(t, open)
}
