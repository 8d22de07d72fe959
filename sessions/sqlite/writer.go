package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// Writes that wait while one transaction is being committed share the next one.
const (
	mostWaiting = 1024 // beyond, callers block
	mostInBatch = 256
)

// op is one write: run inside a savepoint, then answered after the commit.
type op struct {
	ctx    context.Context
	run    func(*tx) error
	answer chan error // has room for the one answer
}

// writer owns the one connection that writes.
type writer struct {
	conn *sql.Conn
	tx   tx
	ops  chan op
	done chan struct{} // closed when the goroutine has ended

	mu      sync.RWMutex // guards stopped, and ops against being closed under a sender
	stopped bool
}

func newWriter(conn *sql.Conn, highest int64) *writer {
	w := &writer{
		conn: conn,
		tx:   tx{conn: conn, stmts: map[string]kept{}, highest: highest},
		ops:  make(chan op, mostWaiting),
		done: make(chan struct{}),
	}
	go w.loop()
	return w
}

// stop refuses new writes and waits for the accepted ones.
func (w *writer) stop() {
	w.mu.Lock()
	if !w.stopped {
		w.stopped = true
		close(w.ops)
	}
	w.mu.Unlock()
	<-w.done
}

func (w *writer) close() error {
	for _, s := range w.tx.stmts {
		_ = s.Close()
	}
	return w.conn.Close()
}

// write performs run as one transaction. Its result travels with the answer,
// so that a caller who left early shares nothing with the writer.
func write[T any](ctx context.Context, s *Store, run func(*tx) (T, error)) (T, error) {
	var none T
	answers := make(chan T, 1)
	o := op{ctx: ctx, answer: make(chan error, 1), run: func(t *tx) error {
		v, err := run(t)
		if err == nil {
			answers <- v
		}
		return err
	}}
	if err := s.w.submit(ctx, o); err != nil {
		return none, err
	}
	select {
	case err := <-o.answer:
		if err != nil {
			return none, err
		}
		return <-answers, nil
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

func (w *writer) submit(ctx context.Context, o op) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.stopped {
		return errClosed
	}
	select {
	case w.ops <- o:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *writer) loop() {
	defer close(w.done)
	batch := make([]op, 0, mostInBatch)
	for first := range w.ops {
		batch = append(batch[:0], first)
	drain:
		for len(batch) < mostInBatch {
			select {
			case o, ok := <-w.ops:
				if !ok {
					break drain
				}
				batch = append(batch, o)
			default:
				break drain
			}
		}
		w.commit(batch)
		clear(batch)
	}
}

// commit performs a batch and answers everybody in it.
func (w *writer) commit(batch []op) {
	errs := make([]error, len(batch))
	err := w.tx.begin()
	if err == nil {
		err = w.perform(batch, errs)
	}
	if err == nil {
		err = w.tx.commit()
	}
	if err != nil {
		w.tx.rollback()
		err = fmt.Errorf("commit: %w", explain(err))
	}
	for i, o := range batch {
		if errs[i] == nil {
			errs[i] = err
		}
		o.answer <- errs[i]
	}
}

// perform runs each op in its savepoint. An error of its own means that the
// transaction as a whole cannot go on.
func (w *writer) perform(batch []op, errs []error) error {
	for i, o := range batch {
		if o.ctx.Err() != nil {
			errs[i] = context.Cause(o.ctx)
			continue
		}
		if err := w.tx.do("SAVEPOINT op"); err != nil {
			return err
		}
		before := w.tx.highest
		if errs[i] = o.run(&w.tx); errs[i] != nil {
			w.tx.highest = before
			if err := w.tx.do("ROLLBACK TO op"); err != nil {
				return errors.Join(errs[i], err)
			}
		}
		if err := w.tx.do("RELEASE op"); err != nil {
			return err
		}
	}
	return nil
}
