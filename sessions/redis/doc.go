// Package redis keeps sessions in one Redis database, for any number of worker
// processes.
//
// Each method of the store is one Lua script, so it happens as a whole or not at
// all, and none sees another half done. Repeating a script changes nothing and
// answers the same, because the client sends it again when an answer is late.
//
// # How a method is made
//
// A script is lua/<name>.lua: the body of a function that returns a list for Go.
// Go puts lua/prelude.lua, lua/lib/session.lua and lua/lib/box.lua before it, then
// the files of lua/lib that its first line names ("-- uses: turn outbox"), and
// lua/epilogue.lua behind it. What a library offers is one local table of the same
// name. Scripts are embedded, and called by their SHA.
//
// The request is a Go struct as JSON, R in Lua; the answer a list of texts and
// lists, which [answer] takes apart. [Store.look] only reads; [Store.change] writes
// what may be forgotten (who owns what); [Store.record] writes what may not: a fact.
//
// What to know of Lua and Redis:
//
//   - A script that fails in the middle leaves what it wrote. So it checks first,
//     refuses with refuse(kind, text, data), and then only writes. The kinds, and
//     the errors they become, stand in [refusal].
//   - A number is a double. Sequences, epochs and times in microseconds fit (below
//     2^53); amounts do not, and stay texts. tostring and cjson.encode write 14
//     digits, so whole numbers are written by int(n); redis.call and flat(h) are exact.
//   - cjson.decode makes null a value that is true: requests have no null. A slice
//     that may be empty is never nil in a request (see [list]).
//   - A key or member made of several texts is id(a, b, …), never glued.
//   - All keys begin with P and are made by the script. (Redis Cluster is refused.)
//   - Money is reckoned on a plan before anything is written: see lua/lib/charge.lua.
//     A script that books or interrupts calls uses "turn money spend charge", and its
//     request carries a settlement (settlementOf) and a moment (momentOf).
//   - session.changed keeps roots by time, spend keeps them by cost.
//   - A fence is checked by box.owned(f) or box.holds(f) alone: facts that are
//     applied again go through the same script.
package redis
