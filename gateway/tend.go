package gateway

import (
	"context"
	"time"

	"parley/broker"
	"parley/sessions"
	"parley/sessions/redis"
)

// keepFacts is how long facts stay in the log after Redis has them: longer than
// any failover reaches back.
const keepFacts = 7 * 24 * time.Hour

// maintain looks after a store that a failover may roll back, until ctx ends. Every
// mailbox is touched again after one: the log has what the store forgot.
func (g *Gateway) maintain(ctx context.Context, store sessions.Store, b *broker.Broker) error {
	shared, ok := store.(*redis.Store)
	if !ok {
		return nil
	}
	return shared.Maintain(ctx, func(ctx context.Context) error { return touchUnseen(ctx, store, b) })
}

// pruneFacts deletes the facts that the store has had for days.
func (g *Gateway) pruneFacts(ctx context.Context, store sessions.Store, b *broker.Broker) {
	shared, ok := store.(*redis.Store)
	if !ok {
		return
	}
	applied, err := shared.Applied(ctx)
	deleted := 0
	if err == nil {
		deleted, err = b.PruneFacts(ctx, g.o.Now().Add(-keepFacts), applied)
	}
	if err != nil && ctx.Err() == nil {
		g.o.Logger.Warn("sweeping the log of facts", "error", err)
	}
	if deleted > 0 {
		g.o.Logger.Info("swept the log of facts", "deleted", deleted)
	}
}
