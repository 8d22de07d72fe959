package redis

import (
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/redis/redistest"
)

// TestUsageLeavesOutWhatWasBookedSinceItBegan: its pages are read one after the
// other, and what is booked between two of them belongs to no state of both.
func TestUsageLeavesOutWhatWasBookedSinceItBegan(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := Open(ctx, Options{URL: redistest.Start(t, redistest.Options{}).Unhurried()})
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(err)
	t.Cleanup(func() { ok(s.Close()) })
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	ann := sessions.Worker{Name: "ann", Nonce: "ann-1"}
	ok(s.Heartbeat(ctx, ann, now.Add(time.Hour)))
	k, err := sessionkeys.For("helper", sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.DM, Peer: "one"})
	ok(err)
	m, _, err := s.Touch(ctx, sessions.Touch{Token: k.Token(), Key: k, Seq: 1, By: ann, Take: true, Now: now})
	ok(err)
	for i := range 5 {
		call := costs.CallID{Turn: "t", Step: i + 1, Attempt: 1, Purpose: costs.RootTurn}
		r := costs.Reservation{ID: call.String(), At: now, Estimate: costs.Estimate{Call: call, Priced: true, Upper: 9}}
		ok(s.Reserve(ctx, m.Fence(), sessions.Charge{Session: m.Session, Turn: "t"}, r))
		ok(s.Settle(ctx, m.Fence(), costs.Settlement{Reservation: r, Entry: costs.Entry{
			ID: r.ID, Call: call, Amount: 1, Priced: true, State: costs.Settled, At: now.Add(-time.Duration(i) * time.Hour), // the newest is the first in time
		}}))
	}
	last, err := s.lastBooked(ctx)
	ok(err)
	for booked, want := range map[int64]int{last: 5, 3: 3, 0: 0} {
		n := 0
		ok(s.eachUsed(ctx, "-", "+", booked, func(usageEntry, place) error { n++; return nil }))
		if n != want {
			t.Errorf("%d entries up to number %d, not %d", n, booked, want)
		}
		sums := usageSums{}
		node := sessions.Session{ID: m.Session, Key: k}
		ok(s.useNode(ctx, node, booked, sessions.UsageQuery{}, func(usageEntry, place) string { return "all" }, sums))
		if got := sums["all"]; want > 0 && got.Calls != int64(want) || want == 0 && got != nil {
			t.Errorf("%+v up to number %d, not %d", got, booked, want)
		}
	}
}
