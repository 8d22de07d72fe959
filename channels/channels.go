// Package channels is a chat network seen from inside: what comes in, what
// goes out, and what only some networks can do.
//
// An adapter translates and decides nothing: who may talk, what a message is
// for and what is answered is said elsewhere. It keeps one promise that the
// rest stands on: the network is told "received" only after accept returned
// nil for the event.
package channels

import (
	"context"
	"encoding/json"
	"time"

	"parley/sessionkeys"
)

// Accept takes one event. When it returns nil the event is stored durably and
// the network may be told so. When it returns an error nothing was taken: the
// adapter must not acknowledge the event and offers it again, after a pause,
// before any later event of the same chat. It may be called concurrently for
// different chats and accounts.
type Accept func(ctx context.Context, m Message) error

// Channel is one bot account on one network.
type Channel interface {
	// Name is the configured instance name, unique in the process, a label.
	Name() string

	// Receive brings events until ctx ends, and then returns nil; or until the
	// account cannot go on (a bad token), and then returns an *Error of kind
	// Unauthorized. It reconnects by itself over everything else.
	Receive(ctx context.Context, accept Accept) error

	// Render turns Markdown into messages that the network will take, each
	// within its limits, in order. It is pure. Empty or invisible text gives
	// none.
	Render(markdown string) []Body

	// Send sends one rendered message, once. Its error is an *Error, whose kind
	// says whether the message may have arrived. Calls for one chat are made
	// one after another by the caller; different chats at once.
	Send(ctx context.Context, r Reply) (Receipt, error)
}

// Editor can change a message that was sent. Editing to the same content is a
// success.
type Editor interface {
	Edit(ctx context.Context, to sessionkeys.Address, messageID string, b Body) error
}

// Typer can show that the bot is at work; the sign fades by itself after
// TypingFor.
type Typer interface {
	Typing(ctx context.Context, to sessionkeys.Address) error
	TypingFor() time.Duration
}

// Observer is told what happens on the wire, for metrics. Calls must not
// block. The zero value of a nil Observer is not allowed: adapters take Nobody
// by default.
type Observer interface {
	Up(channel string, up bool)
	Reconnected(channel string)
	Event(channel string, at time.Time)
	SendRetried(channel, reason string) // rate_limited, network or server
}

// Nobody observes nothing.
type Nobody struct{}

// Up does nothing.
func (Nobody) Up(string, bool) {}

// Reconnected does nothing.
func (Nobody) Reconnected(string) {}

// Event does nothing.
func (Nobody) Event(string, time.Time) {}

// SendRetried does nothing.
func (Nobody) SendRetried(_, _ string) {}

// EventKind says what sort of event a Message is. Every kind passes the same
// authorisation.
type EventKind string

// Kinds of events.
const (
	Said       EventKind = "message"
	Edited     EventKind = "edited"
	Pressed    EventKind = "pressed"    // a button
	Membership EventKind = "membership" // the bot was added, removed, blocked
	Migrated   EventKind = "migrated"   // the chat has a new id: Message.MovedTo
	Unreadable EventKind = "unreadable" // cannot be decoded: only Channel, Event, Raw and Problem are set
	Unhandled  EventKind = "unhandled"  // well-formed, but of a sort parley does not use
)

// Message is one event of a network, as far as parley understands it.
type Message struct {
	// Event is the network's own id of the event, unique in (Channel, account):
	// a redelivered event has the same one.
	Event   string              `json:"event"`
	Kind    EventKind           `json:"kind"`
	Channel string              `json:"channel"` // instance name
	Address sessionkeys.Address `json:"address"`
	Sender  Sender              `json:"sender"`

	MessageID string `json:"message_id"` // the network's id of the message, to reply to
	Text      string `json:"text"`       // plain text, UTF-8, without the mention of the bot at its start

	// Mentioned: the bot is addressed by name, by a command for it, or by a
	// reply to one of its messages. Always true in a DM.
	Mentioned   bool         `json:"mentioned"`
	ReplyTo     *Quote       `json:"reply_to,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	MovedTo     string       `json:"moved_to,omitempty"` // Migrated: the chat's new id

	SentAt     time.Time `json:"sent_at"`     // by the network's clock; zero when it says nothing
	ReceivedAt time.Time `json:"received_at"` // by ours

	Problem string          `json:"problem,omitempty"` // Unreadable, Unhandled: why
	Raw     json.RawMessage `json:"raw,omitempty"`     // Unreadable: the event as it came
}

// Sender is who caused an event. ID is the network's stable id; Name is for
// showing only and proves nothing.
type Sender struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Bot: another bot. Anonymous: the person behind it is unknown (an
	// anonymous admin, a channel, an automatic forward); ID is not a person's.
	Bot       bool `json:"bot,omitempty"`
	Anonymous bool `json:"anonymous,omitempty"`
}

// Quote is the message that another one answers.
type Quote struct {
	MessageID string `json:"message_id"`
	Text      string `json:"text,omitempty"`
	FromBot   bool   `json:"from_bot,omitempty"` // ours
}

// Attachment is a file by reference; fetching it is the adapter's business.
type Attachment struct {
	Kind string `json:"kind"` // photo, document, voice, …
	Name string `json:"name,omitempty"`
	MIME string `json:"mime,omitempty"`
	Size int64  `json:"size,omitempty"`
	Ref  string `json:"ref"` // opaque outside the adapter
}

// Body is one message in the network's own form. It is stored between
// rendering and sending, so it is plain data.
type Body struct {
	Text   string          `json:"text"`             // what is read; also the plain-text fallback
	Markup json.RawMessage `json:"markup,omitempty"` // the adapter's own: entities, blocks, styles
}

// Reply is one rendered message on its way out.
type Reply struct {
	To      sessionkeys.Address
	ReplyTo string // message id to answer to; empty: none
	Body    Body
	ID      string // our id of this part, for networks that can carry a marker
	// Repeat: an earlier copy may have arrived. The adapter shows so, visibly
	// and briefly, in front of the text.
	Repeat bool
}

// Receipt proves that the network took a message.
type Receipt struct {
	MessageID string
}
