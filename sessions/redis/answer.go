package redis

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"parley/sessions/rules"
)

// errEra is what a script, or the greeting of a connection, says to a client that has
// not heard of a failover.
var errEra = errors.New("the database is another one than before")

// answer is what a script returned. Reading what is not there gives nothing.
type answer []any

func (a answer) at(i int) any {
	if i >= len(a) {
		return nil
	}
	return a[i]
}

// text is element i.
func (a answer) text(i int) string {
	switch v := a.at(i).(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

func (a answer) bool(i int) bool { return a.text(i) == "1" }

func (a answer) int(i int) (int64, error) { return parseNumber(a.text(i)) }

// list is element i.
func (a answer) list(i int) answer {
	l, _ := a.at(i).([]any)
	return l
}

// texts is element i as a list of texts; nil: none.
func (a answer) texts(i int) []string {
	var ts []string
	l := a.list(i)
	for k := range l {
		ts = append(ts, l.text(k))
	}
	return ts
}

// load reads the elements into what places point to, in their order; see rules.Load. An
// element that is nothing is empty.
func (a answer) load(places ...any) error {
	for i, at := range places {
		if err := rules.Load(at, a.text(i)); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

// row is element i as names and texts.
func (a answer) row(i int) row {
	l := a.list(i)
	r := make(row, len(l)/2)
	for k := 0; k+1 < len(l); k += 2 {
		r[l.text(k)] = l.text(k + 1)
	}
	return r
}

// row is a hash of Redis.
type row map[string]string

// int is a number of the row; one that is none is 0.
func (r row) int(name string) int64 {
	n, _ := parseNumber(r[name])
	return n
}

// parseNumber is 0 for an empty text.
func parseNumber(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	return strconv.ParseInt(s, 10, 64)
}

// Times are kept in microseconds; the zero time is one of them.
func micros(t time.Time) int64 { return t.UnixMicro() }

func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }
