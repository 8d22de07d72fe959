package sessiontest

import (
	"testing"

	"parley/sessions"
)

// stop is a request to stop what a chat runs, and to discard what waits.
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
