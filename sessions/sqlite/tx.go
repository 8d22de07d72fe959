package sqlite

import "sync/atomic"

// tx is the transaction of the writer, begun by its first statement. Only the
// writer's goroutine uses it.
type tx struct {
	conn *conn
	rowCache
	chats   *atomic.Bool // some chat moved or was shut
	careful bool         // the batch is done again: nothing is guessed
	begun   bool
	changed bool // since it was last set to false, in the database or in what is known

	highest int64 // highest sequence touched in this generation
	stored  int64 // what of it the database has

	commits int64 // ever; those of the database's whole life
}

func (t *tx) begin() error {
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
		if _, err := t.conn.exec("COMMIT"); err != nil {
			return err
		}
		t.commits++
	}
	t.begun, t.stored = false, t.highest
	t.age()
	return nil
}

// rollback ends the transaction as far as SQLite has not done so itself, and
// forgets all that was known of it.
func (t *tx) rollback() {
	t.highest = t.stored
	t.forget()
	if t.begun {
		_, _ = t.conn.exec("ROLLBACK")
	}
	t.begun = false
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
	if err != nil {
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
	return t.conn.queryRow(always, query, args, dest...)
}

// queryRows calls f for every row.
func (t *tx) queryRows(query string, args []any, f func(scanner) error) error {
	if err := t.begin(); err != nil {
		return err
	}
	return t.conn.queryRows(always, query, args, f)
}
