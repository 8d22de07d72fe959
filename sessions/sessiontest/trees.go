package sessiontest

import (
	"fmt"
	"slices"
	"testing"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"

	"pgregory.net/rapid"
)

// randomTrees spends at random in random trees, all in one store, and holds
// every sum to the books that it keeps itself, after every step.
func randomTrees(t *testing.T, s sessions.Store) {
	h := newHouse(t, s)
	run := 0
	randomly(t, func(rt *rapid.T) {
		run++
		b := newBooks(h, fmt.Sprint("chat-", run))
		rt.Repeat(map[string]func(*rapid.T){
			"spawn":     b.spawn,
			"reserve":   b.reserve,
			"settle":    b.settle,
			"interrupt": b.interrupt,
			"resume":    b.resume,
			"":          b.check,
		})
	})
	h.ok(s.Check(t.Context()))
	compareTotals(h)
}

// books are what one tree should have cost.
type books struct {
	h       *house
	f       sessions.Fence
	turn    sessions.Turn
	scope   sessions.Scope
	ids     []sessionkeys.SessionID
	parent  map[sessionkeys.SessionID]sessionkeys.SessionID
	own     map[sessionkeys.SessionID]costs.Amount
	held    map[sessionkeys.SessionID]costs.Amount // by its own calls
	open    []open
	rows    map[sessionkeys.SessionID]int
	next    int
	depth   map[sessionkeys.SessionID]int
	session map[sessionkeys.SessionID]sessions.Session
}

type open struct {
	session sessionkeys.SessionID
	r       costs.Reservation
}

func newBooks(h *house, peer string) *books {
	f, turn := h.working(peer)
	root := h.session(turn.Session)
	return &books{
		h: h, f: f, turn: turn, scope: sessions.Scope{Kind: "chat", ID: turn.Token},
		ids:    []sessionkeys.SessionID{root.ID},
		parent: map[sessionkeys.SessionID]sessionkeys.SessionID{}, own: map[sessionkeys.SessionID]costs.Amount{},
		held: map[sessionkeys.SessionID]costs.Amount{}, rows: map[sessionkeys.SessionID]int{},
		depth: map[sessionkeys.SessionID]int{}, session: map[sessionkeys.SessionID]sessions.Session{root.ID: root},
	}
}

func (b *books) spawn(t *rapid.T) {
	p := rapid.SampledFrom(b.ids).Draw(t, "parent")
	if b.depth[p] == sessionkeys.MaxDepth {
		t.Skip("too deep")
	}
	b.next++
	c := b.h.spawn(b.f, b.session[p], fmt.Sprint("child-", b.next))
	b.ids, b.parent[c.ID], b.depth[c.ID], b.session[c.ID] = append(b.ids, c.ID), p, b.depth[p]+1, c
}

func (b *books) reserve(t *rapid.T) {
	at := rapid.SampledFrom(b.ids).Draw(t, "session")
	upper := costs.Amount(rapid.Int64Range(0, 1000).Draw(t, "upper"))
	b.next++
	r := call(b.turn.ID, b.next, 1, upper)
	c := sessions.Charge{Session: at, Turn: b.turn.ID, Scopes: []sessions.Scope{b.scope}}
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		b.h.ok(b.h.s.Reserve(b.h.ctx, b.f, c, r))
	}
	b.held[at] += upper
	b.open = append(b.open, open{at, r})
}

func (b *books) end(t *rapid.T, amount, keep costs.Amount, st func(costs.Reservation) costs.Settlement) {
	i := rapid.IntRange(0, len(b.open)-1).Draw(t, "call")
	o := b.open[i]
	b.open = slices.Delete(b.open, i, i+1)
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		b.h.ok(b.h.s.Settle(b.h.ctx, b.f, st(o.r)))
	}
	b.own[o.session] += amount
	b.held[o.session] += keep - o.r.Estimate.Upper
	b.rows[o.session]++
}

func (b *books) settle(t *rapid.T) {
	if len(b.open) == 0 {
		t.Skip("nothing is open")
	}
	amount := costs.Amount(rapid.Int64Range(0, 1500).Draw(t, "amount"))
	b.end(t, amount, 0, func(r costs.Reservation) costs.Settlement { return cost(r, amount) })
}

func (b *books) interrupt(t *rapid.T) {
	if len(b.open) == 0 {
		t.Skip("nothing is open")
	}
	amount := costs.Amount(rapid.Int64Range(0, 500).Draw(t, "amount"))
	upper := amount + costs.Amount(rapid.Int64Range(0, 500).Draw(t, "more"))
	b.end(t, amount, upper-amount, func(r costs.Reservation) costs.Settlement {
		st := cost(r, amount)
		st.Entry.State, st.Entry.Upper = costs.Interrupted, upper
		return st
	})
}

// resume interrupts all that is open: it costs nothing and stays held.
func (b *books) resume(*rapid.T) {
	_, err := b.h.s.Resume(b.h.ctx, b.f, noon)
	b.h.ok(err)
	for _, o := range b.open {
		b.rows[o.session]++
	}
	b.open = nil
}

func (b *books) check(t *rapid.T) {
	subtree, held := map[sessionkeys.SessionID]costs.Amount{}, map[sessionkeys.SessionID]costs.Amount{}
	rows := 0
	for _, id := range b.ids {
		for at := id; at != ""; at = b.parent[at] {
			subtree[at] += b.own[id]
			held[at] += b.held[id]
		}
		rows += b.rows[id]
	}
	tree, err := b.h.s.Tree(b.h.ctx, b.ids[0])
	b.h.ok(err)
	if len(tree) != len(b.ids) {
		t.Fatalf("%d sessions of %d", len(tree), len(b.ids))
	}
	var sum costs.Amount
	found := 0
	for _, s := range tree {
		got := []costs.Amount{s.Own, s.Subtree, s.Held}
		if want := []costs.Amount{b.own[s.ID], subtree[s.ID], held[s.ID]}; !slices.Equal(got, want) {
			t.Fatalf("own, subtree, held of %s at depth %d: got %v, want %v", s.ID, s.Depth, got, want)
		}
		for _, e := range b.h.entries(s.ID) {
			sum += e.Amount
			found++
		}
	}
	if sum != tree[0].Subtree || found != rows {
		t.Fatalf("%d of %d ledger rows with the sum %d, the root says %d", found, rows, sum, tree[0].Subtree)
	}
	settled, holds, err := b.h.s.Spent(b.h.ctx, b.scope, noon)
	b.h.ok(err)
	if settled != sum || holds != tree[0].Held {
		t.Fatalf("the scope settled %d and holds %d, the tree %d and %d", settled, holds, sum, tree[0].Held)
	}
}

// compareTotals holds the totals to the ledger.
func compareTotals(h *house) {
	want := map[costs.Labels]sessions.Total{}
	for _, e := range h.entries("") {
		x := want[e.Labels]
		x.Labels = e.Labels
		x.Amount += e.Amount
		x.Calls++
		want[e.Labels] = x
	}
	got := map[costs.Labels]sessions.Total{}
	ts, err := h.s.Totals(h.ctx)
	h.ok(err)
	for _, x := range ts {
		got[x.Labels] = x
	}
	h.same("totals", got, want)
}
