package redis

import (
	"encoding/json"
	"fmt"
	"strconv"

	"parley/costs"
	"parley/sessions"
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

// usageEntry is what usage sums up of an entry.
type usageEntry struct {
	sessions.Usage // of one call
	labels         costs.Labels
}

func usedOf(e costs.Entry) usageEntry {
	u := sessions.Usage{
		Amount: e.Amount, Calls: 1, Input: e.Usage.Input, CacheRead: e.Usage.CacheRead,
		CacheWrite: e.Usage.CacheWrite5m + e.Usage.CacheWrite1h, Output: e.Usage.Output, Reasoning: e.Usage.Reasoning,
	}
	if !e.Priced {
		u.Unpriced = 1
	}
	if e.State == costs.Interrupted {
		u.Interrupted = 1
	}
	return usageEntry{u, e.Labels}
}

// usedColumns are texts; the session and its agent come behind them.
func usedColumns(e costs.Entry) []string {
	u := usedOf(e)
	var cs []string
	for _, n := range numbersOf(&u.Usage) {
		cs = append(cs, strconv.FormatInt(*n, 10))
	}
	return append(cs, u.labels.Provider, u.labels.Model, u.labels.Channel, string(u.labels.Purpose))
}

// numbersOf are the sums of usage but for its calls, in the order in which they are
// stored.
func numbersOf(u *sessions.Usage) []*int64 {
	return []*int64{
		(*int64)(&u.Amount), &u.Unpriced, &u.Interrupted, &u.Input, &u.CacheRead, &u.CacheWrite, &u.Output, &u.Reasoning,
	}
}

// readUsed reads usedColumns, and what the scripts added to them.
func readUsed(body string) (u usageEntry, session, agent string, err error) {
	var cs []string
	if err := json.Unmarshal([]byte(body), &cs); err != nil {
		return u, "", "", fmt.Errorf("decode what was used: %w", err)
	}
	u.Calls = 1
	numbers := numbersOf(&u.Usage)
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
