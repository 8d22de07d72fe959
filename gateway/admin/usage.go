package admin

import (
	"net/http"
	"slices"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// Grouping describes what usage is summed up by: model, channel, agent, purpose, day
// or session.
type Grouping = sessions.Grouping

// Groupings are all there are.
func Groupings() []Grouping { return sessions.Groupings() }

// UsageQuery sets which calls are summed up, and by what.
type UsageQuery struct {
	Since time.Time // booked then or later; zero: all
	By    Grouping
}

// UsageReport is an answer of [Client.Usage]: the ledger's own sums, exact.
type UsageReport struct {
	Now    time.Time `json:"now"`
	Since  time.Time `json:"since,omitzero"`
	By     Grouping  `json:"by"`
	Groups []Usage   `json:"groups"` // the dearest first; days in their order
	Total  Usage     `json:"total"`
}

// Usage is what one group of calls used. Tokens are of disjoint kinds, but for
// reasoning, which is part of the output.
type Usage struct {
	Group string `json:"group,omitempty"`
	Title string `json:"title,omitempty"` // of the session that is the group
	Calls int64  `json:"calls"`           // every attempt
	Cost  USD    `json:"cost_usd"`
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

func (s *Server) usage(r *http.Request) (any, error) {
	q := r.URL.Query()
	by := sessions.Grouping(q.Get("by"))
	if !slices.Contains(sessions.Groupings(), by) {
		return nil, newError(Invalid, "usage is summed up by %v, not by %q", sessions.Groupings(), string(by))
	}
	since, err := parseTime(q.Get("since"))
	if err != nil {
		return nil, err
	}
	found, err := s.o.Store.Usage(r.Context(), sessions.UsageQuery{Since: since, By: by})
	if err != nil {
		return nil, err
	}
	report := UsageReport{Now: s.o.Now().UTC(), Since: since.UTC(), By: by, Groups: []Usage{}}
	var sum []costs.Amount
	t := &report.Total
	for _, f := range found {
		one := usageOf(f)
		if by == sessions.BySession {
			if one.Title, err = s.titleOf(r.Context(), sessionkeys.SessionID(f.Group)); err != nil {
				return nil, err
			}
		}
		report.Groups = append(report.Groups, one)
		sum = append(sum, f.Amount)
		t.Calls += f.Calls
		t.Unpriced += f.Unpriced
		t.Interrupted += f.Interrupted
		t.Input += f.Input
		t.CacheRead += f.CacheRead
		t.CacheWrite += f.CacheWrite
		t.Output += f.Output
		t.Reasoning += f.Reasoning
	}
	total, err := costs.SumOf(sum...)
	t.Cost = USD(total)
	return report, err
}
