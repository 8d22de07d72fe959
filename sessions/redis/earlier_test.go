package redis_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/costs"
	"parley/sessions"
	"parley/sessions/redis"
)

// TestADatabaseOfTheVersionBeforeGoesOn: rows had no versions then, and a call was kept
// as an interrupted entry and the names of its scopes.
func TestADatabaseOfTheVersionBeforeGoesOn(t *testing.T) {
	t.Parallel()
	for _, ends := range []string{"settled", "interrupted"} {
		t.Run(ends, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, &facts{})
			ctx := t.Context()
			m := p.take(p.alive("ann"), "one", 1)
			turn := p.house.open(m, 1)
			scopes := []sessions.Scope{
				{Kind: "person", ID: "ann", Limit: 1000}, {Kind: "group", ID: "g", Window: costs.Month}, {Kind: "turn", ID: turn.ID, Window: costs.Always},
			}
			r := reservation(turn, 1, 300)
			p.ok(p.s.Reserve(ctx, m.Fence(), sessions.Charge{Session: turn.Session, Turn: turn.ID, Scopes: scopes}, r))

			// As it stood then.
			c := raw(t, p.primary)
			for _, key := range c.Keys(ctx, "parley:*").Val() {
				if c.Type(ctx, key).Val() == "hash" {
					p.ok(c.HDel(ctx, key, "v").Err())
				}
			}
			entry, err := json.Marshal(costs.Entry{
				ID: r.ID, Call: r.Estimate.Call, Labels: r.Estimate.Labels, Usage: costs.Usage{Source: costs.Estimated},
				Upper: r.Estimate.Upper, Priced: r.Estimate.Priced, State: costs.Interrupted, Outcome: "interrupted",
			})
			p.ok(err)
			dangling, err := json.Marshal(map[string]any{"id": r.ID, "amount": "0", "keep": "300", "entry": string(entry)})
			p.ok(err)
			var named []any
			for _, s := range scopes {
				var name strings.Builder
				for _, part := range []string{s.Kind, s.ID, s.Window.Name(r.At)} {
					fmt.Fprintf(&name, "%d:%s", len(part), part)
				}
				named = append(named, []any{name.String(), "0", s.Window == costs.Always})
			}
			listed, err := json.Marshal(named)
			p.ok(err)
			key := "parley:call:" + r.ID
			p.ok(c.HDel(ctx, key, "id", "call").Err())
			p.ok(c.HSet(ctx, key, "dangling", dangling, "scopes", listed, "step", 1, "purpose", "root", "day", costs.Day.Name(r.At)).Err())

			s, err := redis.Open(ctx, redis.Options{URL: p.board.URL, Facts: p.log})
			p.ok(err)
			defer s.Close() //nolint:errcheck // it ends with the test
			own, held := costs.Amount(150), costs.Amount(0)
			if ends == "settled" {
				p.ok(s.Settle(ctx, m.Fence(), cost(r, 150), said("step-1")))
			} else {
				_, err := s.Resume(ctx, m.Fence(), noon)
				p.ok(err)
				own, held = 0, 300
			}
			p.ok(s.Check(ctx))
			for _, sc := range scopes {
				settled, holds, err := s.Spent(ctx, sc, r.At)
				p.ok(err)
				if settled != own || holds != held {
					t.Errorf("the %s has settled %v and holds %v", sc.Kind, settled, holds)
				}
			}
			_, _, err = s.Finish(ctx, m.Fence(), ending(turn, "ann"))
			p.ok(err)
			p.ok(s.Check(ctx))
		})
	}
}
