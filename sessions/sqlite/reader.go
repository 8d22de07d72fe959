package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
)

// readers is how many reads may run at once; more wait for their turn.
const readers = 8

// pool has room for every reader; nil stands for one that is not connected yet.
type pool struct {
	path   string
	free   chan *conn
	closed chan struct{} // closed when no more reads are begun
}

func newPool(path string) *pool {
	p := &pool{path: path, free: make(chan *conn, readers), closed: make(chan struct{})}
	for range readers {
		p.free <- nil
	}
	return p
}

// close waits for the reads under way.
func (p *pool) close() error {
	close(p.closed)
	var errs []error
	for range readers {
		if r := <-p.free; r != nil {
			errs = append(errs, r.close())
		}
	}
	return errors.Join(errs...)
}

func (p *pool) take(ctx context.Context) (*conn, error) {
	select {
	case <-p.closed:
		return nil, errClosed
	default:
	}
	select {
	case <-p.closed:
		return nil, errClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case r := <-p.free:
		if r != nil {
			return r, nil
		}
	}
	c, err := connect(p.path, url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)"}})
	if err != nil {
		p.free <- nil
		return nil, fmt.Errorf("connect to read: %w", err)
	}
	return c, nil
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
	defer func() { p.free <- c }()
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
