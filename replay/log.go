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
	listening int // how often somebody began to
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

// NextAtLeast implements worker.Log. It waits for the message that is expected: the mailbox is
// made with the first one to come, which is fed when its worker lives.
func (l *log) NextAtLeast(ctx context.Context, token string, after, expect uint64) (broker.Envelope, error) {
	for {
		e, last, wake := l.next(token, after)
		if e != nil {
			return *e, nil
		}
		if last >= expect {
			return broker.Envelope{}, broker.ErrNone
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return broker.Envelope{}, context.Cause(ctx)
		}
	}
}

// next returns the first envelope of a mailbox behind a place, or nil, and the place of the last
// one that was fed; and what is closed when there is more.
func (l *log) next(token string, after uint64) (e *broker.Envelope, last uint64, wake <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.envelopes {
		if last = max(last, l.envelopes[i].Seq); e == nil && l.envelopes[i].Token == token && l.envelopes[i].Seq > after {
			e = &l.envelopes[i]
		}
	}
	return e, last, l.wake
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
	id := l.listening
	l.listening++
	l.listeners[id] = listener{topic, h}
	l.mu.Unlock()
	<-ctx.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.listeners, id)
	return nil
}
