// Package signals is what the parts of parley tell each other while they work: the
// topics and bodies of the broker's short-lived signals. A signal may be lost, so
// nothing depends on one arriving: what it announces is found in the store or in the
// log a moment later, and what it shows is stored nowhere.
package signals

import (
	"time"

	"parley/channels"
	"parley/sessionkeys"
	"parley/sessions"
)

// Topics, each with the type of its bodies, which are JSON.
const (
	ControlTopic  = "control"  // Control
	OutboxTopic   = "outbox"   // Outbox
	WorkTopic     = "work"     // Work
	PreviewTopic  = "preview"  // Preview
	ReactionTopic = "reaction" // Reaction
	EventTopic    = "event"    // activity.Event, of what happens in turns but the pieces of streams
	PresenceTopic = "presence" // Presence
)

// Control announces a control request for the conversation of a mailbox.
type Control struct {
	Token string `json:"token"`
}

// Outbox announces answers that wait to be sent by a bot account.
type Outbox struct {
	Channel string `json:"channel"`
}

// Work tells the owner of the mailbox Token that the log has message Seq for it.
// Without a Token it tells every worker that mailboxes wait which nobody owns.
type Work struct {
	From  string `json:"from"` // nonce of the worker that sends it
	Token string `json:"token,omitempty"`
	Seq   uint64 `json:"seq,omitempty"`
}

// Presence says that a worker's process lives: when it starts, while it works on
// conversations, again and again, and when it comes to rest.
type Presence struct {
	Worker  sessions.Worker `json:"worker"`
	Working bool            `json:"working,omitempty"`
}

// Preview shows what a running turn does, in the chat it answers: that the bot is
// typing (nothing to show), or the answer so far and what the turn does meanwhile; or that
// the turn ended without an answer (Over), of which Text is what stays; or that the question with
// which a turn ended is decided (Decided), and needs no buttons. The answer itself never
// travels this way.
type Preview struct {
	Turn    string              `json:"turn"`
	Channel string              `json:"channel"`
	To      sessionkeys.Address `json:"to"`
	ReplyTo string              `json:"reply_to,omitempty"`
	Text    string              `json:"text,omitempty"`
	// Activity is what the turn does, Markdown, to be shown below Text for as long as it is
	// so; Status the same on one line, also Markdown, for where a chat has a place for it.
	Activity string `json:"activity,omitempty"`
	Status   string `json:"status,omitempty"`
	// Step is the model call that Text is of; each begins anew. Before is all that
	// was said in an earlier one, BeforeStep, the last that said anything.
	Step       int       `json:"step,omitempty"`
	Before     string    `json:"before,omitempty"`
	BeforeStep int       `json:"before_step,omitempty"`
	Over       bool      `json:"over,omitempty"`
	Decided    bool      `json:"decided,omitempty"`
	AskedAt    time.Time `json:"asked"` // when the turn's message was received
}

// Shows reports whether there is more to show than that the bot is at work.
func (p Preview) Shows() bool { return p.Text != "" || p.Activity != "" }

// Reaction shows on the messages of a turn how far it is.
type Reaction struct {
	Channel  string              `json:"channel"`
	To       sessionkeys.Address `json:"to"`
	Messages []string            `json:"messages"`
	Stage    channels.Stage      `json:"stage"`
	// Resumed: another process may have put reactions there.
	Resumed bool      `json:"resumed,omitempty"`
	AskedAt time.Time `json:"asked"` // when the turn's message was received
}
