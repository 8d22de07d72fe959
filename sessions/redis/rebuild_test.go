package redis_test

import (
	"cmp"
	"context"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/redis"
)

// remembered is what no failover may lose.
type remembered struct {
	Sessions   []sessions.Session
	Turns      []sessions.Turn
	Histories  map[sessionkeys.SessionID][]string
	Ledger     []costs.Entry
	Totals     []sessions.Total
	Deliveries []sessions.Delivery
	Controls   []sessions.Control
	Read       map[string]uint64
}

func remember(ctx context.Context, t *testing.T, s *redis.Store, ids []sessionkeys.SessionID, tokens []string) (r remembered) {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r.Histories, r.Read = map[sessionkeys.SessionID][]string{}, map[string]uint64{}
	for _, id := range ids {
		one, err := s.Session(ctx, id)
		ok(err)
		r.Sessions = append(r.Sessions, one)
		ts, err := s.TurnsOf(ctx, id)
		ok(err)
		for i := range ts {
			ts[i].Attempts = 0 // whose count is of who owned it
		}
		r.Turns = append(r.Turns, ts...)
		ms, err := s.Messages(ctx, id)
		ok(err)
		for _, m := range ms {
			r.Histories[id] = append(r.Histories[id], m.ID)
		}
		slices.Sort(r.Histories[id])
		ok(s.Deliveries(ctx, id, func(d sessions.Delivery) bool {
			d.Order = 0
			r.Deliveries = append(r.Deliveries, d)
			return true
		}))
	}
	ok(s.Ledger(ctx, "", func(_ sessionkeys.SessionID, e costs.Entry) bool {
		r.Ledger = append(r.Ledger, e)
		return true
	}))
	slices.SortFunc(r.Ledger, func(a, b costs.Entry) int { return cmp.Compare(a.ID, b.ID) })
	var err error
	r.Totals, err = s.Totals(ctx)
	ok(err)
	slices.SortFunc(r.Totals, func(a, b sessions.Total) int {
		return cmp.Or(cmp.Compare(a.Labels.Provider, b.Labels.Provider), cmp.Compare(a.Labels.Model, b.Labels.Model),
			cmp.Compare(a.Labels.Channel, b.Labels.Channel), cmp.Compare(a.Labels.Purpose, b.Labels.Purpose))
	})
	slices.SortFunc(r.Deliveries, func(a, b sessions.Delivery) int { return cmp.Compare(a.ID, b.ID) })
	for _, token := range tokens {
		m, err := s.Mailbox(ctx, token)
		if err == nil && m.LastRead > 0 {
			r.Read[token] = m.LastRead
		}
		cs, err := s.Controls(ctx, token)
		ok(err)
		r.Controls = append(r.Controls, cs...)
	}
	return r
}

// rebuild compares a store with what its log makes of an empty database.
func rebuild(t *testing.T, server *shared, s *redis.Store, prefix string, log *facts) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	// A caller may have given up between fact and script. The first look only
	// notes how long the log is.
	for range 2 {
		if err := s.CatchUp(ctx); err != nil {
			t.Fatal(err)
		}
	}
	c := raw(t, server.server)
	all := c.ZRange(ctx, prefix+"ids", 0, -1).Val()
	tokens := c.ZRange(ctx, prefix+"boxes", 0, -1).Val()
	var ids []sessionkeys.SessionID
	for _, id := range all {
		one, err := s.Session(ctx, sessionkeys.SessionID(id))
		if err != nil {
			t.Fatal(err)
		}
		if one.Messages > 0 || one.Subtree > 0 || one.Held > 0 || one.Parent != "" {
			ids = append(ids, one.ID)
		}
	}
	other, _ := server.openWith(t, log)
	if d := gocmp.Diff(remember(ctx, t, s, ids, tokens), remember(ctx, t, other, ids, tokens), gocmp.AllowUnexported(sessionkeys.Key{})); d != "" {
		t.Errorf("the log says something else (-database +log):\n%s", d)
	}
	if err := other.Check(ctx); err != nil {
		t.Error(err)
	}
}
