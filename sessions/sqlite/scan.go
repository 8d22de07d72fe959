package sqlite

import (
	"database/sql/driver"
	"fmt"
	"math"
	"reflect"
)

// scanner is a row.
type scanner interface{ Scan(dest ...any) error }

// args is a row of arguments.
func args(a ...any) []any { return a }

// row is the values of a row: int64, string, []byte or nil.
type row []driver.Value

// Scan copies the row into dest: pointers to strings, bytes, integers and
// booleans, and to types made of them.
func (r row) Scan(dest ...any) error {
	if len(dest) != len(r) {
		return fmt.Errorf("%d columns for %d variables", len(r), len(dest))
	}
	for i, v := range r {
		if !assign(dest[i], v) {
			return fmt.Errorf("column %d: a %T does not fit into a %T", i+1, v, dest[i])
		}
	}
	return nil
}

// orNothing is a variable that NULL leaves as it is.
type orNothing struct{ dest any }

func assign(dest any, v driver.Value) bool {
	if d, ok := dest.(orNothing); ok {
		return v == nil || assign(d.dest, v)
	}
	switch v := v.(type) {
	case string:
		switch d := dest.(type) {
		case *string:
			*d = v
			return true
		case *[]byte:
			*d = []byte(v)
			return true
		}
		d := reflect.ValueOf(dest).Elem()
		if d.Kind() != reflect.String {
			return false
		}
		d.SetString(v)
		return true
	case int64:
		return assignNumber(dest, v)
	case []byte:
		switch d := dest.(type) {
		case *[]byte:
			*d = v
			return true
		case *string:
			*d = string(v)
			return true
		}
	case nil:
		if d, ok := dest.(*[]byte); ok {
			*d = nil
			return true
		}
	}
	return false
}

func assignNumber(dest any, v int64) bool {
	switch d := dest.(type) {
	case *int64:
		*d = v
	case *int:
		*d = int(v)
	case *bool:
		*d = v != 0
	case *uint64:
		if v < 0 {
			return false
		}
		*d = uint64(v)
	default:
		d2 := reflect.ValueOf(dest).Elem()
		if !d2.CanInt() || d2.OverflowInt(v) {
			return false
		}
		d2.SetInt(v)
	}
	return true
}

// value is what the driver takes for a.
func value(a any) (driver.Value, error) {
	switch a := a.(type) {
	case string, int64, bool, nil:
		return a, nil
	case []byte:
		if a == nil {
			return nil, nil //nolint:nilnil // NULL
		}
		return a, nil
	case int:
		return int64(a), nil
	case uint64:
		if a > math.MaxInt64 {
			return nil, fmt.Errorf("%d is out of range", a)
		}
		return int64(a), nil
	}
	switch v := reflect.ValueOf(a); {
	case v.Kind() == reflect.String:
		return v.String(), nil
	case v.CanInt():
		return v.Int(), nil
	}
	return nil, fmt.Errorf("a %T cannot be stored", a)
}
