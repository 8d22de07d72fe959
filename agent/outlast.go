package agent

import (
	"context"
	"time"
)

// WithGrace gives a context for an operation whose outcome must be known: it ends
// only by after ctx does, and then with cause. Its values are ctx's. done must be
// called.
func WithGrace(ctx context.Context, by time.Duration, cause error) (_ context.Context, done context.CancelFunc) {
	c, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(by)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(cause)
		case <-c.Done():
		}
	})
	return c, func() {
		stop()
		cancel(nil)
	}
}
