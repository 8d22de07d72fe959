package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// tx is the open transaction of the writer. Its statements are prepared once
// and kept. Only the writer's goroutine uses it.
type tx struct {
	conn  *sql.Conn
	stmts map[string]kept

	highest int64 // highest sequence touched in this generation
	stored  int64 // what of it the transaction has stored
}

// scanner is a row: of a single answer or of many.
type scanner interface{ Scan(dest ...any) error }

// Statements of the writer are never interrupted: a transaction has the writes
// of many callers.
var always = context.Background()

// kept is a prepared statement that lives as long as its connection.
type kept struct{ *sql.Stmt }

func (t *tx) stmt(query string) (kept, error) {
	if s, ok := t.stmts[query]; ok {
		return s, nil
	}
	s, err := t.conn.PrepareContext(always, query)
	if err != nil {
		return kept{}, err
	}
	t.stmts[query] = kept{s}
	return kept{s}, nil
}

func (t *tx) begin() error {
	t.stored = t.highest
	return t.do("BEGIN IMMEDIATE")
}

func (t *tx) commit() error {
	if t.highest != t.stored {
		if err := t.do("UPDATE generation SET highest = ?", t.highest); err != nil {
			return err
		}
	}
	return t.do("COMMIT")
}

// rollback ends the transaction as far as SQLite has not done so itself.
func (t *tx) rollback() {
	t.highest = t.stored
	_ = t.do("ROLLBACK")
}

func (t *tx) do(query string, args ...any) error {
	_, err := t.change(query, args...)
	return err
}

// change is do, and says how many rows it changed.
func (t *tx) change(query string, args ...any) (int64, error) {
	s, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(always, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// one reads a single row; found is false when there is none.
func (t *tx) one(query string, args []any, dest ...any) (found bool, err error) {
	s, err := t.stmt(query)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(always, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each calls f for every row.
func (t *tx) each(query string, args []any, f func(scanner) error) error {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(always, args...)
	if err != nil {
		return err
	}
	return drain(rows, f)
}

func drain(rows *sql.Rows, f func(scanner) error) error {
	defer rows.Close() //nolint:errcheck // rows.Err says it
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// args is a row of arguments.
func args(a ...any) []any { return a }
