package worker

import "errors"

// A process that dies counts as an attempt for every turn that it ran, so three
// deaths in a row would put healthy turns among the dead letters, beside the one that
// kills. What is taken up for the last time is therefore a suspect, and of suspects
// one runs at a time in a process; the others are given back, which takes their
// attempt from them. So one death is the last attempt of one turn at most.

// errSuspect ends an actor that has to wait for another suspect.
var errSuspect = errors.New("another suspect runs")

// suspicion lets the actor run while it is a suspect only if no other suspect does.
type suspicion struct {
	*owner
	holds bool // w.suspects: it is the suspect that runs
}

// isSuspect reports whether the death of this process would be the end of the work. A
// request to stop it is never kept waiting.
func (a *suspicion) isSuspect() bool {
	last := a.attempts()
	return last > 1 && a.m.Attempts == last && a.m.Controls == 0
}

// mayRun reports whether the actor may go on. A suspect that may is the only
// one until it is none any more.
func (a *suspicion) mayRun() bool {
	if !a.isSuspect() {
		a.clearSuspicion()
		return true
	}
	a.holds = a.holds || a.w.suspects.TryLock()
	if !a.holds {
		a.w.suspectsDeferred.Store(true)
	}
	return a.holds
}

// clearSuspicion lets the next suspect run, if this was one.
func (a *suspicion) clearSuspicion() {
	if !a.holds {
		return
	}
	a.holds = false
	a.w.suspects.Unlock()
	a.w.suspectsDeferred.Store(false)
	a.w.markBacklog()
	a.w.nudge.Send()
}
