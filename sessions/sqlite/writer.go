package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Writes that wait while one transaction is being committed share the next one.
const (
	maxWaiting = 1024 // beyond, callers block
	maxInBatch = 256
)

// op is one write. It may be run twice, and is answered after the commit. An
// error means that it changes nothing.
type op struct {
	ctx    context.Context
	run    func(*tx) error
	answer chan error // has room for the one answer
}

// writer owns the one connection that writes.
type writer struct {
	tx   tx
	lock *lock
	ops  chan op
	done chan struct{} // closed when the goroutine has ended

	mu      sync.RWMutex // guards stopped, and ops against being closed under a sender
	stopped bool
}

func newWriter(c *conn, l *lock, highest, commits int64, early map[string]bool, chats *atomic.Bool) *writer {
	w := &writer{
		tx:   tx{conn: c, chats: chats, rowCache: newKnown(), highest: highest, stored: highest, commits: commits},
		lock: l,
		ops:  make(chan op, maxWaiting),
		done: make(chan struct{}),
	}
	w.tx.early = early
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

func (w *writer) close() error { return w.tx.conn.close() }

// write performs run as one transaction. A caller who left early does not look
// at the result any more.
func write[T any](ctx context.Context, s *Store, run func(*tx) (T, error)) (T, error) {
	var none T
	result := new(T)
	o := op{ctx: ctx, answer: make(chan error, 1), run: func(t *tx) (err error) {
		*result, err = run(t)
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
		return *result, nil
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
	batch := make([]op, 0, maxInBatch)
	for first := range w.ops {
		batch = append(batch[:0], first)
	drain:
		for len(batch) < maxInBatch {
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

// commit performs a batch and answers everybody in it. Hardly any op fails once
// it has changed something, so that they all run without a savepoint at first.
// When one does, everything is taken back and done again with savepoints.
func (w *writer) commit(batch []op) {
	errs := make([]error, len(batch))
	err := w.attempt(batch, errs, w.runTogether)
	if errors.Is(err, errCarefully) {
		w.tx.careful = true
		err = w.attempt(batch, errs, w.runInSavepoints)
		w.tx.careful = false
	}
	for i, o := range batch {
		if errs[i] == nil {
			errs[i] = err
		}
		o.answer <- errs[i]
	}
}

// attempt performs a batch as one transaction, and notes it before it is answered.
func (w *writer) attempt(batch []op, errs []error, perform func([]op, []error) error) error {
	clear(errs)
	before := w.tx.commits
	err := perform(batch, errs)
	if err == nil {
		err = w.tx.commit()
	}
	if err == nil && w.tx.commits > before {
		err = w.lock.noteCommits(w.tx.commits)
	}
	if err == nil {
		return nil
	}
	w.tx.rollback()
	return fmt.Errorf("commit: %w", explain(err))
}

// errCarefully means that a batch is to be done again with savepoints.
var errCarefully = errors.New("a write failed half-way")

// runTogether runs each op and stores all that they changed at the end.
func (w *writer) runTogether(batch []op, errs []error) error {
	for i, o := range batch {
		if o.ctx.Err() != nil {
			errs[i] = context.Cause(o.ctx)
			continue
		}
		before := w.tx.highest
		w.tx.changed = false
		if errs[i] = o.run(&w.tx); errs[i] == nil {
			continue
		}
		if w.tx.changed {
			return errCarefully
		}
		w.tx.highest = before
	}
	if err := w.tx.flush(); err != nil {
		return errCarefully
	}
	return nil
}

// runInSavepoints runs each op in a savepoint of its own. An error of its own means
// that the transaction as a whole cannot go on.
func (w *writer) runInSavepoints(batch []op, errs []error) error {
	if err := w.tx.begin(); err != nil {
		return err
	}
	for i, o := range batch {
		if o.ctx.Err() != nil {
			errs[i] = context.Cause(o.ctx)
			continue
		}
		if err := w.tx.exec("SAVEPOINT op"); err != nil {
			return err
		}
		before := w.tx.highest
		if errs[i] = o.run(&w.tx); errs[i] == nil {
			errs[i] = w.tx.flush()
		}
		if errs[i] != nil {
			w.tx.highest = before
			w.tx.forget()
			if err := w.tx.exec("ROLLBACK TO op"); err != nil {
				return errors.Join(errs[i], err)
			}
		}
		if err := w.tx.exec("RELEASE op"); err != nil {
			return err
		}
	}
	return nil
}
