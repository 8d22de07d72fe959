package faulttest

import (
	"slices"
	"time"
)

// Life names one life of a process in the books: each has an address of its own
// on loopback from which its calls come, so that what it asked for and sent is
// known as its own however late it arrives.
type Life string

// Fault is something that was done to the processes.
type Fault struct {
	// At is when it was done, at the latest: nobody followed a life before.
	At time.Time
	// Life is whose it was; empty: all that lived.
	Life Life
	// Killed: nothing is left of that life, so whatever it had not stored by then
	// is not stored.
	Killed bool
	// Stall: nobody did it, the machine stood still.
	Stall bool
	What  string // the plan of a fault point, or what the harness did
}

// done is what was done to each life.
type done struct {
	killed map[Life]time.Time
	other  map[Life][]time.Time
}

func doneTo(faults []Fault) done {
	d := done{map[Life]time.Time{}, map[Life][]time.Time{}}
	for _, f := range faults {
		if f.Killed {
			earliest(d.killed, f.Life, f.At)
		} else {
			d.other[f.Life] = append(d.other[f.Life], f.At)
		}
	}
	return d
}

// while says whether something was done to l between two moments, and it lived
// on. A zero moment is no bound.
func (d done) while(l Life, after, before time.Time) bool {
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
	life Life
	at   time.Time
}

// unsure says whether the life of step number i had been kept, by the moment again,
// from storing how it ended. That the same life took the next step there shows that
// it was not; what was done to it before its step before is not why. A zero again is
// no bound.
func (d done) unsure(steps []step, i int, again time.Time) bool {
	s := steps[i]
	var before, next time.Time
	for j, o := range steps {
		switch {
		case o.life != s.life:
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
	at, killed := d.killed[s.life]
	if killed && (again.IsZero() || at.Before(again)) && !seen {
		return true
	}
	return d.while(s.life, before, next)
}

// late says whether something was done to the life of step number i since its step
// before, and it lived on: it may have been held up just before this one.
func (d done) late(steps []step, i int) bool {
	s := steps[i]
	var before time.Time
	for _, o := range steps[:i] {
		if o.life == s.life {
			before = o.at
		}
	}
	return d.while(s.life, before, s.at)
}
