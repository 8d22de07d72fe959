package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"

	"parley/costs"
	"parley/gateway/errands"
	"parley/gateway/people"
	"parley/gateway/recording"
	"parley/gateway/schedule"
	"parley/pause"
	"parley/sessions"
)

// schedules are the jobs of the configuration and those of people, with their runs.
type schedules struct {
	*setup
	present func() *edition
	store   sessions.Store
	log     queue
	people  *people.Book
}

// scheduler returns what queues the runs of the jobs in force.
func (s *schedules) scheduler() *schedule.Scheduler {
	return &schedule.Scheduler{
		Jobs: s.all, Resolve: func(ctx context.Context, j schedule.Job) (schedule.Job, bool, error) {
			return s.present().errands.Resolve(ctx, j)
		},
		Log: s.log, Store: s.store, Observer: s.metrics, Logger: s.o.Logger, Now: s.o.Now, Wait: pause.For,
	}
}

// recordedJobs returns what the jobs may do, as recordings have it.
func (e *edition) recordedJobs(ctx context.Context) (map[string]recording.Job, error) {
	own, err := e.errands.Jobs(ctx)
	m := map[string]recording.Job{}
	for _, j := range slices.Concat(slices.Collect(maps.Values(e.jobs)), own) {
		m[j.Name] = recording.Job{Tools: j.Tools, AllowAdmin: j.AllowAdmin, MaxIterations: j.MaxIterations, MaxCost: j.MaxCost}
	}
	return m, err // it says of what
}

// run queues a run of a job for now.
func (s *schedules) run(ctx context.Context, j schedule.Job) error {
	return schedule.Publish(ctx, s.log, j, j.MessageByHand(rand.Text(), s.o.Now())) // it says of which job
}

// all returns the jobs in force and those of people. With an error they are those of the
// configuration alone.
func (s *schedules) all(ctx context.Context) ([]schedule.Job, error) {
	own, err := s.present().errands.Jobs(ctx)
	return append(s.present().ownJobs(), own...), err
}

// enoughRuns is of how many runs an estimate is made at least.
const enoughRuns = 3

// mostCompared is at how many sessions it is looked for them, the latest first.
const mostCompared = 2000

// estimate says what an errand will cost, by what runs of people's schedules have cost that the same
// agent did; not what it would cost when there were too few.
func (s *schedules) estimate(ctx context.Context, desk *errands.Desk, e errands.Errand) (string, error) {
	j, err := desk.Job(ctx, e.Name)
	if err != nil {
		return "", err // it says of what
	}
	now := s.o.Now()
	runs, err := schedule.FindRuns(ctx, s.store, now.Add(-schedule.LookedBack), mostCompared, func(job, agent string) (string, bool) {
		return "", errands.IsName(job) && agent == j.Key.Agent()
	})
	if err != nil {
		return "", err // it says of what
	}
	each, n := runs[""].Median()
	if n < enoughRuns {
		return "There are no runs yet by which its cost could be told.", nil
	}
	if j.Timing.IsOnce() {
		return fmt.Sprintf("It will cost about %s, the median of %d such runs.", each.Display(), n), nil
	}
	times, until := int64(0), now.Add(schedule.LookedBack)
	for at := j.Timing.Next(now); !at.IsZero() && at.Before(until); at = j.Timing.Next(at) {
		times++
	}
	return fmt.Sprintf("A run costs about %s, the median of %d such runs; this is %d runs in the next 30 days, about %s.", each.Display(), n, times, (each * costs.Amount(times)).Display()), nil
}

// list returns all jobs as operators see them: those of people that may not run now are off.
func (s *schedules) list(ctx context.Context) ([]schedule.Job, error) {
	own, err := s.present().errands.List(ctx)
	return append(s.present().ownJobs(), own...), err // it says of what
}

// ownJobs returns the jobs of the configuration, by name.
func (e *edition) ownJobs() []schedule.Job {
	return slices.SortedFunc(maps.Values(e.jobs), func(a, b schedule.Job) int { return cmp.Compare(a.Name, b.Name) })
}
