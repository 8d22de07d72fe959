package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// readers is how many reads may run at once; more wait for their turn.
const readers = 8

// statements are the prepared reads, made when first used.
type statements struct {
	mu   sync.Mutex
	kept map[string]*sql.Stmt
}

func (s *Store) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	s.stmts.mu.Lock()
	defer s.stmts.mu.Unlock()
	if p, ok := s.stmts.kept[query]; ok {
		return p, nil
	}
	p, err := s.reads.PrepareContext(ctx, query)
	if err != nil {
		return nil, explain(err)
	}
	if s.stmts.kept == nil {
		s.stmts.kept = map[string]*sql.Stmt{}
	}
	s.stmts.kept[query] = p
	return p, nil
}

// one reads a single row outside of the writer.
func (s *Store) one(ctx context.Context, query string, args []any, dest ...any) (found bool, err error) {
	p, err := s.stmt(ctx, query)
	if err != nil {
		return false, err
	}
	err = p.QueryRowContext(ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, explain(err)
}

// each reads many rows outside of the writer.
func (s *Store) each(ctx context.Context, query string, args []any, f func(scanner) error) error {
	p, err := s.stmt(ctx, query)
	if err != nil {
		return err
	}
	rows, err := p.QueryContext(ctx, args...)
	if err != nil {
		return explain(err)
	}
	return explain(drain(rows, f))
}

// snapshot runs f over one state of the database, whatever is written meanwhile.
func (s *Store) snapshot(ctx context.Context, f func(*view) error) error {
	t, err := s.reads.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin to read: %w", explain(err))
	}
	defer t.Rollback() //nolint:errcheck // nothing was written
	return explain(f(&view{ctx: ctx, s: s, tx: t}))
}

// view is one state of the database.
type view struct {
	ctx context.Context
	s   *Store
	tx  *sql.Tx
}

func (v *view) one(query string, args []any, dest ...any) (bool, error) {
	p, err := v.s.stmt(v.ctx, query)
	if err != nil {
		return false, err
	}
	err = v.tx.StmtContext(v.ctx, p).QueryRowContext(v.ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (v *view) each(query string, args []any, f func(scanner) error) error {
	p, err := v.s.stmt(v.ctx, query)
	if err != nil {
		return err
	}
	rows, err := v.tx.StmtContext(v.ctx, p).QueryContext(v.ctx, args...)
	if err != nil {
		return err
	}
	return drain(rows, f)
}

// direct reads without a snapshot: each query for itself.
type direct struct {
	ctx context.Context
	s   *Store
}

func (d direct) one(query string, args []any, dest ...any) (bool, error) {
	return d.s.one(d.ctx, query, args, dest...)
}

func (d direct) each(query string, args []any, f func(scanner) error) error {
	return d.s.each(d.ctx, query, args, f)
}
