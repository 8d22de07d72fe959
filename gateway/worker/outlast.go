package worker

import (
	"context"
	"errors"
	"time"

	"parley/agent"
)

// lastMoment is how long the end of a worker waits for the store.
const lastMoment = 5 * time.Second

var errTooLate = errors.New("worker stopped before the store answered")

// withTakeGrace returns a context for what takes a mailbox: it ends a moment after ctx. Who
// gives up without the answer does not know whether the mailbox is its own,
// cannot give it back, and leaves an attempt behind that was never made.
func withTakeGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	return agent.WithGrace(ctx, lastMoment, errTooLate)
}

// stopTaking waits until nothing that this worker is about to take can become
// its own any more, at the end, when it takes nothing new: all that do hold a
// slot.
func (w *Worker) stopTaking(ctx context.Context) {
	for range w.slots.size {
		if !w.slots.reacquire(ctx) {
			return
		}
	}
}
