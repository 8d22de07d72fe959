package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// At an error of the disk SQLite takes the whole transaction back, also when the statement only
// reads; what is written behind it would be stored by itself, and half of what others of the batch
// did with it.
func TestAStatementThatEndsTheTransactionTakesAllOfTheBatchBack(t *testing.T) {
	t.Parallel()
	breaks := func(x *tx) error {
		_, _ = x.conn.exec("ROLLBACK") // as SQLite does by itself
		_, err := x.queryRow("SELECT nothing FROM nowhere", nil)
		return err
	}
	for name, broken := range map[string]func(*tx) error{
		"of an operation that says so": breaks,
		"of an operation that goes on": func(x *tx) error { _ = breaks(x); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "parley.db")})
			noError(t, err)
			defer func() { noError(t, s.Close()) }()
			ctx, now := t.Context(), time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
			ann := sessions.Worker{Name: "ann", Nonce: "ann-1"}
			key, err := sessionkeys.For("helper", sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.DM, Peer: "p"})
			noError(t, err)
			noError(t, s.Heartbeat(ctx, ann, now.Add(time.Hour)))
			m, _, err := s.Touch(ctx, sessions.Touch{Token: key.Token(), Key: key, Seq: 1, By: ann, Take: true, Now: now})
			noError(t, err)
			turn, _, err := s.Open(ctx, m.Fence(), sessions.OpenTurn{
				Turn:    sessions.Turn{ID: "t", Seq: 1, Channel: "tg", From: key.Address(), OpenedAt: now},
				Message: transcript.Message{ID: "q", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "q"}}},
			})
			noError(t, err)
			call := costs.Reservation{ID: "r", At: now, Estimate: costs.Estimate{Upper: 7}}
			noError(t, s.Reserve(ctx, m.Fence(), sessions.Charge{Session: turn.Session, Turn: "t"}, call))
			said := transcript.Message{ID: "a", Role: transcript.Assistant, Parts: []transcript.Part{transcript.Text{Text: "a"}}}
			settled := costs.Settlement{Reservation: call, Entry: costs.Entry{ID: "r", At: now, Amount: 5, Priced: true, State: costs.Settled}}

			errs := batched(t, s,
				func(x *tx) error { return within(x).Settle(ctx, m.Fence(), settled, said) },
				broken,
				func(x *tx) error { // is stored by itself, where there is no transaction any more
					_, _, err := within(x).Touch(ctx, sessions.Touch{Token: key.Token(), Key: key, Seq: 2, Now: now})
					return err
				},
			)
			noError(t, s.Check(ctx))
			if errs[1] == nil {
				t.Error("the operation whose statement failed is said to have held")
			}
			if errs[0] != nil { // so it is done again
				noError(t, s.Settle(ctx, m.Fence(), settled, said))
			}
			noError(t, s.Check(ctx))
			if got, err := s.Session(ctx, turn.Session); err != nil || got.Own != 5 || got.Held != 0 {
				t.Errorf("the session cost %d and holds %d (%v)", got.Own, got.Held, err)
			}
			if ms, err := s.Messages(ctx, turn.Session); err != nil || len(ms) != 2 {
				t.Errorf("%d messages (%v)", len(ms), err)
			}
		})
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// batched is together, and returns what each op is told.
func batched(t *testing.T, s *Store, ops ...func(*tx) error) (errs []error) {
	t.Helper()
	gate, held := make(chan struct{}), make(chan struct{})
	submit := func(run func(*tx) error) op {
		o := op{ctx: t.Context(), run: run, answer: make(chan error, 1)}
		noError(t, s.w.submit(t.Context(), o))
		return o
	}
	first := submit(func(*tx) error {
		close(held)
		<-gate
		return nil
	})
	<-held
	waiting := make([]op, 0, len(ops))
	for _, run := range ops {
		waiting = append(waiting, submit(run))
	}
	close(gate)
	for _, o := range waiting {
		errs = append(errs, <-o.answer)
	}
	<-first.answer //nolint:errcheck // it does nothing
	return errs
}
