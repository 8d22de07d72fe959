package worker_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"parley/broker"
)

// memoryLog is the message log as workers know it, without files and
// connections, so that it lives in fake time: each message is delivered to one
// of those who listen, again when that failed, and signals may get lost.
type memoryLog struct {
	mu       sync.Mutex // guards what follows
	entries  []*entry   // by place, from 1
	letters  []broker.DeadLetter
	ears     map[chan broker.Signal]string // the topics
	changed  chan struct{}                 // closed and made anew when something may be delivered
	position uint64
}

type entry struct {
	broker.Envelope
	tries int
	taken bool      // it is confirmed, or somebody has it in hand
	due   time.Time // not delivered before
}

func newMemoryLog() *memoryLog {
	return &memoryLog{ears: map[chan broker.Signal]string{}, changed: make(chan struct{})}
}

// wake lets those who listen look again. The caller holds mu.
func (l *memoryLog) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *memoryLog) Publish(_ context.Context, e broker.Envelope) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.entries, func(x *entry) bool { return x.ID == e.ID && x.Token == e.Token }); i >= 0 {
		return l.entries[i].Seq, nil
	}
	l.position++
	e.Seq, e.At = l.position, time.Now()
	l.entries = append(l.entries, &entry{Envelope: e})
	l.wake()
	return e.Seq, nil
}

// take is a message to deliver now, or when to look again.
func (l *memoryLog) take() (e *entry, next time.Time, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		switch {
		case e.taken:
		case !e.due.After(time.Now()):
			e.taken = true
			e.tries++
			return e, next, nil
		case next.IsZero() || e.due.Before(next):
			next = e.due
		}
	}
	return nil, next, l.changed
}

// back lets e be delivered again after a while.
func (l *memoryLog) back(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.taken, e.due = false, time.Now().Add(100*time.Millisecond<<min(e.tries-1, 6))
	l.wake()
}

func (l *memoryLog) Consume(ctx context.Context, h func(context.Context, broker.WakeUp) error) error {
	var handlers sync.WaitGroup
	defer handlers.Wait()
	for ctx.Err() == nil {
		e, next, changed := l.take()
		if e != nil {
			handlers.Go(func() {
				if h(ctx, broker.WakeUp{Token: e.Token, Key: e.Key, Seq: e.Seq, Tries: e.tries}) != nil {
					l.back(e)
				}
			})
			continue
		}
		var due <-chan time.Time
		if !next.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-due:
		}
	}
	return context.Cause(ctx)
}

// of are the messages of a mailbox above after.
func (l *memoryLog) of(token string, after uint64) (es []broker.Envelope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.Token == token && e.Seq > after {
			es = append(es, e.Envelope)
		}
	}
	return es
}

func (l *memoryLog) NextAtLeast(_ context.Context, token string, after, _ uint64) (broker.Envelope, error) {
	if es := l.of(token, after); len(es) > 0 {
		return es[0], nil
	}
	return broker.Envelope{}, broker.ErrNone
}

func (l *memoryLog) Last(_ context.Context, token string) (uint64, error) {
	es := l.of(token, 0)
	if len(es) == 0 {
		return 0, nil
	}
	return es[len(es)-1].Seq, nil
}

func (l *memoryLog) Waiting(_ context.Context, token string, after uint64) (int, error) {
	return len(l.of(token, after)), nil
}

func (l *memoryLog) DeadLetter(_ context.Context, d broker.DeadLetter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.ContainsFunc(l.letters, func(o broker.DeadLetter) bool { return o.ID == d.ID }) {
		d.Seq = uint64(len(l.letters)) + 1
		l.letters = append(l.letters, d)
	}
	return nil
}

func (l *memoryLog) DeadLetters(_ context.Context, after uint64, limit int) ([]broker.DeadLetter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := l.letters[min(after, uint64(len(l.letters))):]
	return slices.Clone(rest[:min(limit, len(rest))]), nil
}

func (l *memoryLog) Signal(_ context.Context, s broker.Signal) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ear, topic := range l.ears {
		if topic == s.Topic {
			select {
			case ear <- s:
			default: // it is a hint
			}
		}
	}
	return nil
}

func (l *memoryLog) Signals(ctx context.Context, topic string, h func(broker.Signal)) error {
	ear := make(chan broker.Signal, 64)
	l.mu.Lock()
	l.ears[ear] = topic
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.ears, ear)
	}()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case s := <-ear:
			h(s)
		}
	}
}
