package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// signalQueue is how many signals wait for one listener; more are dropped and
// counted.
const signalQueue = 64

// signalBus carries signals to those who listen now.
type signalBus struct {
	*conn
	board       board
	signalDrops atomic.Uint64
}

// Signal tells everybody who listens to s.Topic now. Nil says that it was sent,
// not that anybody heard it; an error that it was not, and there is no second
// try. Signals of one caller keep their order.
func (b *signalBus) Signal(_ context.Context, s Signal) error {
	if !isTopic(s.Topic) {
		return errors.New("send a signal: a topic is [a-z0-9_.-]+")
	}
	if err := b.send(s); err != nil {
		return fmt.Errorf("send a signal: %w", err)
	}
	return nil
}

func (b *signalBus) send(s Signal) error {
	switch {
	case !b.isAlone():
		err := b.nc.Publish(prefixSignal+s.Topic, s.Body)
		if errors.Is(err, nats.ErrMaxPayload) {
			return ErrTooLarge
		}
		return err // its caller does
	case b.isClosed():
		return ErrClosed
	case int64(len(s.Body)) > b.nc.MaxPayload():
		return ErrTooLarge
	}
	b.board.hand(s, &b.signalDrops)
	return nil
}

// isAlone reports whether only this process can reach the server. All listeners are then in this
// process, and its signals do not go through the server.
func (b *signalBus) isAlone() bool { return b.o.URL == "" && b.o.Listen == "" }

// board is who in this process listens to which topic, where signals do not go through a server.
type board struct {
	mu     sync.Mutex
	topics map[string][]*Listener // guarded by mu
}

// hand gives a signal to all who listen to it. It keeps the order of one caller's signals.
func (d *board) hand(s Signal, drops *atomic.Uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	listeners := d.topics[s.Topic]
	if len(listeners) == 0 {
		return
	}
	s.Body = bytes.Clone(s.Body)
	for _, l := range listeners {
		l.take(s, drops)
	}
}

func (d *board) add(l *Listener) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.topics == nil {
		d.topics = map[string][]*Listener{}
	}
	d.topics[l.topic] = append(d.topics[l.topic], l)
}

func (d *board) remove(l *Listener) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.topics[l.topic] = slices.DeleteFunc(d.topics[l.topic], func(other *Listener) bool { return other == l })
	if len(d.topics[l.topic]) == 0 {
		delete(d.topics, l.topic)
	}
}

// Signals combines Listen and Run, and begins when the engine is there, however
// long that takes. A signal that is sent while it begins may be missed; use Listen
// where that matters.
func (b *signalBus) Signals(ctx context.Context, topic string, h func(Signal)) error {
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
	b     *signalBus
	topic string
	sub   *nats.Subscription // nil: it stands on the broker's board
	queue chan Signal
}

// take keeps a signal, or drops and counts it when too many wait.
func (l *Listener) take(s Signal, drops *atomic.Uint64) {
	select {
	case l.queue <- s:
	default:
		drops.Add(1)
	}
}

// Listen begins to collect the topic's signals: those sent after it returns are
// heard. Up to 64 wait for Run, more are dropped and counted in
// Stats.SignalDrops. A caller that does not call Run calls Close.
func (b *signalBus) Listen(ctx context.Context, topic string) (*Listener, error) {
	if !isTopic(topic) {
		return nil, errors.New("listen to signals: a topic is [a-z0-9_.-]+")
	}
	l := &Listener{b: b, topic: topic, queue: make(chan Signal, signalQueue)}
	if b.isAlone() {
		if b.isClosed() {
			return nil, fmt.Errorf("listen to signals: %w", ErrClosed)
		}
		b.board.add(l)
		return l, nil
	}
	err := b.retry(ctx, "listen to signals", func(ctx context.Context) error {
		sub, err := b.nc.Subscribe(prefixSignal+topic, func(m *nats.Msg) {
			l.take(Signal{Topic: topic, Body: m.Data}, &b.signalDrops)
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
func (l *Listener) Close() {
	if l.sub != nil {
		_ = l.sub.Unsubscribe()
		return
	}
	l.b.board.remove(l)
}
