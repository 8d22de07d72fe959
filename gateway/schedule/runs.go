package schedule

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parley/costs"
	"parley/gateway/messages"
	"parley/sessions"
)

// LookedBack is how far back it is counted what runs have cost.
const LookedBack = 30 * 24 * time.Hour

// Sessions lists root sessions.
type Sessions interface {
	Sessions(ctx context.Context, q sessions.SessionQuery) ([]sessions.Session, error)
}

// Runs are runs of one job or of several, and what the ledger says of them, sub-agents included.
type Runs struct {
	N        int
	Cost     costs.Amount
	Unpriced int // runs of which the cost of some calls is not known, nor in Cost

	priced []costs.Amount // of each whose cost is known
}

// with returns the runs with one more.
func (r Runs) with(s sessions.Session) (Runs, error) {
	sum, err := costs.SumOf(r.Cost, s.Subtree)
	if err != nil {
		return r, fmt.Errorf("add up the runs of a job: %w", err)
	}
	r.N, r.Cost = r.N+1, sum
	if s.Unpriced > 0 {
		r.Unpriced++
	} else {
		r.priced = append(slices.Clip(r.priced), s.Subtree)
	}
	return r, nil
}

// Median returns what the middle one of the runs cost whose cost is known, and how many those are.
func (r Runs) Median() (costs.Amount, int) {
	if len(r.priced) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(r.priced))
	return sorted[len(sorted)/2], len(sorted)
}

// FindRuns returns the runs since a moment of the jobs that fit, together under what fits says of each;
// false: it does not. Each run has a session of its own; it looks at the latest of all, so many at
// most.
func FindRuns(ctx context.Context, s Sessions, since time.Time, most int, fits func(job, agent string) (string, bool)) (map[string]Runs, error) {
	all, err := s.Sessions(ctx, sessions.SessionQuery{Since: since, Limit: most})
	if err != nil {
		return nil, fmt.Errorf("look for the runs of jobs: %w", err)
	}
	found := map[string]Runs{}
	for _, one := range all {
		job := messages.JobOfKey(one.Key)
		if job == "" || one.Messages == 0 {
			continue
		}
		name, ok := fits(job, one.Key.Agent())
		if !ok {
			continue
		}
		if found[name], err = found[name].with(one); err != nil {
			return nil, err
		}
	}
	return found, nil
}
