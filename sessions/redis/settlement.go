package redis

import (
	"encoding/json"
	"fmt"
	"strconv"

	"parley/costs"
)

// settlement is what was stored of an open call by an earlier version: an interrupted
// entry for it.
type settlement struct {
	Entry string `json:"entry"`
}

// storedEntry is an entry without what stands beside it.
type storedEntry struct {
	costs.Entry
	Price *costs.Price `json:"price,omitempty"`
	At    *int         `json:"at,omitempty"`
}

// used is what usage sums up of an entry.
type used struct {
	amount                                          costs.Amount
	unpriced, interrupted                           int64
	input, cacheRead, cacheWrite, output, reasoning int64
	labels                                          costs.Labels
}

func usedOf(e costs.Entry) used {
	u := used{
		amount: e.Amount, labels: e.Labels, input: e.Usage.Input, cacheRead: e.Usage.CacheRead,
		cacheWrite: e.Usage.CacheWrite5m + e.Usage.CacheWrite1h, output: e.Usage.Output, reasoning: e.Usage.Reasoning,
	}
	if !e.Priced {
		u.unpriced = 1
	}
	if e.State == costs.Interrupted {
		u.interrupted = 1
	}
	return u
}

// usedColumns are texts; the session and its agent come behind them.
func usedColumns(e costs.Entry) []string {
	u := usedOf(e)
	var cs []string
	for _, n := range u.numbers() {
		cs = append(cs, strconv.FormatInt(*n, 10))
	}
	return append(cs, u.labels.Provider, u.labels.Model, u.labels.Channel, string(u.labels.Purpose))
}

func (u *used) numbers() []*int64 {
	return []*int64{
		(*int64)(&u.amount), &u.unpriced, &u.interrupted, &u.input, &u.cacheRead, &u.cacheWrite, &u.output, &u.reasoning,
	}
}

// readUsed reads usedColumns, and what the scripts added to them.
func readUsed(body string) (u used, session, agent string, err error) {
	var cs []string
	if err := json.Unmarshal([]byte(body), &cs); err != nil {
		return u, "", "", fmt.Errorf("decode what was used: %w", err)
	}
	numbers := u.numbers()
	if len(cs) != len(numbers)+6 {
		return u, "", "", fmt.Errorf("what was used has %d columns", len(cs))
	}
	for i, n := range numbers {
		if *n, err = strconv.ParseInt(cs[i], 10, 64); err != nil {
			return u, "", "", fmt.Errorf("decode what was used: %w", err)
		}
	}
	cs = cs[len(numbers):]
	u.labels = costs.Labels{Provider: cs[0], Model: cs[1], Channel: cs[2], Purpose: costs.Purpose(cs[3])}
	return u, cs[4], cs[5], nil
}
