// Package simtest runs the real worker and the real delivery against a world
// of which every move is decided by a seed: the store, the message log, the
// chat network, the model and the clock.
//
// Three workers and a process or two that send share one store
// (sessions/memtest, on the rules that are written once). Each of their operations
// waits at a gate; when all goroutines wait, a scheduler decides what happens
// next: an operation is performed and heard of, refused, performed and its
// answer lost, slow, performed twice, or given up and performed later; a
// process dies, freezes past its lease and comes back, is taken for dead by another,
// rightly or wrongly, is asked to end, begins;
// a message comes, comes again, is delivered again; somebody says stop; time
// passes. What must hold is checked after every decision:
//
//	I1 each event becomes at most one message of its history, in the log's order
//	I2 a mailbox has one owner, an epoch never falls, nobody is robbed who lives,
//	   and who takes lives
//	I3 a stale write changes nothing; what is confirmed and owed is always found
//	I4 calls have their results, a tool with side effects runs once, an answer
//	   arrives once and again only with a mark and a reason, in its chat's order
//	I5 in the end everything is answered, or put aside and told, or stopped
//
// A run is a function of its seed but for one thing: where several channels are
// ready at once, Go's select draws lots. On one processor about 97 seeds of 100
// give the same trace again; for the others the trace of the first run, which a
// failing test prints, is what there is.
package simtest
