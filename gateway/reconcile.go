package gateway

import (
	"context"
	"fmt"
	"time"

	"parley/broker"
	"parley/sessionkeys"
	"parley/sessions"
)

// keepRead is how long messages stay in the log after they were read.
const keepRead = 7 * 24 * time.Hour

// reconcile compares the store with the log before anything is taken, because
// each may have lost its tail while the other did not. It returns the name of
// the log's generation.
//
//   - Another log than the one the store counted: sequences start again.
//   - A log shorter than the store saw: it would use sequence numbers again,
//     and new messages would look like old ones; it is moved on past them.
//   - A store that saw less than the log holds: it lost touches, or there are
//     messages that were never delivered; every mailbox is touched again.
func (g *Gateway) reconcile(ctx context.Context, store sessions.Store, b *broker.Broker) (string, error) {
	generation, last, err := b.Generation(ctx)
	if err != nil {
		return "", err
	}
	known, highest, err := store.Generation(ctx)
	if err != nil {
		return "", err
	}
	log := g.o.Logger
	if r := b.Opened(); r.Lost() {
		log.Error("the message log is shorter than it was, or another one", "last", r.LastSeq, "expected", r.Expected, "problems", r.Problems)
	}
	if known != generation {
		lost, err := store.StartGeneration(ctx, generation)
		if err != nil {
			return "", err
		}
		if known != "" {
			log.Error("the message log is another one than before; what it held is lost", "conversations_with_unanswered_messages", lost)
			g.metrics.Lost(lost)
		}
		highest = 0
	}
	if last < highest {
		log.Error("the message log lost its newest messages", "last", last, "seen", highest)
		if err := b.Advance(ctx, highest); err != nil {
			return "", err
		}
	}
	if last > highest {
		if err := retouch(ctx, store, b); err != nil {
			return "", err
		}
	}
	return generation, nil
}

// retouch tells the store of every mailbox whose newest message it has not
// seen.
func retouch(ctx context.Context, store sessions.Store, b *broker.Broker) error {
	var failed error
	err := b.LastAll(ctx, func(token string, seq uint64) bool {
		m, err := store.Mailbox(ctx, token)
		if err == nil && m.Touched >= seq {
			return true
		}
		e, err := b.NextAtLeast(ctx, token, seq-1, seq)
		if err != nil {
			failed = err
			return false
		}
		key, err := sessionkeys.Parse(e.Key)
		if err != nil {
			return true // the delivery gives it to the dead letters
		}
		_, _, failed = store.Touch(ctx, sessions.Touch{Token: token, Key: key, Seq: seq, Now: time.Now()})
		return failed == nil
	})
	if failed != nil {
		return fmt.Errorf("touch a mailbox again: %w", failed)
	}
	return err
}

// sweep deletes what was read long ago from the log, once an hour.
func (g *Gateway) sweep(ctx context.Context, b *broker.Broker, store sessions.Store) error {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		n, err := b.Prune(ctx, g.o.Now().Add(-keepRead), func(token string) uint64 {
			m, err := store.Mailbox(ctx, token)
			if err != nil || m.Turn != nil {
				return 0
			}
			return m.Read
		})
		if err != nil && ctx.Err() == nil {
			g.o.Logger.Warn("sweeping the message log", "error", err)
		}
		if n > 0 {
			g.o.Logger.Info("swept the message log", "deleted", n)
		}
	}
}
