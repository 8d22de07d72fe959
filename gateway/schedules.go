package gateway

import (
	"cmp"
	"maps"
	"slices"

	"parley/gateway/schedule"
	"parley/pause"
)

// newScheduler returns what queues the runs of the jobs in force.
func (g *Gateway) newScheduler() *schedule.Scheduler {
	return &schedule.Scheduler{
		Jobs: g.jobs, Log: g.opened.log, Store: g.opened.store, Observer: g.metrics, Logger: g.o.Logger, Now: g.o.Now, Wait: pause.For,
	}
}

// jobs returns the jobs in force, by name.
func (g *Gateway) jobs() []schedule.Job {
	return slices.SortedFunc(maps.Values(g.present().jobs), func(a, b schedule.Job) int { return cmp.Compare(a.Name, b.Name) })
}
