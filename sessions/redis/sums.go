package redis

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/costs"
	"parley/sessions"
)

// amount is an amount in a request: numbers of Lua do not hold all.
func amount(a costs.Amount) string { return strconv.FormatInt(int64(a), 10) }

func readAmount(s string) (costs.Amount, error) {
	n, err := number(s)
	if err != nil {
		return 0, fmt.Errorf("an amount: %w", err)
	}
	return costs.Amount(n), nil
}

// amount is a column of a row.
func (r *reader) amount(name string) costs.Amount { return costs.Amount(r.int(name)) }

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

// scopeName is a scope in one of its windows.
func scopeName(s sessions.Scope, at time.Time) string { return id(s.Kind, s.ID, s.Window.Name(at)) }

// scope is a sessions.Scope in a request: its name, its limit, and whether its
// window never ends.
type scope [3]any

func scopesOf(ss []sessions.Scope, at time.Time) []scope {
	named := make([]scope, len(ss))
	for i, s := range ss {
		named[i] = scope{scopeName(s, at), amount(max(s.Limit, 0)), s.Window == costs.Always}
	}
	return named
}

// moment is a time in a request, as the scripts of money need it.
type moment struct {
	At    int64  `json:"at"`
	Day   string `json:"day"`
	Order string `json:"order"` // sorts as the times do
}

func momentOf(t time.Time) moment {
	return moment{At: micros(t), Day: costs.Day.Name(t), Order: order(t)}
}

// order is 20 digits that sort as the times do, those before 1970 too.
func order(t time.Time) string { return fmt.Sprintf("%020d", uint64(micros(t))^1<<63) }

// timeOf is the time of an order.
func timeOf(order string) (time.Time, error) {
	n, err := strconv.ParseUint(order, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("a time: %w", err)
	}
	return instant(int64(n ^ 1<<63)), nil
}

// text is v as JSON.
func text(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(b), nil
}
