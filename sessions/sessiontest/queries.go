package sessiontest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// listed returns the ids of the sessions that q finds.
func (h *fixture) listed(q sessions.SessionQuery) (ids []sessionkeys.SessionID) {
	h.t.Helper()
	ss := must(h.s.Sessions(h.ctx, q))
	for _, s := range ss {
		ids = append(ids, s.ID)
	}
	return ids
}

// conversation returns a finished turn of a chat that came by channel, ended at, and
// cost amount in one call.
func (h *fixture) conversation(peer, channel string, at time.Time, amount costs.Amount) sessions.Turn {
	h.t.Helper()
	m := h.take(h.ann, peer, 1)
	f := m.Fence()
	o := opening(f, 1)
	o.Turn.Channel, o.Turn.OpenedAt = channel, at.Add(-time.Second)
	o.Events = []sessions.InboxID{event(peer)}
	turn, _ := must2(h.s.Open(h.ctx, f, o))
	r := call(turn.ID, 1, 1, 1000)
	r.At, r.Estimate.Labels.Channel = at, channel
	h.reserve(f, charged(turn), r)
	st := cost(r, 0)
	st.Entry.Amount, st.Entry.At = amount, at
	h.ok(h.s.Settle(h.ctx, f, st))
	e := ending(turn.ID)
	e.At = at
	must(h.s.Finish(h.ctx, f, e))
	return turn
}

func queries(t *testing.T, open opener) {
	lists(t, open)
	backlog(t, open)
	cases{
		"sessions with messages that did not change are listed, the oldest first": func(h *fixture) {
			old := h.conversation("old", "tg", noon.Add(3*time.Hour), 1)
			older := h.conversation("older", "tg", noon.Add(2*time.Hour), 1)
			h.conversation("new", "tg", noon.Add(5*time.Hour), 1)
			h.touch("empty", 1)
			before := noon.Add(4 * time.Hour)
			h.same("stale", must(h.s.Stale(h.ctx, before, 9)), []sessionkeys.SessionID{older.Session, old.Session})
			h.same("the first", must(h.s.Stale(h.ctx, before, 1)), []sessionkeys.SessionID{older.Session})
			h.same("at the very time", len(must(h.s.Stale(h.ctx, h.session(old.Session).UpdatedAt, 9))), 1)
			h.same("none", len(must(h.s.Stale(h.ctx, before, 0))), 0)
		},
		"the turns of a session are its own, oldest first": func(h *fixture) {
			f, first := h.working("one")
			c := h.spawn(f, h.session(first.Session), "c")
			o := nested(f, c.ID, "nested")
			nested, _ := must2(h.s.Open(h.ctx, f, o))
			h.finish(f, first.ID)
			m := h.take(h.ann, "one", 2)
			o = opening(m.Fence(), 2)
			o.Turn.OpenedAt = noon.Add(time.Minute)
			second, _ := must2(h.s.Open(h.ctx, m.Fence(), o))
			h.working("two")
			want := []sessions.Turn{first, second}
			want[0].State, want[0].Outcome, want[0].EndedAt = sessions.Done, ending("").Outcome, ending("").At
			turns := must(h.s.TurnsOf(h.ctx, first.Session))
			h.same("turns", turns, want)
			turns = must(h.s.TurnsOf(h.ctx, c.ID))
			h.same("nested", turns, []sessions.Turn{nested})
			turns = must(h.s.TurnsOf(h.ctx, "nobody"))
			h.same("nobody's", len(turns), 0)
		},
	}.run(t, open)
	turnCases{
		"ids are found by how they begin": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			root := h.session(turn.Session)
			a, b := h.spawn(f, root, "a"), h.spawn(f, root, "b")
			children := []sessionkeys.SessionID{a.ID, b.ID}
			slices.Sort(children)
			for prefix, want := range map[string][]sessionkeys.SessionID{
				string(root.ID): {root.ID}, string(root.ID[:20]): {root.ID}, "c-": children, string(a.ID): {a.ID},
				string(a.ID) + "0": nil, "": nil, "%": nil, "_": nil, "c": children, "C-": nil, "\xff": nil, "'; --": nil,
			} {
				got := must(h.s.Find(h.ctx, prefix, 10))
				h.same(fmt.Sprintf("%q", prefix), got, want)
			}
			got := must(h.s.Find(h.ctx, "c-", 1))
			h.same("limited", got, children[:1])
		},
	}.run(t, open)
}

func lists(t *testing.T, open opener) {
	cases{
		"sessions are listed by activity or by cost, and roots only": func(h *fixture) {
			var ids []sessionkeys.SessionID
			for i, amount := range []costs.Amount{30, 50, 10, 40} {
				ids = append(ids, h.conversation(fmt.Sprint("chat-", i), "tg", noon.Add(time.Duration(i)*time.Hour), amount).Session)
			}
			h.same("lately", h.listed(sessions.SessionQuery{Limit: 9}), []sessionkeys.SessionID{ids[3], ids[2], ids[1], ids[0]})
			h.same("dearest", h.listed(sessions.SessionQuery{Limit: 9, ByCost: true}), []sessionkeys.SessionID{ids[1], ids[3], ids[0], ids[2]})
			h.same("lately, two", h.listed(sessions.SessionQuery{Limit: 2}), []sessionkeys.SessionID{ids[3], ids[2]})
			h.same("dearest, two", h.listed(sessions.SessionQuery{Limit: 2, ByCost: true}), []sessionkeys.SessionID{ids[1], ids[3]})
			from := noon.Add(2 * time.Hour)
			h.same("since", h.listed(sessions.SessionQuery{Limit: 9, Since: from}), []sessionkeys.SessionID{ids[3], ids[2]})
			h.same("since, dearest", h.listed(sessions.SessionQuery{Limit: 1, Since: from, ByCost: true}), []sessionkeys.SessionID{ids[3]})
			h.same("nothing since", len(h.listed(sessions.SessionQuery{Limit: 9, Since: noon.Add(9 * time.Hour)})), 0)
			h.same("none", len(h.listed(sessions.SessionQuery{})), 0)
			h.same("the whole row", must(h.s.Sessions(h.ctx, sessions.SessionQuery{Limit: 1}))[0], h.session(ids[3]))
		},
		"a child is not listed, and what it costs lists its root": func(h *fixture) {
			other := h.conversation("other", "tg", noon.Add(time.Hour), 20).Session
			f, turn := h.working("one")
			c := h.spawn(f, h.session(turn.Session), "c")
			r := h.reserve(f, sessions.Charge{Session: c.ID, Turn: turn.ID}, call(turn.ID, 1, 1, 100))
			st := cost(r, 70)
			st.Entry.At = noon.Add(2 * time.Hour)
			h.ok(h.s.Settle(h.ctx, f, st))
			for _, byCost := range []bool{false, true} {
				h.same("listed", h.listed(sessions.SessionQuery{Limit: 9, ByCost: byCost}), []sessionkeys.SessionID{turn.Session, other})
			}
		},
		"sessions are found by the instance they came by": func(h *fixture) {
			a := h.conversation("a", "tg", noon, 1).Session
			b := h.conversation("b", "second", noon.Add(time.Hour), 2).Session
			for channel, want := range map[string][]sessionkeys.SessionID{"tg": {a}, "second": {b}, "": {b, a}, "third": nil, "%": nil} {
				for _, byCost := range []bool{false, true} {
					h.same(channel, h.listed(sessions.SessionQuery{Limit: 9, Channel: channel, ByCost: byCost}), want)
				}
			}
		},
	}.run(t, open)
}

func backlog(t *testing.T, open opener) {
	cases{
		"what is owed is counted": func(h *fixture) {
			is := func(want sessions.Backlog) {
				h.t.Helper()
				h.same("backlog", must(h.s.Backlog(h.ctx)), want)
			}
			is(sessions.Backlog{})
			f, turn := h.working("one")
			h.touch("one", 2) // behind the running turn: nobody waits for a worker
			is(sessions.Backlog{Running: 1})
			h.now = noon.Add(time.Minute)
			h.touch("two", 3)
			h.now = noon.Add(2 * time.Minute)
			h.touch("three", 4)
			h.touch("three", 5)
			is(sessions.Backlog{Running: 1, Waiting: 2, WaitsSince: noon.Add(time.Minute)})

			h.finish(f, turn.ID)
			late := reply("late", "")
			late.At = noon.Add(time.Hour)
			h.queued(late)
			b := must(h.s.Backlog(h.ctx))
			h.same("pending", []any{b.Running, b.Waiting, b.Pending, b.PendingSince, b.Ambiguous}, []any{0, 3, 2, noon, 0})
			id := ending(turn.ID).Replies[0].ID
			h.ok(h.s.Advance(h.ctx, id, sessions.Progress{
				Bodies: [][]byte{[]byte(`{}`), []byte(`{}`)}, Marks: []sessions.Mark{{From: sessions.Queued, To: sessions.Sending, At: noon}},
			}))
			h.ok(h.s.Advance(h.ctx, id, sessions.Progress{Marks: []sessions.Mark{{From: sessions.Sending, To: sessions.Ambiguous, At: noon}}}))
			b = must(h.s.Backlog(h.ctx))
			h.same("ambiguous", []any{b.Pending, b.Ambiguous}, []any{2, 1})
			h.ok(h.s.Advance(h.ctx, id, sessions.Progress{Marks: []sessions.Mark{
				{From: sessions.Ambiguous, To: sessions.Failed, At: noon},
				{Index: 1, From: sessions.Queued, To: sessions.Failed, At: noon},
			}}))
			b = must(h.s.Backlog(h.ctx))
			h.same("finished", []any{b.Pending, b.PendingSince, b.Ambiguous}, []any{1, late.At, 0})
		},
	}.run(t, open)
}
