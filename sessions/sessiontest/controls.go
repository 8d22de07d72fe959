package sessiontest

import (
	"testing"
	"time"

	"parley/sessions"
)

// stop returns a request to stop what a chat runs, and to discard what waits.
func stop(peer, id string, through uint64) sessions.Control {
	// A key that cannot be made ends in a control that no store takes.
	k, _ := sessionKey(peer)
	return sessions.Control{
		ID: id, Event: event(id), Token: k.Token(), Key: k, Kind: "stop", Through: through,
		Channel: "tg", From: place(peer), ReplyTo: "m8", Sender: "user-9", At: noon,
	}
}

func controls(t *testing.T, open opener) {
	cases{
		"a request is owed to the mailbox until it is complied with": func(h *fixture) {
			a, b := stop("one", "c1", 4), stop("one", "c2", 5)
			for _, c := range []sessions.Control{a, b} {
				added := must(h.s.Request(h.ctx, c))
				h.same("added", added, true)
			}
			cs := must(h.s.Controls(h.ctx, a.Token))
			h.same("pending", cs, []sessions.Control{a, b})
			ms := must(h.s.Recover(h.ctx, h.ann, h.now, 10))
			h.same("how many, controls", []any{len(ms), ms[0].Controls}, []any{1, 2})
			f := ms[0].Fence()
			h.ok(h.s.ApplyControls(h.ctx, f, []string{"c1"}, 4, []sessions.Outgoing{reply("stopped", "")}))
			cs = must(h.s.Controls(h.ctx, a.Token))
			h.same("pending", cs, []sessions.Control{b})
			m := h.mailbox("one")
			h.same("controls, last read, last seen, owner", []any{m.Controls, m.LastRead, m.LastSeen, m.Owner}, []any{1, uint64(4), uint64(4), h.ann})
			h.ok(h.s.ApplyControls(h.ctx, f, []string{"c2"}, 2, nil))
			h.same("has work, last read", []any{h.mailbox("one").HasWork(), h.mailbox("one").LastRead}, []any{false, uint64(4)})
			h.same("replies", len(must(h.s.Pending(h.ctx, "tg", 0, 10))), 1)
		},
		"a known event asks nothing": func(h *fixture) {
			a, b := stop("one", "c1", 4), stop("one", "c2", 4)
			b.Event = a.Event
			must(h.s.Request(h.ctx, a))
			for _, c := range []sessions.Control{a, b} {
				added := must(h.s.Request(h.ctx, c))
				h.same("added", added, false)
			}
			h.same("pending", h.mailbox("one").Controls, 1)
		},
		"what a stop passed over is not owed when it arrives late": func(h *fixture) {
			must(h.s.Request(h.ctx, stop("one", "c1", 5)))
			m := h.take(h.ann, "one", 0)
			h.ok(h.s.ApplyControls(h.ctx, m.Fence(), []string{"c1"}, 5, nil))
			h.same("has work", h.touch("one", 5).HasWork(), false)
			h.same("has work", h.touch("one", 6).HasWork(), true)
		},
		"a request of an older log discards nothing of the next": func(h *fixture) {
			must(h.s.Request(h.ctx, stop("one", "c1", 500)))
			must(h.s.StartGeneration(h.ctx, "g2"))
			h.same("through", must(h.s.Controls(h.ctx, keyOf(h.t, "one").Token()))[0].Through, uint64(0))
		},
		"a request of another mailbox is not ended": func(h *fixture) {
			must(h.s.Request(h.ctx, stop("two", "c1", 1)))
			m := h.take(h.ann, "one", 1)
			h.ok(h.s.ApplyControls(h.ctx, m.Fence(), []string{"c1"}, 0, nil))
			h.same("pending", h.mailbox("two").Controls, 1)
		},
	}.run(t, open)
}

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
