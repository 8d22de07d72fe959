package sqlite

import (
	"database/sql/driver"
	"fmt"

	"parley/sessions/rules"
)

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
