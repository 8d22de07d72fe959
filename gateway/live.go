package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/broker"
	"parley/faultpoint"
	"parley/gateway/admin"
	"parley/gateway/delivery"
	"parley/gateway/intake"
	"parley/gateway/prices"
	"parley/gateway/settings"
	"parley/gateway/worker"
)

// runRoles runs the parts of this process's roles. They end one after another: first
// what takes messages, then what answers them, then what sends the answers, then
// what watches.
func (g *Gateway) runRoles(ctx context.Context, in *intake.Intake, w *worker.Worker, out *delivery.Delivery, kept *storage, health *healthChecks) error {
	failed, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()

	var takers, workers, senders, watchers errgroup.Group
	part := func(ctx context.Context, group *errgroup.Group, name string, run func(context.Context) error) {
		group.Go(func() error {
			err := run(ctx)
			if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return nil
			}
			err = fmt.Errorf("%s: %w", name, err)
			fail(err)
			return err
		})
	}
	part(watching, &watchers, "ops", g.ops.Run)
	part(watching, &watchers, "admin", g.admin.Run)
	part(watching, &watchers, "page", g.page.Run)
	part(watching, &watchers, "webhooks", g.hooks.Run) // to the end, to refuse in words
	part(watching, &watchers, "message log", kept.log.Watch)
	part(watching, &watchers, "health checks", health.run)
	part(watching, &watchers, "prices", func(ctx context.Context) error {
		tick := time.NewTicker(prices.Interval)
		defer tick.Stop()
		g.prices.Watch(ctx, tick.C)
		return nil
	})
	part(watching, &watchers, "configuration", func(ctx context.Context) error {
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		looks := g.o.Look
		if looks == nil {
			looks = tick.C
		}
		g.watchFiles(ctx.Done(), looks)
		return nil
	})
	part(watching, &watchers, "janitor", func(ctx context.Context) error {
		return g.runAsLeader(ctx, kept.log, leaseJanitor, kept.sweepLog)
	})
	part(watching, &watchers, "retention", func(ctx context.Context) error {
		return g.runAsLeader(ctx, kept.log, leaseRetention, g.retain)
	})
	part(watching, &watchers, "store", kept.maintain)
	part(watching, &watchers, "messages that are passed over", g.passed.Run)
	if g.traces.tracer != nil { // to the end, for what the others do last
		part(watching, &watchers, "traces", g.traces.tracer.Run)
	}
	part(watching, &watchers, "cost metrics", func(ctx context.Context) error { return g.exportCost(ctx, kept.log) })
	if g.cfg.HasRole(settings.RoleGateway) {
		f := newChannelRunners(g.accounts, kept.log, kept.store, out, health.guard(g.traces.events(in.Accept)))
		part(sending, &senders, "delivery", out.Listen)
		part(sending, &senders, "delivery", func(ctx context.Context) error { return f.run(failed, ctx) })
		part(failed, &takers, "channels", f.awaitAllBroken)
	}
	if g.cfg.HasRole(settings.RoleWorker) {
		if g.servers != nil { // to the end, for the turns that end
			part(watching, &watchers, "MCP servers", g.servers.run)
		}
		part(watching, &watchers, "workspaces", func(ctx context.Context) error { return g.workspaces.sweep(ctx, kept.store) })
		part(failed, &workers, "worker", w.Run)
		part(failed, &takers, "schedule", func(ctx context.Context) error {
			return g.runAsLeader(ctx, kept.log, leaseSchedule, g.schedules.scheduler().Run)
		})
	}

	g.ops.SetReady(true)
	g.hooks.SetReady(true)
	if faultpoint.Enabled {
		g.o.Logger.Warn("test binary: an environment variable can kill this process", "tag", "faultpoints")
	}
	g.startedAt = g.o.Now()
	close(g.started)
	g.o.Logger.Info("gateway started", "version", g.o.Version, "ops", g.ops.Addr(), "webhooks", g.hooks.Addr(), "page", g.page.URL(), "state_dir", g.cfg.StateDir, "roles", g.cfg.Roles)
	<-failed.Done()
	g.ops.SetReady(false)
	g.hooks.SetReady(false)
	g.o.Logger.Info("gateway stopping")

	errs := []error{takers.Wait(), workers.Wait()}
	stopSending()
	errs = append(errs, senders.Wait())
	stopWatching()
	errs = append(errs, watchers.Wait())
	kept.recordLastTick(ctx)
	return errors.Join(errs...)
}

// exportCost lets this process export the cost while no other does.
func (g *Gateway) exportCost(ctx context.Context, b *broker.Broker) error {
	return g.runAsLeader(ctx, b, leaseExport, func(ctx context.Context) error {
		g.exports.Store(true)
		defer g.exports.Store(false)
		<-ctx.Done()
		return ctx.Err()
	})
}

// noteReport says what people notice although this process is ready: of each bot account whether
// a message that came by it would be read by this process, or another that has it, and how models,
// turns, the configuration, the message log and the disk are.
func (g *Gateway) noteReport(ctx context.Context) map[string]string {
	report := admin.Notes(admin.RecentOf(g.metrics.Recent()), admin.CircuitsOf(g.circuits.Open()), g.reloads.status(), g.o.Now())
	maps.Copy(report, g.admin.Notes(ctx))
	if !g.cfg.HasRole(settings.RoleGateway) {
		return report
	}
	for _, c := range g.accounts.status.Status() {
		report["channel "+c.Name] = "ok"
		if !c.Up && !c.Elsewhere {
			report["channel "+c.Name] = "not connected, and nothing comes in; the log says why"
		}
	}
	return report
}
