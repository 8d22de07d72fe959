// Package pause waits between two tries, for as long as somebody still wants the next.
package pause

import (
	"context"
	"time"
)

// For waits for d, or until ctx ends if that is sooner. It returns nil when ctx goes
// on, and the cause of its end when it does not, also when d is over at the same
// moment: who gets nil may try again. It does not wait when d is zero or less.
func For(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}
