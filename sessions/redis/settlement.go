package redis

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"parley/costs"
)

// settlement is an entry in a request: what charge.book takes. Scripts that take
// one use the libraries turn, money, spend and charge.
type settlement struct {
	moment
	ID       string        `json:"id"`
	Amount   string        `json:"amount"`
	Keep     string        `json:"keep"` // what an interrupted call may still have cost
	Unpriced int           `json:"unpriced"`
	Purpose  costs.Purpose `json:"purpose"`
	Step     int           `json:"step"`
	Labels   string        `json:"labels"`
	Columns  []string      `json:"columns"` // see usedColumns
	Entry    string        `json:"entry"`
	Price    string        `json:"price"` // empty: none was known
}

// storedEntry is an entry without what stands beside it.
type storedEntry struct {
	costs.Entry
	Price *costs.Price `json:"price,omitempty"`
	At    *int         `json:"at,omitempty"`
}

func settlementOf(e costs.Entry) (settlement, error) {
	if e.Amount < 0 || e.Upper < 0 {
		return settlement{}, errors.New("the entry's amount is negative")
	}
	s := settlement{
		moment: momentOf(e.At), ID: e.ID, Amount: amount(e.Amount), Keep: "0",
		Purpose: e.Call.Purpose, Step: e.Call.Step, Columns: usedColumns(e),
	}
	if e.State == costs.Interrupted {
		s.Keep = amount(max(0, e.Upper-e.Amount))
	}
	if !e.Priced {
		s.Unpriced = 1
	}
	var err error
	if s.Labels, err = text(e.Labels); err != nil {
		return settlement{}, err
	}
	if s.Entry, err = text(storedEntry{Entry: e}); err != nil {
		return settlement{}, err
	}
	if e.Price != nil {
		s.Price, err = text(e.Price)
	}
	return s, err
}

// dangling is the entry of a reservation that nobody settles, but for its time.
func dangling(r costs.Reservation) (string, error) {
	s, err := settlementOf(costs.Entry{
		ID: r.ID, Call: r.Estimate.Call, Labels: r.Estimate.Labels, Usage: costs.Usage{Source: costs.Estimated},
		Upper: r.Estimate.Upper, Priced: r.Estimate.Priced, State: costs.Interrupted, Outcome: "interrupted",
	})
	if err != nil {
		return "", err
	}
	return text(s)
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

// usedColumns are texts; the scripts add the session and its agent.
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
