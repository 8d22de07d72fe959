package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"

	"parley/sessions/rules"

	sqlite "modernc.org/sqlite"
)

// conn is one connection with its prepared statements. It speaks to the driver
// without database/sql, whose locks, pools and conversions cost about as much
// as the statements themselves. One goroutine uses it at a time, and no
// statement is run again while its rows are read.
type conn struct {
	driver.Conn
	stmts map[string]*stmt
	bound []driver.NamedValue // reused by each statement
	ran   int64               // statements so far
	trace func(query string)  // hears of each; nil: nobody does
}

// stmt is a prepared statement, and room for one of its rows.
type stmt struct {
	driver.Stmt
	row row
}

// Short statements are never interrupted: the driver starts a goroutine for
// each one that may be.
var always = context.Background()

// connect opens the file. trace, if there is one, hears of each statement.
func connect(path string, params url.Values, trace func(query string)) (*conn, error) {
	q := url.Values{"_busy_timeout": {"5000"}, "_dqs": {"0"}}
	for k, v := range params {
		q[k] = v
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	c, err := new(sqlite.Driver).Open(u.String())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &conn{Conn: c, stmts: map[string]*stmt{}, trace: trace}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	clear(c.stmts)
	return errors.Join(append(errs, c.Close())...)
}

// prepare prepares a statement once.
func (c *conn) prepare(query string) (*stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	s, err := c.Prepare(query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = &stmt{Stmt: s}
	return c.stmts[query], nil
}

func (c *conn) bind(args []any) ([]driver.NamedValue, error) {
	c.bound = c.bound[:0]
	for i, a := range args {
		v, err := rules.Stored(a)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i+1, err)
		}
		c.bound = append(c.bound, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return c.bound, nil
}

// count notes that a statement is run.
func (c *conn) count(query string) {
	c.ran++
	if c.trace != nil {
		c.trace(query)
	}
}

// exec performs a statement that yields no rows.
func (c *conn) exec(query string, args ...any) (driver.Result, error) {
	s, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	bound, err := c.bind(args)
	if err != nil {
		return nil, err
	}
	c.count(query)
	return s.Stmt.(driver.StmtExecContext).ExecContext(always, bound)
}

// execScript performs several statements, which are not kept.
func (c *conn) execScript(ctx context.Context, text string) error {
	_, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, text, nil)
	return err
}

// queryRows calls f for each row until it returns an error, of which errEnough is
// none. Only a ctx that can end interrupts the statement.
//
// No statement has a variable as its limit: SQLite would plan it anew each time.
func (c *conn) queryRows(ctx context.Context, query string, args []any, f func(scanner) error) (err error) {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	bound, err := c.bind(args)
	if err != nil {
		return err
	}
	c.count(query)
	rs, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, bound)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rs.Close()) }()
	if s.row == nil {
		s.row = make(row, len(rs.Columns()))
	}
	for {
		if err := rs.Next(s.row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := f(s.row); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// queryRow reads the first row; found is false when there is none.
func (c *conn) queryRow(ctx context.Context, query string, args []any, dest ...any) (found bool, err error) {
	err = c.queryRows(ctx, query, args, func(r scanner) error {
		found = true
		if err := r.Scan(dest...); err != nil {
			return err
		}
		return errEnough
	})
	return found, err
}

// errEnough ends the reading of rows.
var errEnough = errors.New("enough rows")

// scanner is a row.
type scanner interface{ Scan(dest ...any) error }

// args is a row of arguments.
func args(a ...any) []any { return a }

// row is the values of a row: int64, string, []byte or nil.
type row []driver.Value

// Scan copies the row to where dest points; see rules.Load.
func (r row) Scan(dest ...any) error {
	if len(dest) != len(r) {
		return fmt.Errorf("%d columns for %d variables", len(r), len(dest))
	}
	for i, v := range r {
		at := dest[i]
		if d, ok := at.(nullable); ok {
			if at = d.dest; v == nil {
				continue
			}
		}
		if err := rules.Load(at, v); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

// nullable is a variable that NULL leaves as it is.
type nullable struct{ dest any }
