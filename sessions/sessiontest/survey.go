package sessiontest

import (
	"fmt"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// spend books amount on a session for a call at a time.
func (b books) spend(f sessions.Fence, id sessionkeys.SessionID, turn string, step int, amount costs.Amount, at time.Time) {
	b.t.Helper()
	r := call(turn, step, 1, amount)
	r.At = at
	b.ok(b.s.Reserve(b.ctx, f, sessions.Charge{Session: id, Turn: turn}, r))
	b.ok(b.s.Settle(b.ctx, f, cost(r, amount)))
}

func (b books) dearest(at time.Time, n int) []costs.Amount {
	b.t.Helper()
	as := must(b.s.Dearest(b.ctx, at, n))
	return as
}

func (h *fixture) queues(limit int) (tokens []string, total int) {
	h.t.Helper()
	qs, total := must2(h.s.Queues(h.ctx, limit))
	for _, q := range qs {
		tokens = append(tokens, q.Token)
	}
	return tokens, total
}

func survey(t *testing.T, open opener) {
	cases{
		"the dearest sessions of a day come first, descendants included": func(h *fixture) {
			for i := range 5 {
				f, turn := h.working(fmt.Sprint("chat-", i))
				h.spend(f, turn.Session, turn.ID, 1, costs.Amount(10*i), noon)
				if i == 1 {
					a := h.spawn(f, h.session(turn.Session), "a")
					b := h.spawn(f, a, "b")
					h.spend(f, b.ID, turn.ID, 2, 15, noon)
					h.spend(f, a.ID, turn.ID, 3, 25, noon.Add(24*time.Hour))
				}
			}
			h.same("all", h.dearest(noon, 10), []costs.Amount{40, 30, 25, 20})
			h.same("two", h.dearest(noon, 2), []costs.Amount{40, 30})
			h.same("none", len(h.dearest(noon, 0)), 0)
			h.same("the next day", h.dearest(noon.Add(24*time.Hour), 10), []costs.Amount{25})
			h.same("the day before", len(h.dearest(noon.Add(-24*time.Hour), 10)), 0)
			h.ok(h.s.Check(h.ctx))
		},
		"sessions are active for a while after a turn was opened": func(h *fixture) {
			for i, kind := range []sessionkeys.Kind{sessionkeys.DM, sessionkeys.Group, sessionkeys.Group} {
				m := h.take(h.ann, fmt.Sprint("chat-", i), 2)
				for seq := range 2 {
					o := opening(m.Fence(), uint64(seq)+1)
					o.Turn.From.Kind, o.Turn.OpenedAt = kind, noon.Add(time.Duration(i)*time.Minute)
					must2(h.s.Open(h.ctx, m.Fence(), o))
					must(h.s.Finish(h.ctx, m.Fence(), ending(o.Turn.ID)))
				}
			}
			for _, c := range []struct {
				since time.Duration
				want  []sessions.Activity
			}{
				{0, []sessions.Activity{{Channel: "tg", Kind: sessionkeys.DM, Sessions: 1}, {Channel: "tg", Kind: sessionkeys.Group, Sessions: 2}}},
				{time.Minute, []sessions.Activity{{Channel: "tg", Kind: sessionkeys.Group, Sessions: 2}}},
				{2 * time.Minute, []sessions.Activity{{Channel: "tg", Kind: sessionkeys.Group, Sessions: 1}}},
				{2*time.Minute + time.Second, nil},
			} {
				got := must(h.s.Active(h.ctx, noon.Add(c.since)))
				if d := cmp.Diff(c.want, got, cmpopts.SortSlices(func(a, b sessions.Activity) bool { return a.Kind < b.Kind })); d != "" {
					h.t.Errorf("since %s (-want +got):\n%s", c.since, d)
				}
			}
		},
		"what waits is listed until a turn has read it": func(h *fixture) {
			var want []string
			for i := range 4 {
				peer := fmt.Sprint("chat-", i)
				h.now = noon.Add(time.Duration(i) * time.Second)
				h.touch(peer, uint64(i)+1)
				want = append(want, keyOf(h.t, peer).Token())
			}
			got, total := h.queues(3)
			h.same("longest first", got, want[:3])
			h.same("total", total, 4)
			qs, _ := must2(h.s.Queues(h.ctx, 1))
			h.same("the first", qs, []sessions.Queue{{Token: want[0], Address: place("chat-0"), LastSeen: 1}})

			m := h.take(h.ann, "chat-0", 1)
			h.same("taken, not read", len(first(h.queues(10))), 4)
			turn := h.open(m.Fence(), 1)
			h.same("read", first(h.queues(10)), want[1:])
			h.finish(m.Fence(), turn.ID)
			h.same("finished", first(h.queues(10)), want[1:])
		},
	}.run(t, open)
	turnCases{
		"children are not counted beside their root": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			c := h.spawn(f, h.session(turn.Session), "c")
			h.same("opened", second(must2(h.s.Open(h.ctx, f, nested(f, c.ID, "nested")))), true)
			h.same("active", must(h.s.Active(h.ctx, noon)), []sessions.Activity{{Channel: "tg", Kind: sessionkeys.Group, Sessions: 1}})

			// Nor is one with a mailbox of its own.
			m, _ := must2(h.s.Touch(h.ctx, sessions.Touch{Token: c.ID.MailboxToken(), Key: c.Key, Seq: 5, By: h.ann, Take: true, Now: h.now}))
			h.open(m.Fence(), 5)
			h.same("active", must(h.s.Active(h.ctx, noon)), []sessions.Activity{{Channel: "tg", Kind: sessionkeys.Group, Sessions: 1}})
		},
	}.run(t, open)
}

func first(tokens []string, _ int) []string { return tokens }
