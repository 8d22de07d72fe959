package sessiontest

import (
	"fmt"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"

	"pgregory.net/rapid"
)

func usage(t *testing.T, open opener) {
	t.Run("the sums of all groups are the ledger's", func(t *testing.T) {
		t.Parallel()
		run(t, open, randomUsage)
	})
	cases{
		"nothing is grouped by what is no grouping": func(h *fixture) {
			for _, by := range []sessions.Grouping{"", "amount", "l.id; DROP TABLE ledger"} {
				if us, err := h.s.Usage(h.ctx, sessions.UsageQuery{By: by}); err == nil {
					h.t.Errorf("%q gave %v", by, us)
				}
			}
		},
		"an empty ledger has no groups": func(h *fixture) {
			for _, by := range sessions.Groupings() {
				h.same(string(by), len(must(h.s.Usage(h.ctx, sessions.UsageQuery{By: by}))), 0)
			}
		},
		"the dearest group is first, and days are in their order": func(h *fixture) {
			h.conversation("a", "tg", noon, 30)
			h.conversation("b", "second", noon.Add(24*time.Hour), 50)
			h.conversation("c", "third", noon.Add(48*time.Hour), 30)
			for by, want := range map[sessions.Grouping][]string{
				sessions.ByChannel: {"second", "tg", "third"},
				sessions.ByDay:     {"2026-03-14", "2026-03-15", "2026-03-16"},
			} {
				us := must(h.s.Usage(h.ctx, sessions.UsageQuery{By: by}))
				var got []string
				for _, u := range us {
					got = append(got, u.Group)
				}
				h.same(string(by), got, want)
			}
		},
	}.run(t, open)
	turnCases{
		"the most that an amount can hold is a sum too": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			c := charged(turn)
			const most = costs.Amount(1<<63 - 1)
			r := h.reserve(f, c, call(turn.ID, 1, 1, 0))
			h.ok(h.s.Settle(h.ctx, f, cost(r, most)))
			h.same("the most", must(h.s.Usage(h.ctx, sessions.UsageQuery{By: sessions.ByModel}))[0].Amount, most)
		},
	}.run(t, open)
}

// randomUsage books calls at random, and holds what every question about them
// is answered to the ledger itself.
func randomUsage(h *fixture) {
	run := 0
	agents := map[sessionkeys.SessionID]string{}
	randomly(h.t, func(rt *rapid.T) {
		run++
		f, turn := h.working(fmt.Sprint("chat-", run))
		nodes := []sessions.Session{h.session(turn.Session)}
		for i := range rapid.IntRange(0, 3).Draw(rt, "children") {
			parent := rapid.SampledFrom(nodes).Draw(rt, "parent")
			c := childOf(h.t, parent, fmt.Sprint("child-", i))
			k := must(parent.Key.Child(rapid.SampledFrom([]string{"helper", "scout"}).Draw(rt, "agent")))
			c.Key = k
			child, _ := must2(h.s.Spawn(h.ctx, f, c))
			nodes = append(nodes, child)
		}
		for i := range rapid.IntRange(1, 6).Draw(rt, "calls") {
			h.bookAtRandom(rt, f, turn.ID, i+1, rapid.SampledFrom(nodes).Draw(rt, "session").ID)
		}
		from := noon.Add(time.Duration(rapid.Int64Range(-50, 50).Draw(rt, "from")) * time.Hour)
		for _, n := range nodes {
			agents[n.ID] = n.Key.Agent()
		}
		rows := h.rows()
		root := nodes[0].ID
		for _, q := range []sessions.UsageQuery{
			{}, {Since: from}, {Until: from}, {Since: from, Until: from.Add(24 * time.Hour)}, {Tree: root}, {Tree: nodes[len(nodes)-1].ID, Since: from},
		} {
			for _, q.By = range sessions.Groupings() {
				got := must(h.s.Usage(h.ctx, q))
				h.same(fmt.Sprintf("%+v", q), byGroup(got), h.expected(q, rows, agents))
			}
		}
	})
	compareTotals(h)
	h.ok(h.s.Check(h.ctx))
}

// compareTotals holds the totals to the ledger.
func compareTotals(h *fixture) {
	want := map[costs.Labels]sessions.Total{}
	for _, e := range h.entries("") {
		x := want[e.Labels]
		x.Labels = e.Labels
		x.Amount += e.Amount
		x.Calls++
		if !e.Priced {
			x.Unknown++
		}
		want[e.Labels] = x
	}
	got := map[costs.Labels]sessions.Total{}
	ts := must(h.s.Totals(h.ctx))
	for _, x := range ts {
		got[x.Labels] = x
	}
	h.same("totals", got, want)
}

func (b books) bookAtRandom(t *rapid.T, f sessions.Fence, turn string, step int, id sessionkeys.SessionID) {
	r := call(turn, step, 1, 1000)
	r.Estimate.Labels = costs.Labels{
		Provider: rapid.SampledFrom([]string{"maker", "maker/x"}).Draw(t, "provider"),
		Model:    rapid.SampledFrom([]string{"model-1", "x/model-1"}).Draw(t, "model"),
		Channel:  rapid.SampledFrom([]string{"tg", "second"}).Draw(t, "channel"),
		Purpose:  rapid.SampledFrom([]costs.Purpose{costs.RootTurn, costs.Subagent, costs.Title}).Draw(t, "purpose"),
	}
	b.ok(b.s.Reserve(b.ctx, f, sessions.Charge{Session: id, Turn: turn}, r))
	st := cost(r, costs.Amount(rapid.Int64Range(0, 1e10).Draw(t, "amount")))
	e := &st.Entry
	e.At = noon.Add(time.Duration(rapid.Int64Range(-50*3600e6, 50*3600e6).Draw(t, "at")) * time.Microsecond)
	e.At = e.At.In(time.FixedZone("west", -5*3600))
	if e.Priced = rapid.IntRange(0, 9).Draw(t, "priced") > 0; !e.Priced {
		e.Amount = 0
	}
	if rapid.IntRange(0, 9).Draw(t, "interrupted") == 0 {
		e.State = costs.Interrupted
	}
	tokens := rapid.Int64Range(0, 1e9)
	e.Usage = costs.Usage{
		Input: tokens.Draw(t, "input"), CacheRead: tokens.Draw(t, "read"), CacheWrite5m: tokens.Draw(t, "5m"), CacheWrite1h: tokens.Draw(t, "1h"),
		Output: tokens.Draw(t, "output"), Source: costs.Reported,
	}
	e.Usage.Reasoning = e.Usage.Output / 3
	b.ok(b.s.Settle(b.ctx, f, st))
}

// entryOf is an entry of the ledger, and whose it is.
type entryOf struct {
	id sessionkeys.SessionID
	costs.Entry
}

// rows is the whole ledger.
func (b books) rows() (rows []entryOf) {
	b.t.Helper()
	b.ok(b.s.Ledger(b.ctx, "", func(id sessionkeys.SessionID, e costs.Entry) bool {
		rows = append(rows, entryOf{id, e})
		return true
	}))
	return rows
}

// expected is the sums of the ledger's entries, one by one.
func (b books) expected(q sessions.UsageQuery, rows []entryOf, agents map[sessionkeys.SessionID]string) map[string]sessions.Usage {
	b.t.Helper()
	in := map[sessionkeys.SessionID]bool{}
	if q.Tree != "" {
		for _, id := range b.tree(q.Tree) {
			in[id] = true
		}
	}
	sums := map[string]sessions.Usage{}
	for _, e := range rows {
		if q.Tree != "" && !in[e.id] || !q.Since.IsZero() && e.At.Before(q.Since) || !q.Until.IsZero() && !e.At.Before(q.Until) {
			continue
		}
		g := map[sessions.Grouping]string{
			sessions.ByModel: e.Labels.Provider + "/" + e.Labels.Model, sessions.ByChannel: e.Labels.Channel, sessions.ByPurpose: string(e.Labels.Purpose),
			sessions.ByDay: e.At.UTC().Format(time.DateOnly), sessions.BySession: string(e.id), sessions.ByAgent: agents[e.id],
		}[q.By]
		u := sums[g]
		u.Group = g
		u.Amount += e.Amount
		u.Calls++
		if !e.Priced {
			u.Unpriced++
		}
		if e.State == costs.Interrupted {
			u.Interrupted++
		}
		u.Input += e.Usage.Input
		u.CacheRead += e.Usage.CacheRead
		u.CacheWrite += e.Usage.CacheWrite5m + e.Usage.CacheWrite1h
		u.Output += e.Usage.Output
		u.Reasoning += e.Usage.Reasoning
		sums[g] = u
	}
	return sums
}

func byGroup(us []sessions.Usage) map[string]sessions.Usage {
	m := map[string]sessions.Usage{}
	for _, u := range us {
		if _, twice := m[u.Group]; twice {
			u.Group += " twice"
		}
		m[u.Group] = u
	}
	return m
}
