package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// Grouping describes what usage is summed up by: model, channel, agent, purpose, day,
// session, person or group.
type Grouping = sessions.Grouping

// What usage is summed up by beside what the store sums up by itself: people and groups are known
// from the turns for which calls were made.
const (
	ByPerson Grouping = "person" // instance and network's id of who asked; the job whose run it was
	ByGroup  Grouping = "group"  // instance and network's id; all direct messages are one
)

// Groupings are all there are.
func Groupings() []Grouping { return append(sessions.Groupings(), ByPerson, ByGroup) }

// UsageQuery sets which calls are summed up, and by what.
type UsageQuery struct {
	Since, Until time.Time // booked in [Since, Until); zero: no bound
	By           Grouping
	Also         []Grouping // by which each group is divided further
}

func (q UsageQuery) groupings() []Grouping { return append([]Grouping{q.By}, q.Also...) }

// UsageReport is an answer of [Client.Usage]: the ledger's own sums, exact.
type UsageReport struct {
	Now   time.Time `json:"now"`
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	By    Grouping  `json:"by"`
	// Also is what each group is divided by further.
	Also   []Grouping `json:"also,omitempty"`
	Groups []Usage    `json:"groups"` // the dearest first; days in their order
	Total  Usage      `json:"total"`
}

// Usage is what one group of calls used. Tokens are of disjoint kinds, but for
// reasoning, which is part of the output.
type Usage struct {
	Group string `json:"group,omitempty"`
	// Also are the further groups that it is in, as UsageReport.Also names them.
	Also  []string `json:"also,omitempty"`
	Title string   `json:"title,omitempty"` // of the session that is the group
	Calls int64    `json:"calls"`           // every attempt
	Cost  USD      `json:"cost_usd"`
	// Unpriced calls have no known price: what they cost is not in Cost.
	Unpriced int64 `json:"unpriced"`
	// Interrupted calls may have cost more than Cost says.
	Interrupted int64 `json:"interrupted"`

	Input      int64 `json:"input_tokens"` // neither read from nor written to a cache
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_tokens"` // of the output
}

func usageOf(u sessions.Usage) Usage {
	return Usage{
		Group: u.Group, Calls: u.Calls, Cost: USD(u.Amount), Unpriced: u.Unpriced, Interrupted: u.Interrupted,
		Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output, Reasoning: u.Reasoning,
	}
}

func (desk budgetDesk) usage(r *http.Request) (any, error) {
	q, err := readUsage(r)
	if err != nil {
		return nil, err
	}
	groups, err := desk.sumUp(r.Context(), q)
	if err != nil {
		return nil, err
	}
	report := UsageReport{Now: desk.o.Now().UTC(), Since: q.Since.UTC(), Until: q.Until.UTC(), By: q.By, Also: q.Also, Groups: []Usage{}}
	var sum []costs.Amount
	t := &report.Total
	for _, one := range groups {
		if q.By == sessions.BySession {
			if one.Title, err = treeDesk(desk).titleOf(r.Context(), sessionkeys.SessionID(one.Group)); err != nil {
				return nil, err
			}
		}
		report.Groups = append(report.Groups, one)
		sum = append(sum, costs.Amount(one.Cost))
		t.Calls += one.Calls
		t.Unpriced += one.Unpriced
		t.Interrupted += one.Interrupted
		t.Input += one.Input
		t.CacheRead += one.CacheRead
		t.CacheWrite += one.CacheWrite
		t.Output += one.Output
		t.Reasoning += one.Reasoning
	}
	total, err := costs.SumOf(sum...)
	t.Cost = USD(total)
	return report, err
}

// readUsage reads what is asked.
func readUsage(r *http.Request) (q UsageQuery, err error) {
	v := r.URL.Query()
	for name := range strings.SplitSeq(v.Get("by"), ",") {
		by := Grouping(name)
		if !slices.Contains(Groupings(), by) {
			return q, newError(Invalid, "usage is summed up by %v, not by %q", Groupings(), name)
		}
		switch {
		case q.By == "":
			q.By = by
		case slices.Contains(q.groupings(), by):
			return q, newError(Invalid, "usage is summed up by %s once", name)
		default:
			q.Also = append(q.Also, by)
		}
	}
	if q.Since, err = parseTime(v.Get("since")); err != nil {
		return q, err
	}
	q.Until, err = parseTime(v.Get("until"))
	if err == nil && !q.Until.IsZero() && !q.Until.After(q.Since) {
		err = newError(Invalid, "usage is summed up until a time that is after since")
	}
	return q, err
}

// sumUp returns the sums: the store's own where that has them.
func (desk budgetDesk) sumUp(ctx context.Context, q UsageQuery) (groups []Usage, err error) {
	if len(q.Also) > 0 || !slices.Contains(sessions.Groupings(), q.By) {
		return desk.readUp(ctx, q)
	}
	found, err := desk.o.Store.Usage(ctx, sessions.UsageQuery{Since: q.Since, Until: q.Until, By: q.By})
	for _, f := range found {
		groups = append(groups, usageOf(f))
	}
	return groups, err
}
