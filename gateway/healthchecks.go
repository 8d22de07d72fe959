package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/disks"
	"parley/gateway/ops"
)

// What a gateway cannot work without is looked at so often, and is given so long
// to answer: together less than five seconds.
const (
	vitalEvery = 2 * time.Second
	vitalWait  = 2 * time.Second
)

var errDeadFull = errors.New("dead-letter storage is full, and a message that cannot be answered blocks its conversation; redeliver or drop some dead letters (parley dead-letters ls)")

var errNotReady = errors.New("gateway not ready: no messages are accepted at the moment")

// healthChecks are what a gateway cannot work without. While one of them fails it is
// not ready, and takes nothing: what people say waits at their network, which
// brings it again.
type healthChecks struct {
	checks []*healthCheck
	log    *slog.Logger
}

// healthCheck is one of them.
type healthCheck struct {
	name, metric string
	probe        func(ctx context.Context) error
	known        func() error // instead of look: somebody else looks

	mu       sync.Mutex
	err      error     // of the last look; guarded by mu, like what follows
	since    time.Time // when a look began that has not ended
	reported bool
}

// newHealthChecks makes the checks of this gateway. A disk that is full fails before a person's
// message has to find out.
func newHealthChecks(s *setup, kept *storage, workspaces string) *healthChecks {
	h := &healthChecks{log: s.o.Logger, checks: []*healthCheck{
		{name: "message log", metric: "nats", known: func() error {
			if ok, why := kept.log.Healthy(); !ok {
				return errors.New(why) // the watchdog's own words
			}
			return nil
		}},
		{name: "store", metric: "store", probe: kept.recordTick},
		{name: "workspaces", metric: "workspaces", probe: func(context.Context) error {
			return disks.Check(workspaces)
		}},
	}}
	for _, n := range s.cfg.Channels.Networks() {
		if n.Disk == nil {
			continue
		}
		if d := n.Disk(s.cfg); d != nil {
			h.checks = append(h.checks, &healthCheck{name: d.Name, metric: d.Metric, probe: func(context.Context) error { return checkDisk(d.Dir) }})
		}
	}
	return h
}

// checkDisk reports a disk without room below a folder, in which nothing may have been
// written yet.
func checkDisk(dir string) error {
	err := disks.Check(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// run looks at each until ctx ends, side by side, so that none that hangs hides
// another.
func (h *healthChecks) run(ctx context.Context) error {
	var looking sync.WaitGroup
	for _, c := range h.checks {
		looking.Go(func() {
			tick := time.NewTicker(vitalEvery)
			defer tick.Stop()
			for ctx.Err() == nil {
				c.check(ctx)
				h.logChange(c)
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
	looking.Wait()
	return nil
}

// logChange logs what changed.
func (h *healthChecks) logChange(c *healthCheck) {
	err := c.state()
	c.mu.Lock()
	was := c.reported
	c.reported = err != nil
	c.mu.Unlock()
	switch {
	case err != nil && !was:
		h.log.Error("health check failed, nothing is accepted until it recovers", "check", c.name, "error", err)
	case err == nil && was:
		h.log.Info("health check recovered", "check", c.name)
	}
}

func (c *healthCheck) check(ctx context.Context) {
	if c.probe == nil {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, vitalWait)
	defer cancel()
	c.mu.Lock()
	c.since = time.Now()
	c.mu.Unlock()
	err := c.probe(bounded)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = time.Time{}
	if ctx.Err() == nil {
		c.err = err
	}
}

// state returns what is wrong, as of the last look; a look that does not end is wrong
// too.
func (c *healthCheck) state() error {
	if c.known != nil {
		return c.known()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if took := time.Since(c.since); !c.since.IsZero() && took > vitalWait+time.Second {
		return fmt.Errorf("no answer for %s", took.Round(time.Second)) // the text is all there is
	}
	return c.err
}

// readinessChecks returns what readiness shows.
func (h *healthChecks) readinessChecks() []ops.Check {
	checks := make([]ops.Check, 0, len(h.checks))
	for _, c := range h.checks {
		checks = append(checks, ops.Check{Name: c.name, Metric: c.metric, Test: func(context.Context) error { return c.state() }})
	}
	return checks
}

// deadLetterCheck is ready while there is room for what must be kept. Without it one
// conversation is held up, and no other, so all others are served.
func deadLetterCheck(b *broker.Broker) ops.Check {
	return ops.Check{Name: "dead letters", Metric: "dead_letters", Test: func(ctx context.Context) error {
		switch st, err := b.Stats(ctx); {
		case err != nil:
			return err // it names the log
		case st.DeadFull:
			return errDeadFull
		}
		return nil
	}}
}

// guard wraps accept and refuses everything while a check fails.
func (h *healthChecks) guard(accept channels.Accept) channels.Accept {
	return func(ctx context.Context, m channels.Message) error {
		for _, c := range h.checks {
			if err := c.state(); err != nil {
				return fmt.Errorf("%w: %s: %w", errNotReady, c.name, err)
			}
		}
		return accept(ctx, m)
	}
}
