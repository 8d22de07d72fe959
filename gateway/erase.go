package gateway

import (
	"context"
	"time"

	"parley/gateway/erasure"
	"parley/gateway/errands"
)

// newEraser returns what deletes what was said.
func (g *Gateway) newEraser(opened resources) *erasure.Desk {
	return &erasure.Desk{
		Store: opened.store, Remove: g.workspaces.remove, Count: g.metrics.SessionErased, Logger: g.o.Logger, Now: g.o.Now,
		Errands: &errands.Book{Store: opened.store, Now: g.o.Now}, People: g.people, Inquiries: g.inquiries, Passed: g.passed, Letters: opened.log,
	}
}

// keepSessions returns for how long sessions are kept at present; 0: for ever.
func (g *Gateway) keepSessions() time.Duration { return g.present().cfg.Retention.Sessions }

// retain deletes the content of sessions that nobody went on with, until ctx ends.
func (g *Gateway) retain(ctx context.Context) error {
	tick := time.NewTicker(erasure.SweepEvery)
	defer tick.Stop()
	return g.erasure.Retain(ctx, g.keepSessions, tick.C)
}
