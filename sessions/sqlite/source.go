package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"

	"parley/sessions/rules"
)

// readers is how many reads may run at once; more wait for their turn.
const readers = 8

// pool is the connections that read. That which was used last is used next: its cache is warm,
// and no more are opened than are ever in use at once.
type pool struct {
	path   string
	trace  func(query string) // see Options.Trace
	turns  chan struct{}      // has room for every reader that works
	closed chan struct{}      // closed when no more reads are begun

	mu   sync.Mutex
	free []*conn // guarded by mu
}

func newPool(path string, trace func(query string)) *pool {
	return &pool{path: path, trace: trace, turns: make(chan struct{}, readers), closed: make(chan struct{})}
}

// close waits for the reads under way.
func (p *pool) close() error {
	close(p.closed)
	for range readers {
		p.turns <- struct{}{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, c := range p.free {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

func (p *pool) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// take returns a connection, which its caller gives back.
func (p *pool) take(ctx context.Context) (*conn, error) {
	if p.isClosed() {
		return nil, errClosed
	}
	select {
	case <-p.closed:
		return nil, errClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case p.turns <- struct{}{}:
	}
	p.mu.Lock()
	if last := len(p.free) - 1; last >= 0 {
		c := p.free[last]
		p.free = p.free[:last]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	c, err := connect(p.path, url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)"}}, p.trace)
	if err != nil {
		<-p.turns
		return nil, fmt.Errorf("connect to read: %w", err)
	}
	return c, nil
}

func (p *pool) giveBack(c *conn) {
	p.mu.Lock()
	p.free = append(p.free, c)
	p.mu.Unlock()
	<-p.turns
}

// read runs f on a connection of its own, where each query sees what is newest.
func (p *pool) read(ctx context.Context, f func(*view) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c, err := p.take(ctx)
	if err != nil {
		return explain(err)
	}
	defer p.giveBack(c)
	return explain(f(&view{ctx: ctx, conn: c}))
}

// snapshot runs f over one state of the database, whatever is written meanwhile.
func (p *pool) snapshot(ctx context.Context, f func(*view) error) error {
	return p.read(ctx, func(v *view) error {
		if _, err := v.conn.exec("BEGIN"); err != nil {
			return fmt.Errorf("begin to read: %w", err)
		}
		err := f(v)
		if _, e := v.conn.exec("ROLLBACK"); e != nil {
			err = errors.Join(err, fmt.Errorf("end reading: %w", e))
		}
		return err
	})
}

// view reads on one connection. A long statement of it is interrupted when ctx
// ends; others end with the row that they are at.
type view struct {
	ctx  context.Context
	conn *conn
	long bool
}

func (v *view) queryRow(query string, args []any, dest ...any) (found bool, err error) {
	return v.conn.queryRow(always, query, args, dest...)
}

func (v *view) queryRows(query string, args []any, f func(scanner) error) error {
	ctx := always
	if v.long {
		ctx = v.ctx
	}
	return v.conn.queryRows(ctx, query, args, func(r scanner) error {
		if v.ctx.Err() != nil {
			return context.Cause(v.ctx)
		}
		return f(r)
	})
}

// directSource reads with one query at a time.
type directSource struct {
	ctx context.Context
	*pool
}

func (p *pool) direct(ctx context.Context) directSource { return directSource{ctx, p} }

func (d directSource) queryRow(query string, args []any, dest ...any) (found bool, err error) {
	err = d.read(d.ctx, func(v *view) (err error) {
		found, err = v.queryRow(query, args, dest...)
		return err
	})
	return found, err
}

func (d directSource) queryRows(query string, args []any, f func(scanner) error) error {
	return d.read(d.ctx, func(v *view) error { return v.queryRows(query, args, f) })
}

func (p *pool) queryRow(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	return p.direct(ctx).queryRow(query, args, dest...)
}

func (p *pool) queryRows(ctx context.Context, query string, args []any, f func(scanner) error) error {
	return p.direct(ctx).queryRows(query, args, f)
}

// tx is the transaction of the writer, begun by its first statement. Only the
// writer's goroutine uses it.
type tx struct {
	conn *conn
	rowCache
	chats   *atomic.Bool // some chat moved or was shut
	records *recordCache // of those who read
	written []rules.Key  // of those, what this transaction wrote
	careful bool         // the batch is done again: nothing is guessed
	begun   bool
	answers answersOf // that were found for an erasure
	changed bool      // since it was last set to false, in the database or in what is known
	broken  error     // of a statement that failed, until what came before it is taken back

	highest int64 // highest sequence touched in this generation
	stored  int64 // what of it the database has

	commits int64 // ever; those of the database's whole life
}

// begin begins the transaction before its first statement. Behind a statement that failed there
// is none: at an error of the disk, and without memory, SQLite takes the whole transaction back,
// also for a statement that only reads (sqlite3VdbeHalt), and what followed would be stored by
// itself.
func (t *tx) begin() error {
	if t.broken != nil {
		return fmt.Errorf("transaction broken by an earlier statement: %w", t.broken)
	}
	if t.begun {
		return nil
	}
	if _, err := t.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	t.begun = true
	return nil
}

// commit writes down what is known and not stored yet, and ends the
// transaction.
func (t *tx) commit() error {
	if err := t.flush(); err != nil {
		return err
	}
	if t.begun || t.highest != t.stored {
		if err := t.exec("UPDATE generation SET highest = ?, commits = ?", t.highest, t.commits+1); err != nil {
			return err
		}
		if err := t.end(); err != nil {
			return err
		}
		t.commits++
	}
	t.begun, t.stored, t.written = false, t.highest, t.written[:0]
	t.age()
	return nil
}

// end commits what was written.
func (t *tx) end() error {
	if len(t.written) > 0 {
		t.records.begin(t.written)
		defer t.records.end()
	}
	_, err := t.conn.exec("COMMIT")
	return err
}

// rollback ends the transaction as far as SQLite has not done so itself, and
// forgets all that was known of it.
func (t *tx) rollback() {
	t.highest = t.stored
	t.forget()
	if t.begun {
		_, _ = t.conn.exec("ROLLBACK")
	}
	t.begun, t.broken, t.written = false, nil, t.written[:0]
}

// rollbackTo takes back what came since the savepoint of an op, and forgets all that was known.
func (t *tx) rollbackTo() error {
	t.forget()
	_, err := t.conn.exec("ROLLBACK TO op")
	if err == nil {
		t.broken = nil
	}
	return err
}

// observe notes that a statement failed, and returns its error.
func (t *tx) observe(err error) error {
	if err != nil && t.broken == nil {
		t.broken = err
	}
	return err
}

func (t *tx) exec(query string, args ...any) error {
	_, err := t.execCount(query, args...)
	return err
}

// execCount is do, and says how many rows it changed.
func (t *tx) execCount(query string, args ...any) (int64, error) {
	n, _, err := t.insert(query, args...)
	return n, err
}

// insert is change, and says which row was inserted last.
func (t *tx) insert(query string, args ...any) (n, no int64, err error) {
	if err := t.begin(); err != nil {
		return 0, 0, err
	}
	t.changed = true
	r, err := t.conn.exec(query, args...)
	if t.observe(err) != nil {
		return 0, 0, err
	}
	if n, err = r.RowsAffected(); err == nil && n > 0 {
		no, err = r.LastInsertId()
	}
	return n, no, err
}

// queryRow reads a single row; found is false when there is none.
func (t *tx) queryRow(query string, args []any, dest ...any) (found bool, err error) {
	if err := t.begin(); err != nil {
		return false, err
	}
	found, err = t.conn.queryRow(always, query, args, dest...)
	return found, t.observe(err)
}

// queryRows calls f for every row.
func (t *tx) queryRows(query string, args []any, f func(scanner) error) error {
	if err := t.begin(); err != nil {
		return err
	}
	var own error // of f, which is no statement's
	err := t.conn.queryRows(always, query, args, func(r scanner) error {
		own = f(r)
		return own
	})
	if own == nil {
		err = t.observe(err)
	}
	return err
}
