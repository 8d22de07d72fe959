package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"

	"parley/gateway/recording"
	"parley/gateway/schedule"
	"parley/pause"
)

// newScheduler returns what queues the runs of the jobs in force.
func (g *Gateway) newScheduler() *schedule.Scheduler {
	return &schedule.Scheduler{
		Jobs: g.jobs, Log: g.opened.log, Store: g.opened.store, Observer: g.metrics, Logger: g.o.Logger, Now: g.o.Now, Wait: pause.For,
	}
}

// recordedJobs returns what the jobs may do, as recordings have it.
func (e *edition) recordedJobs() map[string]recording.Job {
	m := map[string]recording.Job{}
	for name, j := range e.jobs {
		m[name] = recording.Job{Tools: j.Tools, AllowAdmin: j.AllowAdmin, MaxIterations: j.MaxIterations, MaxCost: j.MaxCost}
	}
	return m
}

// runJob queues a run of a job for now.
func (g *Gateway) runJob(ctx context.Context, j schedule.Job) error {
	return schedule.Publish(ctx, g.opened.log, j, j.MessageByHand(rand.Text(), g.o.Now())) //nolint:wrapcheck // it says of which job
}

// jobs returns the jobs in force, by name.
func (g *Gateway) jobs() []schedule.Job {
	return slices.SortedFunc(maps.Values(g.present().jobs), func(a, b schedule.Job) int { return cmp.Compare(a.Name, b.Name) })
}
