package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/broker"
)

// Leases, by name. Those of channels carry the bot's own id, since instances may
// be named differently in different processes.
const (
	leaseExport    = "export"    // of the cost
	leaseJanitor   = "janitor"   // of the message log
	leaseRetention = "retention" // of sessions
	leaseSchedule  = "schedule"  // of jobs: whoever queues a run, it is the same one
	leaseSQLite    = "sqlite"    // of a process with a database of its own
)

// runAsLeader runs f in one at a time of all processes that share the message log, and
// again each time it is this one's turn, until ctx ends or f returns by itself.
// No other process shares an embedded log.
func (s *setup) runAsLeader(ctx context.Context, b *broker.Broker, lease string, f func(ctx context.Context) error) error {
	if s.cfg.Broker.URL == "" {
		return f(ctx)
	}
	if err := b.Hold(ctx, lease, s.cfg.Broker.Lease, func(ctx context.Context, _ uint64) error { return f(ctx) }); err != nil {
		return fmt.Errorf("only one process at a time: %w", err)
	}
	return nil
}

var errSharedLog = errors.New("another process uses this message log with a database of its own, so each would answer a part of every conversation: " +
	"let it end first, or give all of them store.redis")

// claimLog makes sure that a process with SQLite is the only one of its kind on
// the message log that it shares: no other could see its conversations. The log
// of a process that was killed is free when its lease has ended.
func (op opener) claimLog(ctx context.Context, b *broker.Broker) (release func(), err error) {
	if op.cfg.Broker.URL == "" || op.cfg.Store.Redis.Used() {
		return func() {}, nil
	}
	held, stop := context.WithCancel(context.WithoutCancel(ctx))
	var holding sync.WaitGroup
	release = func() { stop(); holding.Wait() }
	mine, ended := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	holding.Go(func() {
		ended <- b.Hold(held, leaseSQLite, op.cfg.Broker.Lease, func(ctx context.Context, _ uint64) error {
			once.Do(func() { close(mine) })
			<-ctx.Done()
			return ctx.Err()
		})
	})
	late := time.NewTimer(2 * op.cfg.Broker.Lease)
	defer late.Stop()
	select {
	case <-mine:
		return release, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case err = <-ended:
	case <-late.C:
		err = errSharedLog
	}
	release()
	return func() {}, fmt.Errorf("open the message log: %w", err)
}
