package ops

import (
	"context"
	"errors"

	"parley/costs"
	"parley/sessions"
	"parley/transcript"
)

// MeteredStore is a store whose failed bookings are counted. A booking that
// comes too late for its fence is made all the same, and is no failure.
type MeteredStore struct {
	sessions.Store
	Metrics *Metrics
}

// Settle is the store's.
func (b MeteredStore) Settle(ctx context.Context, f sessions.Fence, s costs.Settlement, ms ...transcript.Message) error {
	err := b.Store.Settle(ctx, f, s, ms...)
	b.countFailure(err)
	return err //nolint:wrapcheck // nothing is added
}

// Finish returns the store's.
func (b MeteredStore) Finish(ctx context.Context, f sessions.Fence, e sessions.FinishTurn) (sessions.Finished, error) {
	done, err := b.Store.Finish(ctx, f, e)
	if e.Settlement != nil {
		b.countFailure(err)
	}
	return done, err //nolint:wrapcheck // nothing is added
}

func (b MeteredStore) countFailure(err error) {
	if err != nil && !errors.Is(err, sessions.ErrFenced) {
		b.Metrics.LedgerWriteFailed()
	}
}
