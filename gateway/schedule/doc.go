// Package schedule says when the jobs of the configuration and of people are due, and queues each of their runs
// as a message.
//
//	Timing ── slot ──► Scheduler ── a message of the job ──► message log ──► worker
//
// A run is a message in a mailbox of the job's own, whose event follows from the job and its slot
// alone: it is taken once, whichever process queued it, and however often. Which slots were
// dealt with stands in one record of each job, so that a gateway that was down knows what it
// missed. (K04, docs/decisions/0085)
package schedule
