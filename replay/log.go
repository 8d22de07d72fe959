package replay

import (
	"context"
	"fmt"
	"sync"

	"parley/broker"
)

// log is the message log and the signals of a replay: in memory, with the places
// that envelopes had.
type log struct {
	mu        sync.Mutex // guards what follows
	envelopes []broker.Envelope
	heard     int           // of those, by the worker that lives
	wake      chan struct{} // closed and made anew when there is more
	listeners map[int]listener
	next      int
	dead      []broker.DeadLetter
	published []broker.Envelope
}

type listener struct {
	topic   string
	receive func(broker.Signal)
}

func newLog() *log { return &log{wake: make(chan struct{}), listeners: map[int]listener{}} }

// feed adds envelopes, in the order of their places.
func (l *log) feed(es ...broker.Envelope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.envelopes = append(l.envelopes, es...)
	close(l.wake)
	l.wake = make(chan struct{})
}

// Consume implements worker.Log. A worker that begins hears of all again.
func (l *log) Consume(ctx context.Context, h func(context.Context, broker.WakeUp) error) error {
	for told := 0; ; {
		l.mu.Lock()
		l.heard = told
		fresh, wake := l.envelopes[told:], l.wake
		l.mu.Unlock()
		for _, e := range fresh {
			if err := h(ctx, broker.WakeUp{Token: e.Token, Key: e.Key, Seq: e.Seq, Tries: 1}); err != nil {
				return fmt.Errorf("deliver message %d: %w", e.Seq, err)
			}
		}
		told += len(fresh)
		if len(fresh) > 0 {
			continue
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// isCaughtUp reports whether the worker has heard of everything.
func (l *log) isCaughtUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard == len(l.envelopes)
}

// NextAtLeast implements worker.Log.
func (l *log) NextAtLeast(_ context.Context, token string, after, _ uint64) (broker.Envelope, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.envelopes {
		if e.Token == token && e.Seq > after {
			return e, nil
		}
	}
	return broker.Envelope{}, broker.ErrNone
}

// Publish implements worker.Log. What goes to another conversation is only
// noted.
func (l *log) Publish(_ context.Context, e broker.Envelope) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.published = append(l.published, e)
	return 0, nil
}

// DeadLetter implements worker.Log.
func (l *log) DeadLetter(_ context.Context, d broker.DeadLetter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = append(l.dead, d)
	return nil
}

// Signal implements worker.Log and delivery.Log.
func (l *log) Signal(_ context.Context, s broker.Signal) error {
	l.mu.Lock()
	var hear []func(broker.Signal)
	for _, x := range l.listeners {
		if x.topic == s.Topic {
			hear = append(hear, x.receive)
		}
	}
	l.mu.Unlock()
	for _, h := range hear {
		h(s)
	}
	return nil
}

// Signals implements worker.Log and delivery.Log.
func (l *log) Signals(ctx context.Context, topic string, h func(broker.Signal)) error {
	l.mu.Lock()
	id := l.next
	l.next++
	l.listeners[id] = listener{topic, h}
	l.mu.Unlock()
	<-ctx.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.listeners, id)
	return nil
}
