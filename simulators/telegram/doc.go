// Package telegram is a Telegram Bot API server on loopback, with the people
// who write to the bots and with faults on demand.
//
//	people (Say, Edit, Press, Kick, Migrate …)        bots over HTTP
//	      │                                                 │
//	      ▼                                                 ▼
//	   history of each chat ──► inbox of each bot ──► getUpdates, webhook
//	      ▲                                                 │
//	      └───────────── sendMessage, editMessageText ◄─────┘
//	                 everything is written into the books
//
// The wire types and the error texts follow the documentation of the Bot API
// and what its public server is known to answer. The simulator keeps its own
// books ([Book]), so that a checker need not believe the program under test.
//
// Known differences from the real service: updates do not expire after 24
// hours; a command without @name in a group reaches every bot with privacy
// mode on, not only the last one that spoke; answering a callback query twice
// is accepted; only methods that parley calls are there, of media documents and photos; webhooks are called
// over plain HTTP if asked, each chat's updates one after another, and
// no method call is read from their answer; formatting is taken as entities only, and
// every parse_mode is refused.
package telegram
