package redis

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/costs"
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

// amountText is an amount in a request: numbers of Lua do not hold all.
func amountText(a costs.Amount) string { return strconv.FormatInt(int64(a), 10) }

func readAmount(s string) (costs.Amount, error) {
	n, err := parseNumber(s)
	if err != nil {
		return 0, fmt.Errorf("an amount: %w", err)
	}
	return costs.Amount(n), nil
}

// id joins texts as the scripts do.
func id(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strconv.Itoa(len(p)))
		b.WriteByte(':')
		b.WriteString(p)
	}
	return b.String()
}

// timeOrder is 20 digits that sort as the times do, those before 1970 too.
func timeOrder(t time.Time) string { return fmt.Sprintf("%020d", uint64(micros(t))^1<<63) }

// timeOf is the time of an order.
func timeOf(order string) (time.Time, error) {
	n, err := strconv.ParseUint(order, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("a time: %w", err)
	}
	return instant(int64(n ^ 1<<63)), nil
}

// jsonText is v as JSON.
func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(b), nil
}

// splitID takes an id of n texts apart.
func splitID(joined string, n int) ([]string, error) {
	var ps []string
	for rest := joined; rest != ""; {
		length, after, found := strings.Cut(rest, ":")
		size, err := strconv.Atoi(length)
		if !found || err != nil || size < 0 || size > len(after) {
			return nil, fmt.Errorf("%q is no id of %d texts", joined, n)
		}
		ps, rest = append(ps, after[:size]), after[size:]
	}
	if len(ps) != n {
		return nil, fmt.Errorf("%q is no id of %d texts", joined, n)
	}
	return ps, nil
}
