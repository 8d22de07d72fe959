package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// readers is how many reads may run at once; more wait for their turn.
const readers = 8

// reader is one connection that reads, with its prepared statements. It is
// used by one caller at a time.
type reader struct {
	conn  *sql.Conn
	stmts map[string]kept
}

// pool has room for every reader; nil stands for one that is not connected yet.
type pool struct {
	db   *sql.DB
	free chan *reader
	shut chan struct{} // closed when no more reads are begun
}

func newPool(db *sql.DB) *pool {
	p := &pool{db: db, free: make(chan *reader, readers), shut: make(chan struct{})}
	for range readers {
		p.free <- nil
	}
	return p
}

// close waits for the reads under way.
func (p *pool) close() error {
	close(p.shut)
	var errs []error
	for range readers {
		if r := <-p.free; r != nil {
			errs = append(errs, r.close())
		}
	}
	return errors.Join(append(errs, p.db.Close())...)
}

func (r *reader) close() error {
	for _, s := range r.stmts {
		_ = s.Close()
	}
	return r.conn.Close()
}

func (p *pool) take(ctx context.Context) (*reader, error) {
	select {
	case <-p.shut:
		return nil, errClosed
	default:
	}
	select {
	case <-p.shut:
		return nil, errClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case r := <-p.free:
		if r != nil {
			return r, nil
		}
	}
	conn, err := p.db.Conn(ctx)
	if err != nil {
		p.free <- nil
		return nil, fmt.Errorf("connect to read: %w", err)
	}
	return &reader{conn: conn, stmts: map[string]kept{}}, nil
}

// read runs f on a reader of its own, where each query sees what is newest.
func (s *Store) read(ctx context.Context, f func(*view) error) error {
	r, err := s.readers.take(ctx)
	if err != nil {
		return explain(err)
	}
	defer func() { s.readers.free <- r }()
	return explain(f(&view{ctx: ctx, r: r}))
}

// snapshot runs f over one state of the database, whatever is written meanwhile.
func (s *Store) snapshot(ctx context.Context, f func(*view) error) error {
	return s.read(ctx, func(v *view) error {
		begin, err := v.stmt("BEGIN")
		if err != nil {
			return fmt.Errorf("begin to read: %w", err)
		}
		end, err := v.stmt("ROLLBACK")
		if err != nil {
			return fmt.Errorf("begin to read: %w", err)
		}
		if _, err := begin.ExecContext(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("begin to read: %w", err)
		}
		err = f(v)
		if _, e := end.ExecContext(context.WithoutCancel(ctx)); e != nil {
			err = errors.Join(err, fmt.Errorf("end reading: %w", e))
		}
		return err
	})
}

// view reads on one connection.
type view struct {
	ctx context.Context
	r   *reader
}

func (v *view) stmt(query string) (kept, error) {
	if s, ok := v.r.stmts[query]; ok {
		return s, nil
	}
	s, err := v.r.conn.PrepareContext(v.ctx, query)
	if err != nil {
		return kept{}, err
	}
	v.r.stmts[query] = kept{s}
	return kept{s}, nil
}

func (v *view) one(query string, args []any, dest ...any) (found bool, err error) {
	s, err := v.stmt(query)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(v.ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (v *view) each(query string, args []any, f func(scanner) error) error {
	s, err := v.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(v.ctx, args...)
	if err != nil {
		return err
	}
	return drain(rows, f)
}

// direct reads with one query at a time.
type direct struct {
	ctx context.Context
	s   *Store
}

func (d direct) one(query string, args []any, dest ...any) (found bool, err error) {
	err = d.s.read(d.ctx, func(v *view) (err error) {
		found, err = v.one(query, args, dest...)
		return err
	})
	return found, err
}

func (d direct) each(query string, args []any, f func(scanner) error) error {
	return d.s.read(d.ctx, func(v *view) error { return v.each(query, args, f) })
}

func (s *Store) one(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	return direct{ctx, s}.one(query, args, dest...)
}

func (s *Store) each(ctx context.Context, query string, args []any, f func(scanner) error) error {
	return direct{ctx, s}.each(query, args, f)
}
