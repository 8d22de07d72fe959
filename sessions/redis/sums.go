package redis

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/costs"
)

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
