// Package redis keeps sessions in one Redis database, for any number of worker
// processes. What an operation does is decided by package rules; this one knows rows,
// indexes, sums and what a failover may lose.
//
// # How an operation is committed
//
// A process computes an operation from rows that it knows, or reads them by
// lua/rows.lua, in one state of the database. What the operation changes becomes a
// [plan]: a list of steps for lua/commit.lua, which looks first whether all that was
// read is still so, adds up sums against their limits, and then writes: as a whole or
// not at all. If something was changed meanwhile, the operation is computed again. A
// row that is a hash has a version for that, in its field v. Nearly always a worker is
// alone with its mailbox, knows its rows, and an operation is one call.
//
// Repeating a call of the script changes nothing, because the client sends it again
// when an answer is late: the versions are others then, and the operation is computed
// again from what it did itself.
//
// # Facts
//
// With [Facts], what may not be forgotten is written down in a replicated log before
// it is committed: as the rows that it writes, with the versions that it was computed
// from. After a failover the facts that the database lacks are applied again, and no
// rule is needed for that. Who owns what is no fact ([rules.WriteSet.Forgettable]), so
// of mailboxes and turns a version may be missing then; of nothing else.
//
// # Scripts
//
// There are two, and neither knows a rule. lua/commit.lua, behind the sums
// of lua/money.lua, carries a plan out; lua/rows.lua runs reads in one state of the
// database, also such as need names that others of them find: the mailboxes of a
// set, a tree of sessions. What is read in several steps is compared again by the
// commit, or is read in pages where a caller's function is called between them. All
// that this package writes goes through a plan; only the lock of whoever takes the
// database over is taken and given back by a command.
//
// What to know of Lua and Redis:
//
//   - A script that fails in the middle leaves what it wrote. So it checks first, and
//     then only writes.
//   - A number is a double. Sequences, epochs and times in microseconds fit (below
//     2^53); amounts do not, and stay texts. tostring writes 14 digits, so whole
//     numbers are written by string.format.
//   - unpack takes some 8,000 arguments, and a call some million.
//   - A key or member made of several texts is id(a, b, …), never glued.
//   - All keys begin with a prefix. (Redis Cluster is refused.)
//
// # Keys
//
//	box:<token>       a mailbox; boxes: all, by token; boxesof:<chat>: those of a chat
//	free              mailboxes that are owed work and nobody's, by since when
//	owned:<worker>    a worker's mailboxes; owes:<worker>: those that are owed work;
//	                  owners: the workers that have any
//	queued, running, waits  mailboxes with messages, with an open turn, with work and
//	                  without one; by since when
//	turn:<id>         a turn; turnsof:<session>; nested:<token>: the open nested ones;
//	                  active:<instance, kind>: root sessions by their last turn
//	sess:<id>         a session with its sums; ids: all; roots: by when they changed;
//	                  dear: by what their trees cost; kids:<id>; child:<token>
//	msgs:<session>    messages in order; msgids:<session>
//	inbox:<chat>      what each event became; words:<chat>: what messages say
//	begun:<turn>      tool calls that were begun, and under which fence
//	call:<id>         a reservation until it is settled; calls:<token>: the open ones of
//	                  a mailbox; holds:<session>: those that hold something
//	ledger            a stream of entries, numbered in the order of booking; booked: the
//	                  number of each; entries:<session>; used; prices, priceno
//	spend:<scope>     what a scope settled and holds; dearest:<day>: what trees settled
//	total:*           sums by labels
//	out:<id>          an answer with its parts as b1 (body), s1 (state), a1 (attempts),
//	                  m1 (message id), r1 (repeats), f1 (why it failed), p1 (problem),
//	                  t1 (time), w1 (who made the mark);
//	                  pending:<channel>, unsent, outof:<chat>, outs:<session>, ambiguous
//	control:<id>      a control request; controls, controls:<token>, shutting:<chat>
//	until, gone       leases of workers; names:<name>: nonces that are not gone
//	next:, prev:, movedat:<bot>, shut:<chat>  chats that moved, and were shut
//	asked:<session>, frames  what models were asked
//	record:<id>       a record; records:<kind>: by key; expire:<kind>: by when they end
//	meta              era, generation, mark of the facts, counters
package redis
