package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// signalQueue is how many signals wait for one listener; more are dropped and
// counted.
const signalQueue = 64

// Signal tells everybody who listens to s.Topic now. Nil says that it was sent,
// not that anybody heard it; an error that it was not, and there is no second
// try. Signals of one caller keep their order.
func (b *Broker) Signal(_ context.Context, s Signal) error {
	if !isTopic(s.Topic) {
		return errors.New("send a signal: a topic is [a-z0-9_.-]+")
	}
	if err := b.nc.Publish(prefixSignal+s.Topic, s.Body); err != nil {
		if errors.Is(err, nats.ErrMaxPayload) {
			err = ErrTooLarge
		}
		return fmt.Errorf("send a signal: %w", err)
	}
	return nil
}

// Signals combines Listen and Run, and begins when the engine is there, however
// long that takes. A signal that is sent while it begins may be missed; use Listen
// where that matters.
func (b *Broker) Signals(ctx context.Context, topic string, h func(Signal)) error {
	l, err := b.Listen(ctx, topic)
	for errors.Is(err, ErrUnavailable) {
		b.o.Log.Warn("signal subscription failed, retrying", "topic", topic, "error", err)
		l, err = b.Listen(ctx, topic)
	}
	if err != nil {
		return err
	}
	return l.Run(ctx, h)
}

// Listener hears a topic's signals since Listen returned.
type Listener struct {
	b     *Broker
	sub   *nats.Subscription
	queue chan Signal
}

// Listen begins to collect the topic's signals: those sent after it returns are
// heard. Up to 64 wait for Run, more are dropped and counted in
// Stats.SignalDrops. A caller that does not call Run calls Close.
func (b *Broker) Listen(ctx context.Context, topic string) (*Listener, error) {
	if !isTopic(topic) {
		return nil, errors.New("listen to signals: a topic is [a-z0-9_.-]+")
	}
	l := &Listener{b: b, queue: make(chan Signal, signalQueue)}
	err := b.retry(ctx, "listen to signals", func(ctx context.Context) error {
		sub, err := b.nc.Subscribe(prefixSignal+topic, func(m *nats.Msg) {
			select {
			case l.queue <- Signal{Topic: topic, Body: m.Data}:
			default:
				b.signalDrops.Add(1)
			}
		})
		if err != nil {
			return err
		}
		if err := b.nc.FlushWithContext(ctx); err != nil {
			return errors.Join(err, sub.Unsubscribe())
		}
		l.sub = sub
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Run calls h for each signal, one after the other, and blocks until ctx ends;
// then it closes the listener and returns ctx's error.
func (l *Listener) Run(ctx context.Context, h func(Signal)) error {
	defer l.Close()
	for {
		select {
		case s := <-l.queue:
			h(s)
		case <-ctx.Done():
			return fmt.Errorf("signals: %w", context.Cause(ctx))
		case <-l.b.done:
			return fmt.Errorf("signals: %w", ErrClosed)
		}
	}
}

// Close stops the collecting. Closing again changes nothing.
func (l *Listener) Close() { _ = l.sub.Unsubscribe() }
