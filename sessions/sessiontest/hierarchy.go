package sessiontest

import (
	"fmt"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

func hierarchy(t *testing.T, open opener) {
	turnCases{
		"a child knows its place": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			root := h.session(turn.Session)
			want := childOf(h.t, root, "c")
			c := h.spawn(f, root, "c")
			want.Root, want.Depth, want.UpdatedAt = root.ID, 1, noon
			h.same("child", c, want)
			g := h.spawn(f, c, "g")
			h.same("grandchild", []any{g.Parent, g.Root, g.Depth}, []any{c.ID, root.ID, 2})
		},
		"a child of nobody is ErrNotFound": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			c := childOf(h.t, h.session(turn.Session), "c")
			c.Parent = "nobody"
			h.is(failed2(h.s.Spawn(h.ctx, f, c)), sessions.ErrNotFound)
		},
		"nobody stands below the deepest level": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			at := h.session(turn.Session)
			for range sessionkeys.MaxDepth {
				at = h.spawn(f, at, "c")
			}
			c := childOf(h.t, h.session(turn.Session), "x")
			c.Parent = at.ID
			h.fails(failed2(h.s.Spawn(h.ctx, f, c)))
		},
		"a tree lists parents before children": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			root := h.session(turn.Session)
			a := h.spawn(f, root, "a")
			b := h.spawn(f, root, "b")
			c := h.spawn(f, a, "c")
			h.working("two") // somebody else's
			h.same("tree", h.tree(root.ID), []sessionkeys.SessionID{root.ID, a.ID, b.ID, c.ID})
			h.same("subtree", h.tree(a.ID), []sessionkeys.SessionID{a.ID, c.ID})
		},
		"a child has a mailbox of its own": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			c := h.spawn(f, h.session(turn.Session), "c")
			touch := sessions.Touch{Token: c.ID.MailboxToken(), Key: c.Key, Seq: 5, By: h.ann, Take: true, Now: h.now}
			m, got := must2(h.s.Touch(h.ctx, touch))
			h.same("mailbox", []any{got, m.Session, m.Key}, []any{true, c.ID, c.Key})
			h.same("turn", h.open(m.Fence(), 5).Session, c.ID)
			touch.Token = "11111111111111111111111111111111"
			h.is(failed2(h.s.Touch(h.ctx, touch)), sessions.ErrNotFound)
		},
		"a child may run inside its ancestor's owner": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 2)
			c := h.spawn(f, h.spawn(f, h.session(turn.Session), "a"), "c")
			o := nested(f, c.ID, "nested")
			before := h.mailbox("one")
			for range 2 {
				n, opened := must2(h.s.Open(h.ctx, f, o))
				h.same("nested", []any{opened, n.Session, n.Token}, []any{true, c.ID, f.Token})
			}
			h.same("mailbox", h.mailbox("one"), before)
			h.ok(h.s.Append(h.ctx, f, "nested", answered("work", "work")))
			r := h.reserve(f, sessions.Charge{Session: c.ID, Turn: "nested"}, call("nested", 1, 1, 100))
			h.ok(h.s.Settle(h.ctx, f, cost(r, 30), answered("more", "more")))
			for range 2 {
				h.same("released", second(h.finish(f, "nested")), false)
			}
			h.same("mailbox", h.mailbox("one"), before)
			h.same("history", h.history(c.ID), []string{"task", "work", "more", "nested-answer"})
			h.same("charged", h.session(turn.Session).Subtree, costs.Amount(30))
			h.same("opened after its end", second(must2(h.s.Open(h.ctx, f, o))), false)

			o.Turn.ID, o.Turn.Session = "stranger", h.touch("two", 1).Session
			h.is(failed2(h.s.Open(h.ctx, f, o)), sessions.ErrNotFound)
		},
		"the end of a turn can close what is nested in it": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			g, _ := h.working("two")
			for i, at := range []sessions.Fence{f, f, g} {
				c := h.spawn(at, h.session(h.mailbox([]string{"one", "one", "two"}[i]).Session), fmt.Sprint("c", i))
				o := nested(at, c.ID, fmt.Sprint("nested", i))
				must2(h.s.Open(h.ctx, at, o))
				h.reserve(at, sessions.Charge{Session: c.ID, Turn: o.Turn.ID}, call(o.Turn.ID, 1, 1, 100))
			}
			h.finish(f, "nested0")
			for range 2 {
				h.same("released", must(h.s.Finish(h.ctx, f, sessions.FinishTurn{Turn: turn.ID, Outcome: transcript.Canceled, At: noon, Nested: true})).Released, true)
			}
			for id, want := range map[string]transcript.FinishReason{"nested0": transcript.EndTurn, "nested1": transcript.Canceled, "nested2": ""} {
				n := must(h.s.Turn(h.ctx, id))
				h.same("outcome of "+id, n.Outcome, want)
				h.same("state of "+id, n.State == sessions.Done, want != "")
			}
			h.same("held and booked", []any{h.session(turn.Session).Held, len(h.entries(""))}, []any{costs.Amount(200), 2})
			h.is(h.s.Append(h.ctx, f, "nested1", answered("late", "late")), sessions.ErrFenced)
		},
		"resume interrupts the calls of nested turns too": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			c := h.spawn(f, h.session(turn.Session), "c")
			h.reserve(f, sessions.Charge{Session: c.ID, Turn: "nested"}, call("nested", 1, 1, 100))
			must(h.s.Resume(h.ctx, f, h.now))
			root := h.session(turn.Session)
			h.same("subtree and held", []costs.Amount{root.Subtree, root.Held}, []costs.Amount{0, 100})
		},
	}.run(t, open)
}

func (b books) tree(id sessionkeys.SessionID) (ids []sessionkeys.SessionID) {
	b.t.Helper()
	ss := must(b.s.Tree(b.ctx, id))
	for _, s := range ss {
		ids = append(ids, s.ID)
	}
	return ids
}

func money(t *testing.T, open opener) {
	day := sessions.Scope{Kind: "global"}
	turnCases{
		"a charge reaches every ancestor exactly once": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			root := h.session(turn.Session)
			a := h.spawn(f, root, "a")
			b := h.spawn(f, a, "b")
			r := h.reserve(f, sessions.Charge{Session: b.ID, Turn: turn.ID, Scopes: []sessions.Scope{day}}, call(turn.ID, 1, 1, 100))
			for _, id := range []sessionkeys.SessionID{root.ID, a.ID, b.ID} {
				h.same("held", h.session(id).Held, costs.Amount(100))
			}
			h.ok(h.s.Settle(h.ctx, f, cost(r, 70)))
			for id, own := range map[sessionkeys.SessionID]costs.Amount{root.ID: 0, a.ID: 0, b.ID: 70} {
				s := h.session(id)
				h.same("sums", []costs.Amount{s.Own, s.Subtree, s.Held}, []costs.Amount{own, 70, 0})
			}
			h.spent(day, noon, 70, 0)
		},
		"an entry comes back as it was booked": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			r := h.reserve(f, charged(turn), call(turn.ID, 1, 1, 100))
			st := cost(r, 70)
			charged := costs.Amount(71)
			st.Entry.Usage.Charged = &charged
			st.Entry.Usage.ServerTools = map[string]int64{"search": 2}
			st.Entry.Price = &costs.Price{Provider: "maker", Model: "model-1", Input: 3, Output: 9}
			h.ok(h.s.Settle(h.ctx, f, st))
			h.same("ledger", h.entries(turn.Session), []costs.Entry{st.Entry})
		},
		"the ledger keeps the order of booking and stops when told": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			var want []string
			for i := 1; i <= 450; i++ {
				r := h.reserve(f, charged(turn), call(turn.ID, i, 1, 2))
				h.ok(h.s.Settle(h.ctx, f, cost(r, 1)))
				want = append(want, r.ID)
			}
			for _, id := range []sessionkeys.SessionID{"", turn.Session} {
				var got []string
				for _, e := range h.entries(id) {
					got = append(got, e.ID)
				}
				h.same("order", got, want)
			}
			n := 0
			h.ok(h.s.Ledger(h.ctx, "", func(sessionkeys.SessionID, costs.Entry) bool { n++; return n < 5 }))
			h.same("rows", n, 5)
		},
		"an interrupted call keeps what it may have cost": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			r := h.reserve(f, charged(turn, day), call(turn.ID, 1, 1, 100))
			st := cost(r, 10)
			st.Entry.State, st.Entry.Upper = costs.Interrupted, 80
			h.ok(h.s.Settle(h.ctx, f, st))
			s := h.session(turn.Session)
			h.same("own and held", []costs.Amount{s.Own, s.Held}, []costs.Amount{10, 70})
			h.spent(day, noon, 10, 70)
		},
		"a call without a price is counted as unknown": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			c := h.spawn(f, h.session(turn.Session), "c")
			r := call(turn.ID, 1, 1, 0)
			r.Estimate.Priced = false
			h.reserve(f, sessions.Charge{Session: c.ID, Turn: turn.ID}, r)
			st := cost(r, 0)
			st.Entry.Priced = false
			h.ok(h.s.Settle(h.ctx, f, st))
			h.same("unpriced", []int{h.session(c.ID).Unpriced, h.session(turn.Session).Unpriced}, []int{1, 1})
			h.same("totals", must(h.s.Totals(h.ctx)), []sessions.Total{{Labels: labels, Calls: 1, Unknown: 1}})
		},
		"a day is the reservation's, in UTC": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			r := call(turn.ID, 1, 1, 100)
			r.At = time.Date(2026, 3, 14, 23, 30, 0, 0, time.FixedZone("west", -3600)) // the 15th in UTC
			h.reserve(f, charged(turn, day), r)
			st := cost(r, 40)
			st.Entry.At = r.At.Add(48 * time.Hour)
			h.ok(h.s.Settle(h.ctx, f, st))
			for d, want := range map[int]costs.Amount{14: 0, 15: 40, 16: 0, 17: 0} {
				h.spent(day, time.Date(2026, 3, d, 1, 0, 0, 0, time.UTC), want, 0)
			}
		},
		"no sum wraps around": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			c := charged(turn)
			const most = costs.Amount(1<<63 - 1)
			h.reserve(f, c, call(turn.ID, 1, 1, most))
			h.is(h.s.Reserve(h.ctx, f, c, call(turn.ID, 2, 1, 1)), costs.ErrOverflow)
			h.same("held", h.session(turn.Session).Held, most)
			h.ok(h.s.Check(h.ctx))
		},
		"what was never reserved cannot be settled": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.is(h.s.Settle(h.ctx, f, cost(call(turn.ID, 1, 1, 100), 5)), sessions.ErrNotFound)
			h.same("rows", len(h.entries("")), 0)
		},
		"nothing is reserved for a session that is not there": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.is(h.s.Reserve(h.ctx, f, sessions.Charge{Session: "nobody", Turn: turn.ID}, call(turn.ID, 1, 1, 100)), sessions.ErrNotFound)
		},
		"an estimate is not below nothing": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.fails(h.s.Reserve(h.ctx, f, charged(turn), call(turn.ID, 1, 1, -1)))
		},
	}.run(t, open)
}
