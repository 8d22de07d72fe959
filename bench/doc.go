// Package bench measures parley against a naked bot.
//
//	go test -run '^$' -bench . ./bench/...
//
// It holds nothing but benchmarks, and a test of what judges them. Each system
// under test is a process of its own, or several, which the test binary starts
// from itself; the benchmark's process plays Telegram, the people and the model
// on loopback, and NATS and Redis are real servers:
//
//	benchmark ── people ──► Telegram ──► naked | durable | parley
//	    ▲                      │              │       ▲
//	    └────── what the ──────┘              ▼       │
//	            chat shows                    model ──┘
//
// The naked bot polls, asks the model once and sends the answer, and keeps
// nothing: what it needs is what the wire costs. The durable one adds what no
// bot that loses nothing can leave out: history, order within a chat, and one
// append-only file that is synced before the network hears that a message is
// taken and before an answer is sent. parley is the whole gateway, with its
// log, its database, its ledger, its outbox and all metrics on, in one process or
// in the several of a deployment.
//
// A benchmark fails when an answer is missing, wrong or repeated, and never
// because something was slow. README.md says what each figure means.
package bench
