package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// BenchmarkReserveAndSettle is the money of one model call, made by a session
// at a depth below the root (1 is the root itself), counted for all that a turn
// in a group is counted for, with limits.
func BenchmarkReserveAndSettle(b *testing.B) {
	for depth := 1; depth <= 5; depth++ {
		b.Run(fmt.Sprint("depth=", depth), func(b *testing.B) {
			s := openAt(b, filepath.Join(b.TempDir(), "parley.db"))
			d := newDesk(b, s, "ann")
			m, _, err := s.Touch(b.Context(), sessions.Touch{Token: d.key.Token(), Key: d.key, Seq: 1, By: d.w, Take: true, Now: noon})
			d.ok(err)
			f := m.Fence()
			_, _, err = s.Open(b.Context(), f, sessions.OpenTurn{Turn: sessions.Turn{ID: "t", Seq: 1}, Message: transcript.Message{ID: "m", Role: transcript.User}})
			d.ok(err)
			at, err := s.Session(b.Context(), m.Session)
			d.ok(err)
			for i := range depth - 1 {
				k, err := at.Key.Child("helper")
				d.ok(err)
				at, _, err = s.Spawn(b.Context(), f, sessions.Session{ID: sessionkeys.ChildID(at.ID, "t", i+1, "c"), Key: k, Parent: at.ID, Role: "task", CreatedAt: noon})
				d.ok(err)
			}
			const limit = 1_000_000 * costs.USD
			c := sessions.Charge{Session: at.ID, Turn: "t", Scopes: []sessions.Scope{
				{Kind: "turn", ID: "t", Window: costs.Always, Limit: limit},
				{Kind: "session", ID: "s", Window: costs.Always, Limit: limit},
				{Kind: "person", ID: "p", Limit: limit},
				{Kind: "group", ID: "g", Limit: limit},
				{Kind: "chat", ID: "c"},
				{Kind: "channel", ID: "tg"},
				{Kind: "global", Limit: limit},
				{Kind: "global", Window: costs.Month},
			}}
			price := &costs.Price{Provider: "p", Model: "m", Input: 3, Output: 15, Source: "s", Date: "2026-01-01"}
			labels := costs.Labels{Provider: "p", Model: "m", Channel: "tg", Purpose: costs.Subagent}
			i := 0
			for b.Loop() {
				i++
				call := costs.CallID{Turn: "t", Step: i, Attempt: 1, Purpose: costs.Subagent}
				r := costs.Reservation{ID: call.String(), At: noon, Estimate: costs.Estimate{Call: call, Labels: labels, Upper: costs.USD / 50, Priced: true}}
				d.ok(s.Reserve(b.Context(), f, c, r))
				d.ok(s.Settle(b.Context(), f, costs.Settlement{Reservation: r, Entry: costs.Entry{
					ID: r.ID, Call: call, Labels: labels, Usage: costs.Usage{Input: 1000, Output: 100, Source: costs.Reported},
					Price: price, Amount: costs.USD / 500, Priced: true, State: costs.Settled, Outcome: "ok", At: noon,
				}}))
			}
		})
	}
}
