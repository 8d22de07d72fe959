package ops

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/costs"
)

// BudgetAll names the budget over all channels.
const BudgetAll = "all"

// Budget describes spending to export: of all channels or of one, in a window of time.
type Budget struct {
	Scope  string       // global or channel
	Name   string       // BudgetAll, or the channel's
	Window string       // day or month, in UTC
	Limit  costs.Amount // 0: none was configured
	// Raised returns by how much it is higher for a while; nil: it never is.
	Raised func(ctx context.Context, at time.Time) (costs.Amount, error)
	// Spent returns what was settled in the window of at, and what is held there.
	Spent func(ctx context.Context, at time.Time) (settled, held costs.Amount, err error)
}

func (s *Shared) collectBudgets(ctx context.Context, now time.Time) (ms []prometheus.Metric) {
	if s.Budgets == nil {
		return nil
	}
	for _, b := range s.Budgets() {
		if b.Limit > 0 {
			ms = append(ms, s.collectLimit(ctx, now, b)...)
		}
		spent, held, err := b.Spent(ctx, now)
		if err != nil {
			ms = append(ms, missingMetrics(err, s.descs.spent, s.descs.held)...)
			continue
		}
		ms = append(ms, constGauge(s.descs.spent, spent.Dollars(), b.Scope, b.Name, b.Window),
			constGauge(s.descs.held, held.Dollars(), b.Scope, b.Name, b.Window))
	}
	return ms
}

// collectLimit returns what a budget is at present.
func (s *Shared) collectLimit(ctx context.Context, now time.Time, b Budget) []prometheus.Metric {
	limit := b.Limit
	if b.Raised != nil {
		more, err := b.Raised(ctx, now)
		if err == nil {
			limit, err = limit.Add(more)
		}
		if err != nil {
			return missingMetrics(err, s.descs.limit)
		}
	}
	return []prometheus.Metric{constGauge(s.descs.limit, limit.Dollars(), b.Scope, b.Name, b.Window)}
}
