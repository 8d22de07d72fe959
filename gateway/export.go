package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/costs"
	"parley/disks"
	"parley/gateway/ops"
	"parley/gateway/settings"
	"parley/gateway/worker"
	"parley/sessions"
)

// registerExports registers what is read from the store and the log at a scrape.
func (g *Gateway) registerExports(opened resources, w *worker.Worker, checks []ops.Check) error {
	store := opened.store
	shared := ops.NewShared(g.metrics, g.present().sets)
	shared.Store, shared.Log, shared.Checks, shared.Now = store, opened.log, checks, g.o.Now
	shared.Process = ops.Process{
		Ready:    func(ctx context.Context) bool { ready, _ := g.ops.Report(ctx); return ready },
		Database: opened.size,
		Disk:     func() (disks.Space, error) { return disks.SpaceAt(g.cfg.StateDir) },
	}
	if g.cfg.HasRole(settings.RoleWorker) {
		shared.Process.Slots = w.Slots
	}
	shared.Budgets = g.raises.metered
	g.money = ops.NewCosts(store, g.present().sets)
	g.money.Mine = g.exports.Load
	if err := errors.Join(g.metrics.Register(g.money), g.metrics.Register(shared)); err != nil {
		return fmt.Errorf("export what the store knows: %w", err)
	}
	return nil
}

// metered returns the budgets that have metrics: of everything, and of each channel.
func (r *raises) metered() []ops.Budget {
	e := r.present()
	watch := func(scope, name, window string, of sessions.Scope) ops.Budget {
		return ops.Budget{
			Scope: scope, Name: name, Window: window, Limit: of.Limit,
			Raised: func(ctx context.Context, at time.Time) (costs.Amount, error) { return r.of(ctx, of, at) },
			Spent: func(ctx context.Context, at time.Time) (settled, held costs.Amount, err error) {
				return r.store.Spent(ctx, of, at)
			},
		}
	}
	bs := []ops.Budget{
		watch("global", ops.BudgetAll, "day", e.limits.DayScope()),
		watch("global", ops.BudgetAll, "month", e.limits.MonthScope()),
	}
	for _, name := range e.sets.Channels[:min(len(e.sets.Channels), ops.MaxChannels)] {
		bs = append(bs, watch("channel", name, "day", e.limits.ChannelScope(name)))
	}
	return bs
}
