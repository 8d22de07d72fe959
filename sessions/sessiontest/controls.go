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
		"a request is owed to the mailbox until it is complied with": func(t *testing.T, h *fixture) {
			a, b := stop("one", "c1", 4), stop("one", "c2", 5)
			for _, c := range []sessions.Control{a, b} {
				added, err := h.s.Request(h.ctx, c)
				h.ok(err)
				h.same("added", added, true)
			}
			cs, err := h.s.Controls(h.ctx, a.Token)
			h.ok(err)
			h.same("pending", cs, []sessions.Control{a, b})
			ms, err := h.s.Recover(h.ctx, h.ann, h.now, 10)
			h.ok(err)
			if len(ms) != 1 || ms[0].Controls != 2 {
				t.Fatalf("%+v", ms)
			}
			f := ms[0].Fence()
			h.ok(h.s.ApplyControls(h.ctx, f, []string{"c1"}, 4, []sessions.Outgoing{reply("stopped", "")}))
			cs, err = h.s.Controls(h.ctx, a.Token)
			h.ok(err)
			h.same("pending", cs, []sessions.Control{b})
			m := h.mailbox("one")
			if m.Controls != 1 || m.LastRead != 4 || m.LastSeen != 4 || m.Owner != h.ann {
				t.Fatalf("%+v", m)
			}
			h.ok(h.s.ApplyControls(h.ctx, f, []string{"c2"}, 2, nil))
			if m := h.mailbox("one"); m.HasWork() || m.LastRead != 4 {
				t.Fatalf("%+v", m)
			}
			ds, err := h.s.Pending(h.ctx, "tg", 0, 10)
			h.ok(err)
			h.same("replies", len(ds), 1)
		},
		"a known event asks nothing": func(_ *testing.T, h *fixture) {
			a, b := stop("one", "c1", 4), stop("one", "c2", 4)
			b.Event = a.Event
			_, err := h.s.Request(h.ctx, a)
			h.ok(err)
			for _, c := range []sessions.Control{a, b} {
				added, err := h.s.Request(h.ctx, c)
				h.ok(err)
				h.same("added", added, false)
			}
			h.same("pending", h.mailbox("one").Controls, 1)
		},
		"what a stop passed over is not owed when it arrives late": func(t *testing.T, h *fixture) {
			_, err := h.s.Request(h.ctx, stop("one", "c1", 5))
			h.ok(err)
			m := h.take(h.ann, "one", 0)
			h.ok(h.s.ApplyControls(h.ctx, m.Fence(), []string{"c1"}, 5, nil))
			if m := h.touch("one", 5); m.HasWork() {
				t.Fatalf("%+v", m)
			}
			if m := h.touch("one", 6); !m.HasWork() {
				t.Fatalf("%+v", m)
			}
		},
		"a request of an older log discards nothing of the next": func(_ *testing.T, h *fixture) {
			_, err := h.s.Request(h.ctx, stop("one", "c1", 500))
			h.ok(err)
			_, err = h.s.StartGeneration(h.ctx, "g2")
			h.ok(err)
			cs, err := h.s.Controls(h.ctx, keyOf(h.t, "one").Token())
			h.ok(err)
			h.same("through", cs[0].Through, uint64(0))
		},
		"a request of another mailbox is not ended": func(_ *testing.T, h *fixture) {
			_, err := h.s.Request(h.ctx, stop("two", "c1", 1))
			h.ok(err)
			m := h.take(h.ann, "one", 1)
			h.ok(h.s.ApplyControls(h.ctx, m.Fence(), []string{"c1"}, 0, nil))
			h.same("pending", h.mailbox("two").Controls, 1)
		},
	}.run(t, open)
}
