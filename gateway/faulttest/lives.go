package faulttest

import (
	"slices"
	"sync"
	"time"
)

// Incarnation names one life of a process in the books: each has an address of its own
// on loopback from which its calls come, so that what it asked for and sent is
// known as its own however late it arrives.
type Incarnation string

// Fault is something that was done to the processes.
type Fault struct {
	// At is when it was done, at the latest: nobody followed a life before.
	At time.Time
	// Incarnation is whose it was; empty: all that lived.
	Incarnation Incarnation
	// Killed: nothing is left of that life, so whatever it had not stored by then
	// is not stored.
	Killed bool
	// Stall: nobody did it, the machine stood still.
	Stall bool
	What  string // the plan of a fault point, or what the harness did
}

// faultLog is what was done to the processes until now.
type faultLog struct {
	mu     sync.Mutex
	faults []Fault
}

func (l *faultLog) add(f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, f)
}

func (l *faultLog) all() []Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.faults)
}

// faultTimes is what was done to each life.
type faultTimes struct {
	killed map[Incarnation]time.Time
	other  map[Incarnation][]time.Time
}

func newFaultTimes(faults []Fault) faultTimes {
	d := faultTimes{map[Incarnation]time.Time{}, map[Incarnation][]time.Time{}}
	for _, f := range faults {
		if f.Killed {
			keepEarliest(d.killed, f.Incarnation, f.At)
		} else {
			d.other[f.Incarnation] = append(d.other[f.Incarnation], f.At)
		}
	}
	return d
}

// wasStruckBetween reports whether something was done to l between two moments, and it
// lived on. A zero moment is no bound.
func (d faultTimes) wasStruckBetween(l Incarnation, after, before time.Time) bool {
	for _, ats := range [][]time.Time{d.other[l], d.other[""]} {
		if slices.ContainsFunc(ats, func(at time.Time) bool {
			return at.After(after) && (before.IsZero() || at.Before(before))
		}) {
			return true
		}
	}
	return false
}

// step is something that a life did in one place, where it does one thing after
// the other: it begins the next when the one before is stored.
type step struct {
	incarnation Incarnation
	at          time.Time
}

// isUnsure reports whether the life of step number i had been kept, by the moment again,
// from storing how it ended. That the same life took the next step there shows that
// it was not; what was done to it before its step before is not why. A zero again is
// no bound.
func (d faultTimes) isUnsure(steps []step, i int, again time.Time) bool {
	s := steps[i]
	var before, next time.Time
	for j, o := range steps {
		switch {
		case o.incarnation != s.incarnation:
		case j < i:
			before = o.at
		case j > i && next.IsZero():
			next = o.at
		}
	}
	seen := !next.IsZero()
	if next.IsZero() || !again.IsZero() && again.Before(next) {
		next = again
	}
	at, killed := d.killed[s.incarnation]
	if killed && (again.IsZero() || at.Before(again)) && !seen {
		return true
	}
	return d.wasStruckBetween(s.incarnation, before, next)
}

// wasLate reports whether something was done to the life of step number i since its step
// before, and it lived on: it may have been held up just before this one.
func (d faultTimes) wasLate(steps []step, i int) bool {
	s := steps[i]
	var before time.Time
	for _, o := range steps[:i] {
		if o.incarnation == s.incarnation {
			before = o.at
		}
	}
	return d.wasStruckBetween(s.incarnation, before, s.at)
}
