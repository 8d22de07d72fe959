// Package signal is signal-cli with the Signal world behind it, on loopback:
// the people who write, the service that keeps messages for an account, and the
// daemon that stands between the account and whoever answers for it.
//
//	people (Say, Edit, React, Type …)              a client: JSON-RPC, SSE, journal
//	      │                                                       ▲
//	      ▼                                                       ▼
//	 history of each conversation ──► queue of each ──link──► daemon: socket, HTTP,
//	      ▲                            account                 stdout, config folder
//	      └──────── send, sendReaction … (faults fall here) ◄─────┘
//	                 everything is written into the books
//
// [Server] is the world. It outlives daemons: what a daemon has not acknowledged
// stays in the account's queue. [Daemon] is signal-cli, as a value or, through
// [Main], as a process with signal-cli's command line; [Install] writes a program
// that a supervisor starts under the name of signal-cli.
//
// The shapes follow signal-cli 0.13 and 0.14: what it writes was captured or is
// read in its source. A message is written into the daemon's cache, acknowledged to
// the service, decrypted, shown to every listener one after another, and taken
// out of the cache, whether a listener got it or not. The simulator keeps its own
// books ([Book]), so that a checker need not believe the program under test.
//
// Known differences from the real thing: nothing is encrypted, so a broken ratchet
// is a note in the cache; there is no D-Bus; of signal-cli's methods and options those
// are there that parley uses, one call at a time, and no usernames; a message that is edited for the eleventh
// time is accepted; what expires stays in the books.
package signal
