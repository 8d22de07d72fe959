package admin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"parley/gateway/records"
	"parley/gateway/schedule"
	"parley/sessionkeys"
	"parley/sessions"
)

// Job is a job of the configuration or of a person, with its last run. What it tells the agent is not
// in it.
type Job struct {
	Name     string   `json:"name"`
	Schedule string   `json:"schedule"`
	TimeZone string   `json:"time_zone,omitempty"`
	State    JobState `json:"state"`
	Key      string   `json:"key"`     // of its conversation, with the address of its answers
	Channel  string   `json:"channel"` // the account by which they go
	// Person is who has scheduled it, by the network's stable id; none: the configuration has it.
	Person string    `json:"person,omitempty"`
	Next   time.Time `json:"next,omitzero"` // none: the job is off
	Last   *JobRun   `json:"last,omitempty"`
	// Passed is how many slots since the last that was queued did not run, and Because why.
	Passed  int    `json:"passed,omitempty"`
	Because string `json:"because,omitempty"`
	// Runs is how many runs there were in the 30 days before now, and Cost what they have cost,
	// with their sub-agents; of those that are Unpriced some calls have no known price, and are
	// not in it.
	Runs     int `json:"runs"`
	Cost     USD `json:"cost_usd"`
	Unpriced int `json:"unpriced,omitempty"`
}

// mostSessions is at how many sessions it is looked to find the runs of 30 days, the latest first.
const mostSessions = 50_000

// JobRun is a run of a job.
type JobRun struct {
	Session sessionkeys.SessionID `json:"session"`
	At      time.Time             `json:"at"`
	Outcome string                `json:"outcome,omitempty"` // none: it goes on
	Cost    USD                   `json:"cost_usd"`          // with its sub-agents
}

// JobState describes what a job does at present.
type JobState string

// States of a job.
const (
	JobRuns  JobState = "running"
	JobWaits JobState = "waiting" // its run is queued
	JobIdle  JobState = "idle"
	JobOff   JobState = "off" // enabled is false
)

// JobPage is all jobs: those of the configuration by their names, and then those of people.
type JobPage struct {
	Now  time.Time `json:"now"`
	Jobs []Job     `json:"jobs"`
}

func (desk jobDesk) jobs(r *http.Request) (any, error) {
	ctx, now := r.Context(), desk.o.Now()
	page := JobPage{Now: now.UTC(), Jobs: []Job{}}
	jobs, err := desk.o.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := schedule.FindRuns(ctx, desk.o.Store, now.Add(-schedule.LookedBack), mostSessions, func(job, _ string) (string, bool) { return job, true })
	if err != nil {
		return nil, err // it says of what
	}
	for _, j := range jobs {
		one, err := desk.describeJob(ctx, j)
		if err != nil {
			return nil, err
		}
		of := runs[j.Name]
		one.Runs, one.Cost, one.Unpriced = of.N, USD(of.Cost), of.Unpriced
		page.Jobs = append(page.Jobs, one)
	}
	return page, nil
}

func (desk jobDesk) describeJob(ctx context.Context, j schedule.Job) (Job, error) {
	d := Job{Name: j.Name, Schedule: j.Timing.String(), TimeZone: j.Timing.Zone(), State: JobOff, Key: j.Key.String(), Channel: j.Channel, Person: j.Person}
	if j.Enabled {
		d.State = JobIdle
		if next := j.Timing.Next(desk.o.Now()); !next.IsZero() {
			d.Next = next.UTC()
		}
	}
	p, _, err := schedule.ReadProgress(ctx, desk.o.Store, j.Name, desk.o.Now())
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return d, err // it says of which record
	}
	d.Passed, d.Because = p.Passed, p.Because
	if j.Key == (sessionkeys.Key{}) { // a person's, who may not have it run
		return d, nil
	}
	m, err := desk.o.Store.Mailbox(ctx, j.Key.Token())
	if errors.Is(err, sessions.ErrNotFound) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	switch {
	case m.Turn != nil:
		d.State = JobRuns
	case m.HasWork():
		d.State = JobWaits
	}
	d.Last, err = desk.lastRun(ctx, m.Session)
	return d, err
}

// lastRun returns the run of a session; nil: it has not begun.
func (desk jobDesk) lastRun(ctx context.Context, id sessionkeys.SessionID) (*JobRun, error) {
	turns, err := desk.o.Store.TurnsOf(ctx, id)
	if err != nil || len(turns) == 0 {
		return nil, err
	}
	session, err := desk.o.Store.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	t := turns[len(turns)-1]
	return &JobRun{Session: id, At: t.OpenedAt, Outcome: string(t.Outcome), Cost: USD(session.Subtree)}, nil
}

// runJob has a job run now, once.
func (desk jobDesk) runJob(r *http.Request) (any, error) {
	ctx, name := r.Context(), r.PathValue("name")
	jobs, err := desk.o.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		if j.Name != name {
			continue
		}
		if j.Person != "" && !j.Enabled {
			return nil, newError(Refused, "who has scheduled %s may not have it run now", name)
		}
		d, err := desk.describeJob(ctx, j)
		if err != nil {
			return nil, err
		}
		if d.State == JobRuns || d.State == JobWaits {
			return nil, newError(Refused, "job %s is %s already: see parley cron ls", name, d.State)
		}
		if err := desk.o.RunJob(ctx, j); err != nil {
			return nil, err
		}
		desk.o.Logger.Info("run of a job queued by the operator", "job", name, "uid", ctx.Value(uidKey{}))
		return d, nil
	}
	return nil, newError(NotFound, "no job %q, neither in the configuration that is in force nor of a person: see parley cron ls", name)
}

// Jobs returns the jobs of the configuration and of people.
func (c *Client) Jobs(ctx context.Context) (JobPage, error) {
	return askFor[JobPage](ctx, c.connection, http.MethodGet, "/v1/cron", nil)
}

// RunJob has the job of a name run now, once, also if it is off. It returns the job as it was.
func (c *Client) RunJob(ctx context.Context, name string) (Job, error) {
	if name == "" {
		return Job{}, newError(Invalid, "a job has a name")
	}
	return askFor[Job](ctx, c.connection, http.MethodPost, "/v1/cron/"+url.PathEscape(name)+"/run", nil)
}
