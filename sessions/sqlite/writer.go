package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Writes that wait while one transaction is being committed share the next one.
const (
	maxWaiting  = 1024 // beyond, callers block
	maxInBatch  = 256
	longestWait = 5 * time.Millisecond // see [Options.Linger]
)

// op is one write. It may be run twice, and is answered after the commit. An
// error means that it changes nothing.
type op struct {
	ctx    context.Context
	run    func(*tx) error
	answer chan error // has room for the one answer
	// visible is called once, when run has been run and its writes stand for later ops; nil:
	// nobody wants to know. It says whether somebody goes on with them.
	visible func() bool
}

// writer owns the one connection that writes.
type writer struct {
	tx   tx
	lock *lock
	ops  chan op
	wait time.Duration // see [Options.Linger]
	done chan struct{} // closed when the goroutine has ended

	mu      sync.RWMutex // guards stopped, and ops against being closed under a sender
	stopped bool
}

func newWriter(c *conn, l *lock, highest, commits int64, early map[string]bool, chats *atomic.Bool, records *recordCache, linger time.Duration) *writer {
	w := &writer{
		tx:   tx{conn: c, chats: chats, records: records, rowCache: newKnown(), highest: highest, stored: highest, commits: commits},
		lock: l,
		ops:  make(chan op, maxWaiting),
		wait: cmp.Or(linger, longestWait),
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

// writeEarly performs run as one transaction, and calls visible when its writes stand for
// later ones.
func writeEarly(ctx context.Context, s *Store, run func(*tx) error, visible func() bool) error {
	o := op{ctx: ctx, answer: make(chan error, 1), run: run, visible: visible}
	if err := s.w.submit(ctx, o); err != nil {
		return err
	}
	select {
	case err := <-o.answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
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
	b := batch{ops: make([]op, 0, maxInBatch)}
	for first := range w.ops {
		b.ops = append(b.ops[:0], first)
		w.drain(&b)
		w.commit(&b)
		clear(b.ops)
	}
}

// batch is what becomes one transaction.
type batch struct {
	ops  []op
	errs []error // of each op; nil: it was done
}

// drain adds what waits already.
func (w *writer) drain(b *batch) {
	for len(b.ops) < maxInBatch {
		select {
		case o, ok := <-w.ops:
			if !ok {
				return
			}
			b.ops = append(b.ops, o)
		default:
			return
		}
	}
}

// awaitMore adds what comes in a moment, if anything does.
func (w *writer) awaitMore(b *batch) {
	t := time.NewTimer(w.wait)
	defer t.Stop()
	select {
	case o, ok := <-w.ops:
		if ok {
			b.ops = append(b.ops, o)
			w.drain(b)
		}
	case <-t.C:
	}
}

// commit performs a batch and answers everybody in it. Hardly any op fails once
// it has changed something, so that they all run without a savepoint at first.
// When one does, everything is taken back and done again with savepoints.
func (w *writer) commit(b *batch) {
	err := w.attempt(b, w.runTogether)
	if errors.Is(err, errCarefully) {
		w.tx.careful = true
		err = w.attempt(b, w.runInSavepoints)
		w.tx.careful = false
	}
	for i, o := range b.ops {
		if b.errs[i] == nil {
			b.errs[i] = err
		}
		o.answer <- b.errs[i]
	}
}

// attempt performs a batch as one transaction, and notes it before it is answered.
func (w *writer) attempt(b *batch, perform func(*batch) error) error {
	b.errs = make([]error, len(b.ops))
	before := w.tx.commits
	err := perform(b)
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

// runTogether runs each op and stores all that they changed at the end. When somebody
// goes on with what each of them changed, it waits a moment for that.
func (w *writer) runTogether(b *batch) error {
	goOn := true                      // with all so far
	for i := 0; i < len(b.ops); i++ { //nolint:intrange // grows
		o := &b.ops[i]
		if o.ctx.Err() != nil {
			b.errs[i] = context.Cause(o.ctx)
			continue
		}
		before := w.tx.highest
		w.tx.changed = false
		err := o.run(&w.tx)
		switch {
		case err == nil:
			goOn = o.tellVisible() && goOn
		case w.tx.changed:
			return errCarefully
		default:
			w.tx.highest = before
			b.errs[i], goOn = err, false
		}
		if goOn && i == len(b.ops)-1 && len(b.ops) < maxInBatch {
			w.awaitMore(b)
			b.errs = append(b.errs, make([]error, len(b.ops)-len(b.errs))...)
		}
	}
	if err := w.tx.flush(); err != nil {
		return errCarefully
	}
	return nil
}

// tellVisible tells who waits for it that the op's writes stand, and reports whether somebody
// goes on with them. What is done again has told it before.
func (o *op) tellVisible() bool {
	if o.visible == nil {
		return false
	}
	visible := o.visible
	o.visible = nil
	return visible()
}

// runInSavepoints runs each op in a savepoint of its own. An error of its own means
// that the transaction as a whole cannot go on.
func (w *writer) runInSavepoints(b *batch) error {
	if err := w.tx.begin(); err != nil {
		return err
	}
	for i, o := range b.ops {
		if o.ctx.Err() != nil {
			b.errs[i] = context.Cause(o.ctx)
			continue
		}
		if err := w.tx.exec("SAVEPOINT op"); err != nil {
			return err
		}
		before := w.tx.highest
		if b.errs[i] = o.run(&w.tx); b.errs[i] == nil {
			b.errs[i] = w.tx.flush()
		}
		if b.errs[i] != nil {
			w.tx.highest = before
			if err := w.tx.rollbackTo(); err != nil {
				return errors.Join(b.errs[i], err)
			}
		}
		if err := w.tx.exec("RELEASE op"); err != nil {
			return err
		}
	}
	return nil
}
