package sessiontest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

func budgets(t *testing.T, open opener) {
	t.Run("random spending", func(t *testing.T) {
		t.Parallel()
		run(t, open, randomSpending)
	})
	cases{
		"96 callers of one person in many conversations never pass his dollar": func(h *fixture) {
			fs, turns := make([]sessions.Fence, 6), make([]sessions.Turn, 6)
			for i := range fs {
				fs[i], turns[i] = h.working(fmt.Sprint("chat-", i))
			}
			limit := sessions.Scope{Kind: "person", ID: "ann", Limit: costs.USD}
			race(h, limit, func(i int) (sessions.Fence, sessions.Charge) {
				t := turns[i%len(turns)]
				return fs[i%len(fs)], sessions.Charge{Session: t.Session, Turn: t.ID}
			})
		},
		"a turn is opened with its first call": func(h *fixture) {
			m := h.take(h.ann, "one", 1)
			o, day := opening(m.Fence(), 1), sessions.Scope{Kind: "global", Limit: 100}
			r := call(o.Turn.ID, 1, 1, 90)
			c := sessions.Charge{Session: m.Session, Turn: o.Turn.ID, Scopes: []sessions.Scope{day}}
			o.Call = &sessions.OpeningCall{Charge: c, Reservation: r}
			for range 2 { // repeated it answers the same
				turn, opened := must2(h.s.Open(h.ctx, m.Fence(), o))
				h.same("opened, steps", []any{opened, turn.Steps}, []any{true, 0})
			}
			h.same("tries", must(h.s.Turn(h.ctx, o.Turn.ID)).Tries, 1)
			h.spent(day, noon, 0, 90)
			h.same("held", h.session(m.Session).Held, costs.Amount(90))
			h.ok(h.s.Settle(h.ctx, m.Fence(), cost(r, 20)))
			h.spent(day, noon, 20, 0)
		},
		"a first call that a budget refuses opens nothing": func(h *fixture) {
			m := h.take(h.ann, "one", 1)
			o := opening(m.Fence(), 1)
			c := sessions.Charge{Session: m.Session, Turn: o.Turn.ID, Scopes: []sessions.Scope{{Kind: "person", ID: "ann"}, {Kind: "global", Limit: 100}}}
			for priced, spent := range map[bool]costs.Amount{true: 101, false: 1} {
				r := call(o.Turn.ID, 1, 1, spent)
				r.Estimate.Priced = priced
				o.Call = &sessions.OpeningCall{Charge: c, Reservation: r}
				h.refused(failed2(h.s.Open(h.ctx, m.Fence(), o)), costs.BudgetError{Scope: "global", Limit: 100, Need: spent, Free: midnight, Unpriced: !priced})
			}
			h.same("in the mailbox", h.mailbox("one"), m)
			h.same("history, known", []any{len(h.history(m.Session)), h.known(o.Turn.ID)}, []any{0, []bool{false}})
			o.Call = nil
			h.same("opened", second(must2(h.s.Open(h.ctx, m.Fence(), o))), true)
		},
		"what was known before reserves nothing": func(h *fixture) {
			f, turn := h.working("one")
			h.touch("one", 2)
			h.finish(f, turn.ID)
			o := opening(f, 2)
			o.Events = []sessions.InboxID{event(turn.ID)}
			o.Call = &sessions.OpeningCall{Charge: sessions.Charge{Session: turn.Session, Turn: o.Turn.ID}, Reservation: call(o.Turn.ID, 1, 1, 90)}
			h.same("opened", second(must2(h.s.Open(h.ctx, f, o))), false)
			h.same("held", h.session(turn.Session).Held, costs.Amount(0))
		},
	}.run(t, open)
	turnCases{
		"96 callers of one turn never pass its dollar": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			root := h.session(turn.Session)
			ids := []sessionkeys.SessionID{root.ID, h.spawn(f, root, "a").ID, h.spawn(f, root, "b").ID}
			limit := sessions.Scope{Kind: "turn", ID: turn.ID, Window: costs.Always, Limit: costs.USD}
			race(h, limit, func(i int) (sessions.Fence, sessions.Charge) {
				return f, sessions.Charge{Session: ids[i%len(ids)], Turn: turn.ID}
			})
			h.same("held in the tree", h.session(root.ID).Held, 33*3*costs.USD/100)
		},
		"what was settled for less leaves room": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			c := charged(turn, sessions.Scope{Kind: "global", Limit: 100})
			h.reserve(f, c, call(turn.ID, 1, 1, 90))
			h.refused(h.s.Reserve(h.ctx, f, c, call(turn.ID, 2, 1, 80)), costs.BudgetError{Scope: "global", Limit: 100, Spent: 90, Need: 80, Free: midnight})
			h.ok(h.s.Settle(h.ctx, f, cost(call(turn.ID, 1, 1, 90), 20)))
			h.reserve(f, c, call(turn.ID, 2, 1, 80))
		},
		"a cost above its bound is booked and counts": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			day := sessions.Scope{Kind: "global", Limit: 100}
			c := charged(turn, day)
			h.reserve(f, c, call(turn.ID, 1, 1, 90))
			h.ok(h.s.Settle(h.ctx, f, cost(call(turn.ID, 1, 1, 90), 120)))
			h.spent(day, noon, 120, 0)
			h.refused(h.s.Reserve(h.ctx, f, c, call(turn.ID, 2, 1, 1)), costs.BudgetError{Scope: "global", Limit: 100, Spent: 120, Need: 1, Free: midnight})
		},
		"the first scope that does not allow it refuses, and nothing is held anywhere": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			wide, tight, tighter := sessions.Scope{Kind: "global"}, sessions.Scope{Kind: "person", ID: "ann", Limit: 50}, sessions.Scope{Kind: "chat", ID: "c", Limit: 10}
			r := call(turn.ID, 1, 1, 60)
			h.refused(h.s.Reserve(h.ctx, f, charged(turn, wide, tight, tighter), r), costs.BudgetError{Scope: "person", Limit: 50, Need: 60, Free: midnight})
			for _, s := range []sessions.Scope{wide, tight, tighter} {
				h.spent(s, noon, 0, 0)
			}
			h.same("held", h.session(turn.Session).Held, costs.Amount(0))
			h.is(h.s.Settle(h.ctx, f, cost(r, 5)), sessions.ErrNotFound)
			h.same("ledger", len(h.entries("")), 0)
			h.same("tries", must(h.s.Turn(h.ctx, turn.ID)).Tries, 0)
		},
		"what is reserved already is not refused": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			c := charged(turn, sessions.Scope{Kind: "global", Limit: 100})
			for range 2 {
				h.reserve(f, c, call(turn.ID, 1, 1, 60))
			}
		},
		"no limit allows a call without a price": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			r := call(turn.ID, 1, 1, 0)
			r.Estimate.Priced = false
			var budget *costs.BudgetError
			err := h.s.Reserve(h.ctx, f, charged(turn, sessions.Scope{Kind: "chat", ID: "c"}, sessions.Scope{Kind: "global", Limit: 1 << 60}), r)
			if !errors.As(err, &budget) || !budget.Unpriced || budget.Scope != "global" {
				h.t.Fatal(err)
			}
			h.reserve(f, charged(turn, sessions.Scope{Kind: "global"}), r)
		},
		"a month is the reservation's, in UTC": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			day, month := sessions.Scope{Kind: "global", Limit: 100}, sessions.Scope{Kind: "global", Window: costs.Month, Limit: 150}
			c := charged(turn, day, month)
			first := call(turn.ID, 1, 1, 100)
			first.At = time.Date(2026, 3, 31, 23, 30, 0, 0, time.FixedZone("east", 3600)) // still March in UTC
			h.reserve(f, c, first)
			second := call(turn.ID, 2, 1, 60)
			second.At = time.Date(2026, 3, 30, 1, 0, 0, 0, time.UTC)
			april := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
			h.refused(h.s.Reserve(h.ctx, f, c, second), costs.BudgetError{Scope: "global", Window: costs.Month, Limit: 150, Spent: 100, Need: 60, Free: april})
			second.At = april
			h.reserve(f, c, second)
			st := cost(first, 40)
			st.Entry.At = april.Add(time.Hour)
			h.ok(h.s.Settle(h.ctx, f, st))
			h.spent(month, first.At, 40, 0)
			h.spent(day, first.At, 40, 0)
			h.spent(day, second.At.Add(-25*time.Hour), 0, 0)
			h.spent(month, april, 0, 60)
		},
		"an interrupted call holds a conversation's money for the rest of the day": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			whole, day := sessions.Scope{Kind: "session", ID: string(turn.Session), Window: costs.Always, Limit: 100}, sessions.Scope{Kind: "person", ID: "ann"}
			c := charged(turn, whole, day)
			h.reserve(f, c, call(turn.ID, 1, 1, 70))
			h.ok(h.s.Settle(h.ctx, f, interrupted(call(turn.ID, 1, 1, 70), 10, 65)))
			late := midnight.Add(-time.Minute)
			for _, s := range []sessions.Scope{whole, day} {
				h.spent(s, late, 10, 55)
			}
			r := call(turn.ID, 2, 1, 40)
			r.At = late
			h.refused(h.s.Reserve(h.ctx, f, c, r), costs.BudgetError{Scope: "session", Window: costs.Always, Limit: 100, Spent: 65, Need: 40})
			r.At = midnight
			h.reserve(f, c, r)
			h.spent(whole, midnight, 10, 40)
			h.spent(day, midnight, 0, 40)
			h.spent(day, noon, 10, 55)
		},
		"what a call holds while it may be settled is held over midnight": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			whole := sessions.Scope{Kind: "turn", ID: turn.ID, Window: costs.Always}
			h.reserve(f, charged(turn, whole), call(turn.ID, 1, 1, 70))
			h.spent(whole, midnight.Add(100*24*time.Hour), 0, 70)
		},
	}.run(t, open)
}

// midnight is the end of the day of noon.
var midnight = time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC)

func charged(turn sessions.Turn, scopes ...sessions.Scope) sessions.Charge {
	return sessions.Charge{Session: turn.Session, Turn: turn.ID, Scopes: scopes}
}

// interrupted settles r for something between amount and upper.
func interrupted(r costs.Reservation, amount, upper costs.Amount) costs.Settlement {
	st := cost(r, amount)
	st.Entry.State, st.Entry.Upper = costs.Interrupted, upper
	return st
}

func (b books) refused(err error, want costs.BudgetError) {
	b.t.Helper()
	var budget *costs.BudgetError
	if !errors.As(err, &budget) {
		b.t.Fatalf("not refused by a budget: %v", err)
	}
	b.same("refusal", *budget, want)
}

func (b books) spent(s sessions.Scope, at time.Time, settled, held costs.Amount) {
	b.t.Helper()
	gotSettled, gotHeld := must2(b.s.Spent(b.ctx, s, at))
	b.same(fmt.Sprintf("settled and held of %s on %s", s.Kind, at.Format(time.DateTime)), []costs.Amount{gotSettled, gotHeld}, []costs.Amount{settled, held})
}

// reserve returns the reservation that was made.
func (b books) reserve(f sessions.Fence, c sessions.Charge, r costs.Reservation) costs.Reservation {
	b.t.Helper()
	b.ok(b.s.Reserve(b.ctx, f, c, r))
	return r
}

// race lets 96 callers reserve three cents each against a dollar, and looks
// after each that no more is held.
func race(h *fixture, limit sessions.Scope, of func(i int) (sessions.Fence, sessions.Charge)) {
	const callers, each = 96, 3 * costs.USD / 100
	day := sessions.Scope{Kind: "global"}
	var mu sync.Mutex // guards granted
	granted := 0
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			f, c := of(i)
			c.Scopes = []sessions.Scope{day, limit}
			err := h.s.Reserve(h.ctx, f, c, call(c.Turn, i+1, 1, each))
			var budget *costs.BudgetError
			switch {
			case err == nil:
				mu.Lock()
				granted++
				mu.Unlock()
			case !errors.As(err, &budget):
				h.t.Error(err)
			case budget.Scope != limit.Kind || budget.Limit != costs.USD || budget.Need != each || budget.Remaining() >= each:
				h.t.Errorf("%+v", budget)
			}
			settled, held, err := h.s.Spent(h.ctx, limit, noon)
			if err != nil || settled+held > costs.USD {
				h.t.Errorf("%s is spent and %s held of a dollar, %v", settled, held, err)
			}
		})
	}
	all.Wait()
	h.same("granted", granted, 33)
	h.spent(limit, noon, 0, 33*each)
	h.spent(day, noon, 0, 33*each)
}
