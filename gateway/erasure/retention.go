package erasure

import (
	"context"
	"errors"
	"time"

	"parley/sessions"
)

// Bounds of one sweep, so that it delays nobody: of many sessions that are old at once the rest goes
// with the next ones.
const (
	mostAtOnce = 50
	lookedAt   = 10 * mostAtOnce // of which some may be busy
)

// SweepEvery is how often it is to be swept.
const SweepEvery = 10 * time.Minute

// Retain deletes, at once and then at each tick until ctx ends, the content of sessions that did not
// change for as long as keep returns; 0: none.
func (d *Desk) Retain(ctx context.Context, keep func() time.Duration, ticks <-chan time.Time) error {
	for {
		if age := keep(); age > 0 {
			if _, err := d.Sweep(ctx, d.Now().Add(-age)); err != nil && ctx.Err() == nil {
				d.Logger.Warn("old sessions not deleted, trying again later", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

// Sweep deletes the content of sessions that did not change since before, the oldest first, at most
// mostAtOnce. Those that are busy are left for the next time, and so are those that somebody went on with meanwhile.
func (d *Desk) Sweep(ctx context.Context, before time.Time) (deleted int, err error) {
	old, err := d.Store.Stale(ctx, before, lookedAt)
	var failed []error
	for _, id := range old {
		if deleted == mostAtOnce || ctx.Err() != nil {
			break
		}
		_, err := d.deleteUnused(ctx, id, Mark{By: ByAge, Why: ByAge}, before)
		switch {
		case err == nil:
			deleted++
			d.expired.Add(1)
		case !errors.Is(err, sessions.ErrBusy):
			failed = append(failed, err)
		}
	}
	return deleted, errors.Join(append(failed, err)...)
}

// Expired returns how many sessions retention has deleted since the start, in this process.
func (d *Desk) Expired() int { return int(d.expired.Load()) }
