package ops_test

import (
	"context"
	"errors"
	"testing"

	"parley/costs"
	"parley/gateway/ops"
	"parley/sessions"
	"parley/transcript"
)

// booked is a store that books whatever comes, or fails.
type booked struct {
	sessions.Store

	err error
}

func (b booked) Settle(context.Context, sessions.Fence, costs.Settlement, ...transcript.Message) error {
	return b.err
}

func (b booked) Finish(context.Context, sessions.Fence, sessions.FinishTurn) (sessions.Finished, error) {
	return sessions.Finished{Released: true}, b.err
}

// How much more was set aside than spent is known of calls of models that are booked and have a cost.
func TestReservedToSpent(t *testing.T) {
	t.Parallel()
	m := ops.NewMetrics(ops.LabelSets{})
	book := func(upper, amount costs.Amount, err error, change func(*costs.Entry)) {
		t.Helper()
		s := costs.Settlement{Reservation: costs.Reservation{Estimate: costs.Estimate{Upper: upper}}, Entry: costs.Entry{Amount: amount, Priced: true, State: costs.Settled}}
		if change != nil {
			change(&s.Entry)
		}
		store := ops.MeteredStore{Store: booked{err: err}, Metrics: m}
		if got := store.Settle(t.Context(), sessions.Fence{}, s); !errors.Is(got, err) {
			t.Errorf("settling gave %v", got)
		}
	}
	book(3, 2, nil, nil)
	book(2, 2, sessions.ErrFenced, nil) // it is booked
	book(9, 1, errors.New("no"), nil)
	book(9, 0, nil, nil)
	book(9, 1, nil, func(e *costs.Entry) { e.Priced = false })
	book(9, 1, nil, func(e *costs.Entry) { e.State = costs.Interrupted })
	book(9, 1, nil, func(e *costs.Entry) { e.Labels.Purpose = costs.Tool })
	last := costs.Settlement{Reservation: costs.Reservation{Estimate: costs.Estimate{Upper: 4}}, Entry: costs.Entry{Amount: 2, Priced: true, State: costs.Settled}}
	if _, err := (ops.MeteredStore{Store: booked{}, Metrics: m}).Finish(t.Context(), sessions.Fence{}, sessions.FinishTurn{Settlement: &last}); err != nil {
		t.Fatal(err)
	}
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "parley_llm_reserved_to_spent_ratio" {
			if h := f.GetMetric()[0].GetHistogram(); h.GetSampleCount() != 3 || h.GetSampleSum() != 4.5 {
				t.Errorf("%d calls, %v in all", h.GetSampleCount(), h.GetSampleSum())
			}
			return
		}
	}
	t.Error("there is no such metric")
}

// A booking that its caller gave up, as at the end of the process, says nothing of the ledger.
func TestLedgerErrors(t *testing.T) {
	t.Parallel()
	m := ops.NewMetrics(ops.LabelSets{})
	ended, end := context.WithCancel(t.Context())
	end()
	store := ops.MeteredStore{Store: booked{err: errors.New("no")}, Metrics: m}
	for _, ctx := range []context.Context{ended, t.Context()} {
		if err := store.Settle(ctx, sessions.Fence{}, costs.Settlement{}); err == nil {
			t.Error("it was booked")
		}
	}
	if n := m.Recent().LedgerErrors; n != 1 {
		t.Errorf("%d bookings are counted as failed, not the one of them", n)
	}
}
