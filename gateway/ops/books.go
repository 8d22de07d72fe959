package ops

import (
	"context"
	"errors"

	"parley/costs"
	"parley/sessions"
	"parley/transcript"
)

// MeteredStore is a store whose failed bookings are counted, and of whose others it is noted how much
// more was reserved than spent. A booking that comes too late for its fence is made all the same, and
// is no failure.
type MeteredStore struct {
	sessions.Store
	Metrics *Metrics
}

// Settle is the store's.
func (b MeteredStore) Settle(ctx context.Context, f sessions.Fence, s costs.Settlement, ms ...transcript.Message) error {
	err := b.Store.Settle(ctx, f, s, ms...)
	b.noteBooking(ctx, s, err)
	return err // nothing is added
}

// Finish returns the store's.
func (b MeteredStore) Finish(ctx context.Context, f sessions.Fence, e sessions.FinishTurn) (sessions.Finished, error) {
	done, err := b.Store.Finish(ctx, f, e)
	if e.Settlement != nil {
		b.noteBooking(ctx, *e.Settlement, err)
	}
	return done, err // nothing is added
}

func (b MeteredStore) noteBooking(ctx context.Context, s costs.Settlement, err error) {
	switch {
	case err == nil, errors.Is(err, sessions.ErrFenced):
		b.Metrics.noteReserved(s)
	case errors.Is(ctx.Err(), context.Canceled): // the process ends, and the turn is handed over
	default:
		b.Metrics.LedgerWriteFailed()
	}
}
