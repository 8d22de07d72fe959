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
	// Spent returns what was settled in the window of at.
	Spent func(ctx context.Context, at time.Time) (costs.Amount, error)
}

func (s *Shared) collectBudgets(ctx context.Context, now time.Time) (ms []prometheus.Metric) {
	if s.Budgets == nil {
		return nil
	}
	for _, b := range s.Budgets() {
		if b.Limit > 0 {
			ms = append(ms, constGauge(s.descs.limit, b.Limit.Dollars(), b.Scope, b.Name, b.Window))
		}
		spent, err := b.Spent(ctx, now)
		if err != nil {
			ms = append(ms, missingMetrics(err, s.descs.spent)...)
			continue
		}
		ms = append(ms, constGauge(s.descs.spent, spent.Dollars(), b.Scope, b.Name, b.Window))
	}
	return ms
}
