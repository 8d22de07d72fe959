package sessiontest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"

	"pgregory.net/rapid"
)

// randomSpending spends at random in a random tree under limits, over some days
// and months, beside books of its own that keep every call. It holds each
// decision of Reserve, and each sum of a scope and of a session, to them.
func randomSpending(h *fixture) {
	run := 0
	randomly(h.t, func(rt *rapid.T) {
		run++
		p := newPurse(h, fmt.Sprint("purse-", run))
		rt.Repeat(map[string]func(*rapid.T){
			"spawn":     p.spawn,
			"reserve":   p.reserve,
			"settle":    p.settle,
			"interrupt": p.interrupt,
			"resume":    p.resume,
			"finish":    p.finish,
			"wait":      p.wait,
			"":          p.check,
		})
	})
	h.ok(h.s.Check(h.ctx))
}

// purse is a conversation that spends.
type purse struct {
	h       *fixture
	f       sessions.Fence
	turn    sessions.Turn
	seq     uint64
	now     time.Time
	nodes   []sessions.Session
	parents map[sessionkeys.SessionID]sessionkeys.SessionID
	scopes  []sessions.Scope
	calls   []*spentCall
	next    int
}

// spentCall is a call and all that was decided about it.
type spentCall struct {
	r       costs.Reservation
	session int // among nodes
	turn    string
	scopes  []sessions.Scope
	open    bool
	amount  costs.Amount
	keep    costs.Amount
	ended   time.Time
}

func newPurse(h *fixture, peer string) *purse {
	f, turn := h.working(peer)
	root := h.session(turn.Session)
	return &purse{
		h: h, f: f, turn: turn, seq: 1, now: noon, nodes: []sessions.Session{root}, parents: map[sessionkeys.SessionID]sessionkeys.SessionID{},
		scopes: []sessions.Scope{
			{Kind: "turn", ID: turn.ID, Window: costs.Always, Limit: 1200},
			{Kind: "session", ID: string(root.ID), Window: costs.Always, Limit: 4000},
			{Kind: "person", ID: peer, Limit: 1500},
			{Kind: "global", ID: peer},
			{Kind: "global", ID: peer, Window: costs.Month, Limit: 3000},
		},
	}
}

func (p *purse) spawn(t *rapid.T) {
	parent := rapid.SampledFrom(p.nodes).Draw(t, "parent")
	if parent.Depth == sessionkeys.MaxDepth {
		t.Skip("deep enough")
	}
	p.next++
	c := p.h.spawn(p.f, parent, fmt.Sprint("child-", p.next))
	p.nodes = append(p.nodes, c)
	p.parents[c.ID] = parent.ID
}

// sum returns what the calls of a scope settled and hold now.
func (p *purse) sum(s sessions.Scope) (settled, held costs.Amount) {
	for _, c := range p.calls {
		counts := slices.ContainsFunc(c.scopes, func(of sessions.Scope) bool {
			return of.Kind == s.Kind && of.ID == s.ID && of.Window == s.Window
		})
		if !counts || s.Window.Name(c.r.At) != s.Window.Name(p.now) {
			continue
		}
		settled += c.amount
		switch {
		case c.open:
			held += c.r.Estimate.Upper
		case s.Window != costs.Always || costs.Day.Name(c.ended) == costs.Day.Name(p.now):
			held += c.keep
		}
	}
	return settled, held
}

func (p *purse) reserve(t *rapid.T) {
	p.next++
	r := call(p.turn.ID, p.next, 1, costs.Amount(rapid.Int64Range(0, 900).Draw(t, "upper")))
	r.At = p.now
	scopes := slices.Clone(p.scopes)
	if rapid.Bool().Draw(t, "with a cap") {
		scopes = append(scopes, sessions.Scope{Kind: "task", ID: r.ID, Window: costs.Always, Limit: 700})
	}
	var want *costs.BudgetError
	for _, s := range scopes {
		settled, held := p.sum(s)
		if s.Limit > 0 && settled+held+r.Estimate.Upper > s.Limit {
			want = &costs.BudgetError{Scope: s.Kind, Window: s.Window, Limit: s.Limit, Spent: settled + held, Need: r.Estimate.Upper, Free: s.Window.Next(p.now)}
			break
		}
	}
	at := rapid.IntRange(0, len(p.nodes)-1).Draw(t, "session")
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		err := p.h.s.Reserve(p.h.ctx, p.f, sessions.Charge{Session: p.nodes[at].ID, Turn: p.turn.ID, Scopes: scopes}, r)
		if want == nil {
			p.h.ok(err)
			continue
		}
		var got *costs.BudgetError
		if !errors.As(err, &got) || *got != *want {
			t.Fatalf("got %+v (%v), want %+v", got, err, want)
		}
	}
	if want != nil {
		return
	}
	p.calls = append(p.calls, &spentCall{r: r, session: at, turn: p.turn.ID, scopes: scopes, open: true})
}

// end picks an open call and ends it.
func (p *purse) end(t *rapid.T, amount, keep costs.Amount) {
	var open []*spentCall
	for _, c := range p.calls {
		if c.open {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		t.Skip("nothing is open")
	}
	c := rapid.SampledFrom(open).Draw(t, "call")
	st := cost(c.r, amount)
	if keep > 0 {
		st = interrupted(c.r, amount, amount+keep)
	}
	st.Entry.At = p.now
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		p.h.ok(p.h.s.Settle(p.h.ctx, p.f, st))
	}
	c.open, c.amount, c.keep, c.ended = false, amount, keep, p.now
}

func (p *purse) settle(t *rapid.T) {
	p.end(t, costs.Amount(rapid.Int64Range(0, 1000).Draw(t, "amount")), 0)
}

func (p *purse) interrupt(t *rapid.T) {
	p.end(t, costs.Amount(rapid.Int64Range(0, 500).Draw(t, "amount")), costs.Amount(rapid.Int64Range(1, 500).Draw(t, "more")))
}

// interruptAll is what the store does with the open calls of a turn.
func (p *purse) interruptAll() {
	for _, c := range p.calls {
		if c.open {
			c.open, c.keep, c.ended = false, c.r.Estimate.Upper, p.now
		}
	}
}

func (p *purse) resume(*rapid.T) {
	must(p.h.s.Resume(p.h.ctx, p.f, p.now))
	p.interruptAll()
}

// finish ends the turn and opens the next one.
func (p *purse) finish(*rapid.T) {
	e := ending(p.turn.ID)
	e.At = p.now
	must(p.h.s.Finish(p.h.ctx, p.f, e))
	p.interruptAll()
	p.seq++
	touch := sessions.Touch{Token: p.turn.Token, Key: p.nodes[0].Key, Seq: p.seq, By: p.h.ann, Take: true, Now: p.h.now}
	m, got := must2(p.h.s.Touch(p.h.ctx, touch))
	p.h.same("got", got, true)
	p.f = m.Fence()
	p.turn = p.h.open(p.f, p.seq)
	p.scopes[0].ID = p.turn.ID
}

func (p *purse) wait(t *rapid.T) {
	p.now = p.now.Add(time.Duration(rapid.IntRange(1, 20*24).Draw(t, "hours")) * time.Hour)
}

func (p *purse) check(t *rapid.T) {
	for _, s := range p.scopes {
		wantSettled, wantHeld := p.sum(s)
		p.h.spent(s, p.now, wantSettled, wantHeld)
	}
	p.checkTree(t)
}

// checkTree holds the sums of each session to its calls and those of all below it, and
// the ledger to all of them.
func (p *purse) checkTree(t *rapid.T) {
	type sums struct {
		own, subtree, held, booked costs.Amount
		rows                       int
	}
	want, got := map[sessionkeys.SessionID]sums{}, map[sessionkeys.SessionID]sums{}
	for _, n := range p.nodes {
		want[n.ID] = sums{}
	}
	for _, c := range p.calls {
		held := c.keep
		if c.open {
			held = c.r.Estimate.Upper
		}
		of := p.nodes[c.session].ID
		for at := of; at != ""; at = p.parents[at] {
			w := want[at]
			w.subtree += c.amount
			w.held += held
			if at == of {
				w.own, w.booked = w.own+c.amount, w.booked+c.amount
				if !c.open {
					w.rows++
				}
			}
			want[at] = w
		}
	}
	for _, s := range must(p.h.s.Tree(p.h.ctx, p.nodes[0].ID)) {
		g := sums{own: s.Own, subtree: s.Subtree, held: s.Held}
		for _, e := range p.h.entries(s.ID) {
			g.booked += e.Amount
			g.rows++
		}
		got[s.ID] = g
	}
	if !maps.Equal(got, want) {
		t.Fatalf("the sessions have\n%+v, not\n%+v", got, want)
	}
}
