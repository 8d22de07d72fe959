package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
	"parley/gateway/records"
	"parley/sessions"
)

// Log is where runs are queued.
type Log interface {
	Publish(ctx context.Context, e broker.Envelope) (uint64, error)
}

// Store is where it stands which slots were dealt with, and whether a job still runs.
type Store interface {
	records.Store
	records.Writer
	Mailbox(ctx context.Context, token string) (sessions.Mailbox, error)
}

// Observer counts. Calls must not block.
type Observer interface {
	// CountJobRuns counts slots, by what became of them.
	CountJobRuns(outcome string, n int)
}

const (
	lookAgain  = 10 * time.Second // clocks are set, and configurations changed
	recordKind = "schedule"
	// progressKept is how long it is remembered how far a person's job is; more than a year, after
	// which the rarest is due again.
	progressKept = 400 * 24 * time.Hour
)

// Progress is how far a job is, as it stands in its record.
type Progress struct {
	Spec    string    `json:"spec"`              // what its slots follow from; of another they count from now on
	Through time.Time `json:"through"`           // all slots up to here are dealt with, once Queue is
	Slot    time.Time `json:"slot,omitzero"`     // the last that was queued
	Passed  int       `json:"passed,omitempty"`  // slots since then that did not run
	Because string    `json:"because,omitempty"` // why, as the metrics name it
	// Queue is several slots that a look has begun to queue. All of them run.
	Queue []time.Time `json:"queue,omitempty"`
}

// ReadProgress returns how far the job of a name is, with the revision of its record; the zero
// Progress when it never was due.
func ReadProgress(ctx context.Context, s records.Store, name string, now time.Time) (Progress, int64, error) {
	return records.Read[Progress](ctx, s, recordID(name), now) // it says of which record
}

func recordID(name string) sessions.RecordID { return sessions.RecordID{Kind: recordKind, Key: name} }

// Scheduler queues the runs of jobs when they are due. Its fields are set before Run; one goroutine
// uses it. Several processes may have one each: their runs are the same messages.
type Scheduler struct {
	Jobs func(ctx context.Context) ([]Job, error) // in force
	// Resolve completes a job of a person that is due, if it may run now; nil: there are none.
	Resolve  func(ctx context.Context, j Job) (_ Job, ok bool, err error)
	Log      Log
	Store    Store
	Observer Observer
	Logger   *slog.Logger
	Now      func() time.Time
	// Wait waits until something may be due, or ctx ends.
	Wait func(ctx context.Context, d time.Duration) error

	known map[string]Progress // of the jobs of the look before; nil: this run has had none
}

// Run looks at the jobs until ctx ends. What cannot be read or queued is tried again. It may be
// called again later: what other processes did meanwhile stands in the records.
func (s *Scheduler) Run(ctx context.Context) error {
	s.known = nil
	for ctx.Err() == nil {
		if err := s.Wait(ctx, s.Look(ctx)); err != nil {
			return err
		}
	}
	return ctx.Err() // who called knows
}

// Look queues all that is due, and returns how long nothing will be.
func (s *Scheduler) Look(ctx context.Context) time.Duration {
	now, wait := s.Now(), lookAgain
	known := map[string]Progress{}
	jobs, err := s.Jobs(ctx)
	if err != nil { // those that are known are due all the same
		s.Logger.Warn("jobs of people not looked after, it will be tried again", "error", err)
	}
	for _, j := range jobs {
		if !j.Enabled {
			continue
		}
		p, err := s.lookAt(ctx, j, now)
		if err != nil {
			s.Logger.Warn("job not looked after, it will be tried again", "job", j.Name, "error", err)
			// After a first look the job is no newer than before it: the zero Progress has the record read.
			if old, ok := s.known[j.Name]; ok || s.known == nil {
				known[j.Name] = old
			}
			continue
		}
		known[j.Name] = p
		if next := j.Timing.Next(now); !next.IsZero() {
			wait = min(wait, next.Sub(now))
		}
	}
	s.known = known
	return wait
}

// lookAt queues what is due of a job, and returns how far the job is then.
func (s *Scheduler) lookAt(ctx context.Context, j Job, now time.Time) (Progress, error) {
	p, ok := s.known[j.Name]
	if ok && p.Spec == j.spec() && j.Timing.FindDue(j.Misfire, p.Through, now).IsNothing() {
		return p, nil // as it mostly is, without a look into the store
	}
	stored, revision, err := ReadProgress(ctx, s.Store, j.Name, now)
	if errors.Is(err, records.ErrUnreadable) {
		s.Logger.Warn("how far a job is cannot be read, its slots count from now on", "job", j.Name, "error", err)
	} else if err != nil {
		return p, err
	}
	// A job that was not there at the look before, or was due otherwise, has missed nothing; of one
	// that a person has scheduled that counts from when they did.
	fresh := false
	if s.known != nil && !ok && j.Since.IsZero() || stored.Spec != j.spec() {
		stored = Progress{Spec: j.spec(), Through: now, Slot: stored.Slot}
		if !j.Since.IsZero() {
			stored.Through, stored.Slot, fresh = j.Since, time.Time{}, true
		}
		if !fresh {
			return s.write(ctx, j, stored, revision, now)
		}
	}
	switch d := j.Timing.FindDue(j.Misfire, stored.Through, now); {
	case len(stored.Queue) > 0: // the look that began with it did not get to its end
		return s.publish(ctx, j, stored, revision, now)
	case !d.IsNothing():
		return s.queue(ctx, j, d, stored, revision, now)
	case fresh:
		return s.write(ctx, j, stored, revision, now)
	}
	return stored, nil
}

// SlotsPassed is what is logged of slots of a job that do not run, with why.
const SlotsPassed = "slots of a job passed over"

// queue queues the slots that are to run, unless the run before has not ended, and then writes down
// that all are dealt with: a process that ends in between has another queue the same again. Several
// are written down first, because the job is busy as soon as one of them is queued.
func (s *Scheduler) queue(ctx context.Context, j Job, d Due, p Progress, revision int64, now time.Time) (Progress, error) {
	allowed, busy := true, false
	var err error
	if j.Person != "" {
		if j, allowed, err = s.Resolve(ctx, j); err != nil {
			return p, err
		}
	}
	if allowed {
		if busy, err = s.isBusy(ctx, j); err != nil {
			return p, err
		}
	}
	passed, because := d.Passed, outcomes.SlotMissed
	switch {
	case !allowed:
		passed, because = passed+len(d.Run), outcomes.SlotDenied
		d.Run = nil
	case busy:
		passed, because = passed+len(d.Run), outcomes.SlotBusy
		d.Run = nil
	}
	next := p
	next.Through, next.Queue = d.Through, d.Run
	if len(d.Run) > 0 {
		next.Passed, next.Because = 0, ""
	}
	if passed > 0 {
		next.Passed, next.Because = next.Passed+passed, because
		s.Observer.CountJobRuns(because, passed)
		s.Logger.Warn(SlotsPassed, "job", j.Name, "slots", passed, "because", because, "misfire", j.Misfire, "through", d.Through)
	}
	if len(d.Run) > 1 {
		if revision, err = s.keep(ctx, j, next, revision, now); errors.Is(err, sessions.ErrChanged) {
			return p, nil // another process queues them, or the next look does
		}
		if err != nil {
			return p, err
		}
	}
	return s.publish(ctx, j, next, revision, now)
}

// publish queues the slots of p.Queue, and then writes down that all are dealt with.
func (s *Scheduler) publish(ctx context.Context, j Job, p Progress, revision int64, now time.Time) (Progress, error) {
	for _, slot := range p.Queue {
		if err := Publish(ctx, s.Log, j, j.Message(slot, now)); err != nil {
			return p, err
		}
		p.Slot = slot
	}
	if n := len(p.Queue); n > 0 {
		s.Observer.CountJobRuns(outcomes.SlotQueued, n)
	}
	p.Queue = nil
	return s.write(ctx, j, p, revision, now)
}

// isBusy reports whether a run of the job waits or goes on.
func (s *Scheduler) isBusy(ctx context.Context, j Job) (bool, error) {
	m, err := s.Store.Mailbox(ctx, j.Key.Token())
	if errors.Is(err, sessions.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look whether job %s still runs: %w", j.Name, err)
	}
	return m.HasWork(), nil
}

// write keeps how far the job is. When another process did so meanwhile, the next look finds out.
func (s *Scheduler) write(ctx context.Context, j Job, p Progress, revision int64, now time.Time) (Progress, error) {
	if _, err := s.keep(ctx, j, p, revision, now); err != nil && !errors.Is(err, sessions.ErrChanged) {
		return p, err
	}
	return p, nil
}

// keep writes how far the job is, and returns the revision of its record. Returns
// sessions.ErrChanged if another process did so meanwhile.
func (s *Scheduler) keep(ctx context.Context, j Job, p Progress, revision int64, now time.Time) (int64, error) {
	r := sessions.Record{ID: recordID(j.Name), Revision: revision, Owner: "schedule", At: now}
	if j.Person != "" { // nobody takes it away when the job is gone
		r.Expires = now.Add(progressKept)
	}
	revision, err := records.Write(ctx, s.Store, r, p)
	if err != nil {
		return 0, fmt.Errorf("keep how far job %s is: %w", j.Name, err)
	}
	return revision, nil
}

// Publish queues a message of a job in the job's conversation. Queued again it adds nothing.
func Publish(ctx context.Context, log Log, j Job, m channels.Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a run of job %s: %w", j.Name, err)
	}
	e := broker.Envelope{ID: messages.EventID(m), Token: j.Key.Token(), Key: j.Key.String(), Body: body}
	if _, err := log.Publish(ctx, e); err != nil {
		return fmt.Errorf("queue a run of job %s: %w", j.Name, err)
	}
	return nil
}
