// Package faultpoint names moments at which a test may make this process fail.
//
// The code calls [Hit] where a crash would be interesting: after an effect and
// before the note of it, between two commits. In an ordinary build that is an
// empty function which the compiler removes, and nothing of this package is in
// the binary. Built with -tags faultpoints, the variable PARLEY_FAULTS says what
// happens where:
//
//	PARLEY_FAULTS=worker.finish.before=kill@3,agent.tool.effect=delay:200ms
//
// Each plan is point=action, point=action@n for the nth hit only, or
// point[text]=action for the hits of [HitOn] whose text holds that text:
//
//	kill       SIGKILL to this very process; nothing of it runs any more
//	stop       SIGSTOP; whoever sends SIGCONT lets it go on
//	panic      a panic in the goroutine that came here
//	delay:d    the goroutine that came here waits for d
//
// A plan that fires says so on standard error first, as a line of JSON with the
// message "fault". A variable that cannot be read ends the process at its start,
// so that no test passes because its fault was misspelt.
package faultpoint
