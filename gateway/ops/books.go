package ops

import (
	"context"
	"errors"

	"parley/costs"
	"parley/sessions"
	"parley/transcript"
)

// Books is a store whose failed bookings are counted. A booking that
// comes too late for its fence is made all the same, and is no failure.
type Books struct {
	sessions.Store
	Metrics *Metrics
}

// Settle is the store's.
func (b Books) Settle(ctx context.Context, f sessions.Fence, s costs.Settlement, ms ...transcript.Message) error {
	err := b.Store.Settle(ctx, f, s, ms...)
	b.note(err)
	return err //nolint:wrapcheck // nothing is added
}

// Finish is the store's.
func (b Books) Finish(ctx context.Context, f sessions.Fence, e sessions.Ending) (sessions.Mailbox, bool, error) {
	m, released, err := b.Store.Finish(ctx, f, e)
	if e.Settlement != nil {
		b.note(err)
	}
	return m, released, err //nolint:wrapcheck // nothing is added
}

func (b Books) note(err error) {
	if err != nil && !errors.Is(err, sessions.ErrFenced) {
		b.Metrics.LedgerWriteFailed()
	}
}
