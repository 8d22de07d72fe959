package channels

import "time"

// Wait is until when a network wants to hear nothing of an account: it counts by scope
// (a method, or all) and within it by chat; empty: each.
type Wait struct {
	Scope string
	Chat  string
	Until time.Time
}

// WaitRestorer keeps to the waits that its network asks for, also to those that an earlier
// process was asked for: a call within one is refused, and mostly makes it longer.
type WaitRestorer interface {
	// RestoreWaits takes waits that are known, and has keep called for each that is asked for
	// from then on. keep returns soon, and may be called concurrently. Called again, as
	// when the account comes back from another process, it replaces keep.
	RestoreWaits(known []Wait, keep func(Wait))
}
