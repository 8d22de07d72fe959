package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	pullMessages  = 64
	pullExpiry    = 5 * time.Second
	pullHeartbeat = 500 * time.Millisecond // a request to a consumer without a leader is lost: notice it soon

	firstBackoff   = 100 * time.Millisecond
	longestBackoff = 10 * time.Second
)

// Consume calls h for each unconfirmed message, in any order,
// up to Options.Handlers at a time, and blocks until ctx ends; then it waits
// for the handlers, gives back what it had fetched, and returns ctx's error.
//
// A message is confirmed when h returns nil. After an error it comes again,
// here or at another process, 100 ms to 10 s later; and so it does when h takes
// longer than 2 s, or the process dies. h is called with a context that ends
// with ctx.
func (b *inboundLog) Consume(ctx context.Context, h func(ctx context.Context, d WakeUp) error) error {
	ctx, cancel := b.untilClosed(ctx)
	defer cancel()
	pause := firstPause
	for ctx.Err() == nil {
		began := time.Now()
		err := b.consumeOnce(ctx, h)
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) > 10*time.Second {
			pause = firstPause
		}
		b.o.Log.Warn("wake-up subscription interrupted, resubscribing", "error", err)
		sleep(ctx, b.done, pause)
		pause = min(2*pause, longestPause)
	}
	return fmt.Errorf("deliveries: %w", context.Cause(ctx))
}

// consumeOnce lasts as long as one subscription.
func (b *inboundLog) consumeOnce(ctx context.Context, h func(context.Context, WakeUp) error) error {
	var cons jetstream.Consumer
	err := b.retry(ctx, "subscribe to deliveries", func(ctx context.Context) (err error) {
		cons, err = b.js.CreateOrUpdateConsumer(ctx, streamInbound, dispatchConfig())
		return err
	})
	if err != nil {
		return err
	}
	var handlers sync.WaitGroup
	defer handlers.Wait()
	slots := make(chan struct{}, b.o.Handlers)
	var problem lastProblem
	sub, err := cons.Consume(func(m jetstream.Msg) {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // fetched but not begun: somebody else may have it at once
			_ = m.Nak()
			return
		}
		handlers.Go(func() {
			defer func() { <-slots }()
			b.handle(ctx, m, h)
		})
	}, jetstream.PullMaxMessages(pullMessages), jetstream.PullExpiry(pullExpiry),
		jetstream.PullHeartbeat(pullHeartbeat),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { problem.set(err) }))
	if err != nil {
		return fmt.Errorf("subscribe to deliveries: %w", err)
	}
	select {
	case <-sub.Closed():
		return problem.get()
	case <-ctx.Done():
	}
	sub.Drain()
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-sub.Closed():
	case <-t.C: // not connected: nothing to give back to
		sub.Stop()
	}
	return ctx.Err()
}

type lastProblem struct {
	mu  sync.Mutex
	err error // guarded by mu
}

func (p *lastProblem) set(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

func (p *lastProblem) get() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (b *inboundLog) handle(ctx context.Context, m jetstream.Msg, h func(context.Context, WakeUp) error) {
	meta, err := m.Metadata()
	if err != nil {
		b.o.Log.Error("wake-up without metadata", "error", err)
		return
	}
	if meta.NumDelivered > 1 {
		b.redeliveries.Add(1)
	}
	e, err := decodeEnvelope(m.Subject(), m.Data())
	if err != nil {
		err = b.deadLetterForeign(ctx, m.Subject(), meta.Sequence.Stream, m.Data(), err)
	} else {
		err = h(ctx, WakeUp{Token: e.Token, Key: e.Key, Seq: meta.Sequence.Stream, Tries: int(meta.NumDelivered)})
	}
	if err == nil {
		err = m.Ack()
	} else {
		if ctx.Err() == nil {
			b.o.Log.Warn("wake-up failed, redelivery follows", "seq", meta.Sequence.Stream, "attempts", meta.NumDelivered, "error", err)
		}
		err = m.NakWithDelay(backoff(meta.NumDelivered))
	}
	if err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) && !b.isClosed() {
		b.o.Log.Debug("wake-up not acknowledged, redelivery follows", "seq", meta.Sequence.Stream, "error", err)
	}
}

// backoff returns how long a message waits after its n-th delivery failed.
func backoff(n uint64) time.Duration {
	if n > 8 {
		return longestBackoff
	}
	return min(firstBackoff<<(max(n, 1)-1), longestBackoff)
}
