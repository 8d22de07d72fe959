package redis

import (
	"context"
	"time"

	"parley/pause"
)

const (
	catchUpEvery = time.Minute
	forgotAgain  = time.Second // when forgot failed
)

// Maintain looks after the database until ctx ends. It applies what processes that
// ended left in the log of facts, and calls forgot after each restart or failover
// of the server, also one that this store found when it was opened: what is no
// fact, such as which messages wait, may be lost then, and is to be told again.
// forgot is called again until it returns nil.
//
// It returns nil. One goroutine calls it.
func (rec *recovery) Maintain(ctx context.Context, forgot func(context.Context) error) error {
	tick := time.NewTicker(catchUpEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := rec.CatchUp(ctx); err != nil && ctx.Err() == nil {
				rec.log.Warn("redis: apply what others left in the log of facts", "error", err)
			}
		case <-rec.forgot:
			for err := forgot(ctx); err != nil; err = forgot(ctx) {
				if ctx.Err() != nil {
					return nil
				}
				rec.log.Error("redis: tell the database what it forgot", "error", err)
				if pause.For(ctx, forgotAgain) != nil {
					return nil
				}
			}
		}
	}
}

// wakeMaintain wakes Tend.
func (rec *recovery) wakeMaintain() {
	select {
	case rec.forgot <- struct{}{}:
	default: // it is to be woken already
	}
}
