// Package slack is a Slack workspace on loopback, with the people who write in
// it and with faults on demand.
//
//	people (Say, Edit, Press, Command …)              apps over HTTP
//	      │                                                │
//	      ▼                                                ▼
//	 history of each conversation ──► events of each app ──► Socket Mode or Events API
//	      ▲                                                │
//	      └──── chat.postMessage, chat.update, chat.*Stream ◄────┘
//	                 everything is written into the books
//
// The Web API is at [Server.APIURL], Socket Mode where apps.connections.open
// says. The wire shapes and the error texts follow Slack's documentation and
// captures of its answers. The simulator keeps its own books ([Book]), so that a
// checker need not believe the program under test.
//
// Known differences from the real service: a message keeps the blocks it was
// posted with (Slack turns markdown blocks into rich_text when it stores them),
// and text without blocks gets none; what Slack would show of a link is booked, and
// becomes an event only if [Server.Unfurl] says so; a file is looked through in no time unless LateShare says otherwise,
// and whoever has an upload's URL may post to it until the file is shared; an app
// sees only conversations of its own workspace; only methods that parley calls are
// there, no views, and nothing behind response URLs; an agent's session that is processing stays so, and not for an hour; a
// tier's rate limit is a sliding minute; an event that was given up is only counted,
// subscriptions are never disabled.
package slack
