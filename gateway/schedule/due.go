package schedule

import (
	"errors"
	"fmt"
	"time"
)

// Misfire says what becomes of runs that were due while nothing ran that could begin them.
type Misfire string

// What becomes of them.
const (
	Skip Misfire = "skip" // they do not run; the default
	Once Misfire = "once" // the latest of them runs
	All  Misfire = "all"  // all of them run, the latest MostCaughtUp, oldest first
)

const (
	// Punctual is how late a run may begin and still counts as punctual: a restart is no outage.
	Punctual = 5 * time.Minute
	// MostCaughtUp is the most runs of one job that begin at once after an outage.
	MostCaughtUp = 10
	// Lookback is how far back runs are caught up.
	Lookback = 32 * 24 * time.Hour
)

var errMisfire = errors.New("neither skip, once nor all")

// Validate reports whether m is none of them.
func (m Misfire) Validate() error {
	switch m {
	case Skip, Once, All:
		return nil
	}
	return fmt.Errorf("%q is %w", string(m), errMisfire)
}

// Due is what a look at a job finds.
type Due struct {
	Run     []time.Time // the slots to run, oldest first
	Passed  int         // slots that are due and do not run
	Through time.Time   // all slots up to here are dealt with
}

// IsNothing reports whether no slot is due.
func (d Due) IsNothing() bool { return len(d.Run)+d.Passed == 0 }

// FindDue returns what is due of a job at now, all of whose slots up to through were dealt with.
// Of several that are due only [All] runs more than the latest.
func (t Timing) FindDue(m Misfire, through, now time.Time) (d Due) {
	// After a clock that went ahead, through may be in the future: what runs again is known by its
	// event, and what was left out is not lost.
	after := through
	if after.After(now) {
		after = now
	}
	if first := now.Add(-Lookback); after.Before(first) {
		after = first
	}
	d.Through = after
	most := 1
	if m == All {
		most = MostCaughtUp
	}
	for slot := t.Next(after); !slot.IsZero() && !slot.After(now); slot = t.Next(slot) {
		d.Through = slot
		if d.Run = append(d.Run, slot); len(d.Run) > most {
			d.Run = d.Run[1:]
			d.Passed++
		}
	}
	if m == Skip && len(d.Run) > 0 && now.Sub(d.Run[0]) > Punctual {
		d.Passed += len(d.Run)
		d.Run = nil
	}
	return d
}
