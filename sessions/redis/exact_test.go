package redis_test

import (
	"fmt"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/redis/redistest"
)

// TestAmountsAboveWhatADoubleHoldsStayExact spends 2^53 pico-dollars and one
// more, again and again, in a child three levels deep.
func TestAmountsAboveWhatADoubleHoldsStayExact(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := (&shared{server: redistest.Start(t, redistest.Options{})}).open(t)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	ann := sessions.Worker{Name: "ann", Nonce: "ann-1"}
	ok(s.Heartbeat(ctx, ann, now.Add(time.Hour)))
	k, err := sessionkeys.For("helper", sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.DM, Peer: "one"})
	ok(err)
	m, _, err := s.Touch(ctx, sessions.Touch{Token: k.Token(), Key: k, Seq: 1, By: ann, Take: true, Now: now})
	ok(err)
	at := sessions.Session{ID: m.Session, Key: k}
	for i := range 3 {
		child, err := at.Key.Child("helper")
		ok(err)
		at, _, err = s.Spawn(ctx, m.Fence(), sessions.Session{ID: sessionkeys.ChildID(at.ID, "t", i, "c"), Key: child, Parent: at.ID, CreatedAt: now})
		ok(err)
	}
	const each, n = costs.Amount(1<<53 + 1), 100
	all := sessions.Scope{Kind: "global", Limit: each * n}
	labels := costs.Labels{Provider: "maker", Model: "model-1", Channel: "tg", Purpose: costs.Subagent}
	for i := range n {
		call := costs.CallID{Turn: "t", Step: i + 1, Attempt: 1, Purpose: costs.Subagent}
		r := costs.Reservation{ID: call.String(), At: now, Estimate: costs.Estimate{Call: call, Labels: labels, Upper: each, Priced: true}}
		ok(s.Reserve(ctx, m.Fence(), sessions.Charge{Session: at.ID, Turn: "t", Scopes: []sessions.Scope{all}}, r))
		if i%2 == 0 {
			continue
		}
		ok(s.Settle(ctx, m.Fence(), costs.Settlement{Reservation: r, Entry: costs.Entry{
			ID: r.ID, Call: call, Labels: labels, Amount: each, Priced: true, State: costs.Settled, Outcome: "ok", At: now,
		}}))
	}
	const half = each * n / 2
	tree, err := s.Tree(ctx, m.Session)
	ok(err)
	for _, node := range tree {
		if node.Subtree != half || node.Held != half {
			t.Errorf("depth %d: %d spent and %d held, not %d", node.Depth, node.Subtree, node.Held, half)
		}
	}
	settled, held, err := s.Spent(ctx, all, now)
	ok(err)
	ts, err := s.Totals(ctx)
	ok(err)
	us, err := s.Usage(ctx, sessions.UsageQuery{By: sessions.ByModel})
	ok(err)
	dearest, err := s.Dearest(ctx, now, 3)
	ok(err)
	got := fmt.Sprint(settled, held, ts[0].Amount, us[0].Amount, dearest)
	if want := fmt.Sprint(half, half, half, half, []costs.Amount{half}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	over := costs.CallID{Turn: "t", Step: n + 1, Attempt: 1, Purpose: costs.Subagent}
	err = s.Reserve(ctx, m.Fence(), sessions.Charge{Session: at.ID, Turn: "t", Scopes: []sessions.Scope{all}}, costs.Reservation{
		ID: over.String(), At: now, Estimate: costs.Estimate{Call: over, Labels: labels, Upper: 1, Priced: true},
	})
	if err == nil {
		t.Error("a pico-dollar above the limit was reserved")
	}
}
