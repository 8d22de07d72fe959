// Package channels defines how parley talks to a chat network: incoming messages,
// outgoing ones, and the abilities that only some networks have.
//
// An adapter translates and decides nothing: who may talk, what a message is
// for and what is answered is said elsewhere. It keeps one promise that the
// rest stands on: an adapter acknowledges to the network only after accept returned
// nil for the event.
package channels

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"parley/sessionkeys"
)

// Accept takes one event. When it returns nil the event is stored durably and
// the network may be told so. When it returns an error nothing was taken: the
// adapter must not acknowledge the event and offers it again, after a pause,
// before any later event of the same chat. It may be called concurrently for
// different chats and accounts.
type Accept func(ctx context.Context, m Message) error

// Filter reports whether what the sender of m says in its chat could lead to anything.
// It is quick. Of an event for which it is false an adapter asks the network nothing,
// and offers it as it came: strangers cost no calls. It decides nothing else.
type Filter func(ctx context.Context, m Message) bool

// PassAll heeds all events.
func PassAll(context.Context, Message) bool { return true }

// Channel is one bot account on one network.
type Channel interface {
	// Name returns the configured instance name, unique in the process, a label.
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

// Streamer is an Editor whose network has a way of its own to show an answer that
// grows. Where that cannot be used its methods send and edit as the others do.
type Streamer interface {
	// StartStream is Send for the first of a growing answer.
	StartStream(ctx context.Context, r Reply) (Receipt, error)
	// UpdateStream shows more of what Begin sent. What it shows is passing: Edit with the
	// final text ends the growing, in whatever process, and may be repeated.
	UpdateStream(ctx context.Context, to sessionkeys.Address, messageID string, b Body) error
	// SplitStream ends the growing of what Begin sent, because the text is to begin anew,
	// and leaves there what was said until then, all of which b is; zero: what it
	// shows. It is false where Grow can show the new text in the same message.
	SplitStream(ctx context.Context, to sessionkeys.Address, messageID string, b Body) (bool, error)
	// EndStream ends the growing of what Begin sent, in whatever process, and leaves what
	// it shows: no Edit will follow. What does not grow is left alone, with success.
	EndStream(ctx context.Context, to sessionkeys.Address, messageID string) error
}

// Pacer is a channel whose network takes only so much in a time.
type Pacer interface {
	// Book keeps room for the next Send, Edit or SendFile at the place, until its call is made
	// or release is called, and returns 0; or returns how long it is until the network may be
	// given another message for the place, and keeps nothing. Each place has one booking at a
	// time. release may be called again, and after the call.
	//
	// A Send, Edit or SendFile for which there is no room, booked or free, and a Begin, Grow or
	// Typing, makes no call and fails as RateLimit.
	Book(to sessionkeys.Address) (wait time.Duration, release func())
}

// Finder can look up what became of a send whose answer was lost.
type Finder interface {
	// Find looks for the message that was sent to the place as Reply.ID id, not
	// before since. It is false when no such message is there; a send whose request
	// is still under way may yet bring one. An error says that it cannot be known,
	// or not now.
	Find(ctx context.Context, to sessionkeys.Address, id string, since time.Time) (Receipt, bool, error)
}

// Fetcher can bring the files that came with messages.
type Fetcher interface {
	// Fetch writes the file a, which came to the place in, into w while it comes;
	// what was written before an error is worth nothing. The error is an *Error:
	// Refused when the network will never hand it out. An error of w is in its
	// chain.
	Fetch(ctx context.Context, in sessionkeys.Address, a Attachment, w io.Writer) error
}

// FileSender can send files.
type FileSender interface {
	// LargestFile returns what the network takes, in bytes.
	LargestFile() int64
	// SendFile is Send for a file, which is a message of its own: r has no Body.
	// Where r is a Repeat, a text beside the file says so. content gives f.Size
	// bytes, and is not read after SendFile returned; an error of it is Unsent and
	// in the chain of the error.
	SendFile(ctx context.Context, r Reply, f File, content io.Reader) (Receipt, error)
}

// Typer can show that the bot is at work; the sign fades by itself after
// TypingDuration.
type Typer interface {
	ShowTyping(ctx context.Context, to sessionkeys.Address) error
	TypingDuration() time.Duration
}

// TypingStopper is a Typer that can take its sign away, which would stay otherwise. What is
// sent or edited takes it away too.
type TypingStopper interface {
	// StopTyping reports that the bot is not at work any more. It may be repeated, in
	// whatever process.
	StopTyping(ctx context.Context, to sessionkeys.Address) error
}

// StatusShower is a Typer that has a place beside a conversation for what the bot does at
// this moment, so that it need not stand in a message.
type StatusShower interface {
	// HasStatus reports whether there is such a place. It makes no call.
	HasStatus(to sessionkeys.Address) bool
	// ShowStatus is ShowTyping with one line of words, Markdown of which at most code spans
	// are markup; none takes away what stands there. It fades as the sign does.
	ShowStatus(ctx context.Context, to sessionkeys.Address, line string) error
}

// WebhookReceiver is a channel to whom the network comes with HTTP requests.
type WebhookReceiver interface {
	// Hook gives the path of those requests and what answers them; an empty
	// path means that this channel, as configured, has none. The handler tells
	// by itself who may come, limits what it reads, and tells the network to
	// come again while Receive does not run. It may be served at any time.
	Hook() (path string, h http.Handler)
}

// Runner is a channel with something of its own that must run while messages are
// sent, and not only while they are received, such as a program that speaks the
// network's protocol.
type Runner interface {
	// Run keeps it running until ctx ends, and returns when it has ended. Receive
	// runs it too, so that who only receives need not call Run. Without either,
	// Send fails as Unsent.
	Run(ctx context.Context)
}

// Noted is a channel that, as it is configured, promises less than a Channel
// does.
type Noted interface {
	// Note returns one line for the operator, or empty.
	Note() string
}

// NoteTaker is an Observer that keeps what an operator should know of a channel and
// the channel learns from the network: one line, or empty.
type NoteTaker interface {
	Note(channel, note string)
}

// Observer counts what happens on the wire, for metrics. Calls must not
// block. The zero value of a nil Observer is not allowed: adapters take Nobody
// by default.
type Observer interface {
	SetConnected(channel string, up bool)
	Reconnected(channel string)
	Event(channel string, at time.Time)
	SendRetried(channel, reason string) // rate_limited, network or server
}

// NopObserver observes nothing.
type NopObserver struct{}

// SetConnected does nothing.
func (NopObserver) SetConnected(string, bool) {}

// Reconnected does nothing.
func (NopObserver) Reconnected(string) {}

// Event does nothing.
func (NopObserver) Event(string, time.Time) {}

// SendRetried does nothing.
func (NopObserver) SendRetried(_, _ string) {}

// EventKind describes what sort of event a Message is. Every kind passes the same
// authorisation.
type EventKind string

// Kinds of events.
const (
	Said       EventKind = "message"
	Edited     EventKind = "edited"     // MessageID is the message's own, Text what it says now, perhaps the same as before
	Pressed    EventKind = "pressed"    // a button
	Membership EventKind = "membership" // the bot was added, removed, blocked: Message.Closed says which
	Deleted    EventKind = "deleted"    // a message was taken back, which MessageID names, by its sender or an admin
	// Migrated: the chat Address has a new id, Message.MovedTo. It is the
	// network that says so, for any sender, who may be anonymous. It may
	// come twice, once from either side of the move.
	Migrated EventKind = "migrated"
	// Unreadable: it cannot be decoded. Only Channel, Event, Raw and Problem are set,
	// and Sender where the event says so much.
	Unreadable EventKind = "unreadable"
	Unhandled  EventKind = "unhandled" // well-formed, but of a sort parley does not use
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

	// Origin is the chat's id as the event named it, when Address has an older one
	// of the same chat, which has moved. Adapters leave it empty.
	Origin string `json:"origin,omitempty"`

	MessageID string `json:"message_id"` // the network's id of the message, to reply to; see Asked
	Text      string `json:"text"`       // plain text, UTF-8, without the mention of the bot at its start

	// Mentioned: the bot is addressed by name, by a command for it, or by a
	// reply to one of its messages. Always true in a DM.
	Mentioned bool   `json:"mentioned"`
	ReplyTo   *Quote `json:"reply_to,omitempty"`
	// Follows: it is a reply in a thread that does not name the bot. It speaks to the
	// bot if that takes part in the conversation of Address, which the adapter does not
	// know.
	Follows bool `json:"follows,omitempty"`
	// Forwarded is what others said elsewhere and the sender passed on. It is never
	// part of Text: no command, no mention.
	Forwarded   []Quote      `json:"forwarded,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	MovedTo     string       `json:"moved_to,omitempty"` // Migrated: the chat's new id, of the same kind and without a thread

	// Album is the network's id of a group of messages that were sent as one;
	// empty: the message stands alone. It is unique within a chat. Each message
	// of the group is an event of its own, they follow one another within a
	// second or so, and at most one of them has a text.
	Album string `json:"album,omitempty"`

	// Partial, with Said or Edited: the network may tell more of the same message, at once, by an
	// Edited event that is Completing and of the same MessageID. Who has the message
	// whole already loses nothing by that: it changes what the message lacks.
	Partial    bool `json:"partial,omitempty"`
	Completing bool `json:"completing,omitempty"`

	// Around is a reference to what others said there before, and did not say to the
	// bot: Fetch brings it as an Attachment of the kind Around. Empty: there is none.
	Around string `json:"around,omitempty"`

	// Heard is what others said there before, and did not say to the bot, where no
	// network keeps it to be fetched. Adapters leave it to intake, which is configured
	// to keep it: bounded, oldest first, all Untrusted.
	Heard []Quote `json:"heard,omitempty"`
	// ExpiresAfter is how long after it the network takes the message away; 0: it stays.
	ExpiresAfter time.Duration `json:"fades,omitempty"`

	// Closed, with Membership: from now on sends to the chat are refused,
	// because the bot was removed, blocked or muted there. A later Membership
	// that is not Closed opens the chat again.
	Closed bool `json:"closed,omitempty"`

	// Job is the name of the operator's job whose run this is, and Address where its result
	// goes. Adapters leave it empty, and what they bring with one is refused.
	Job string `json:"job,omitempty"`

	// Decision: it carries a decision about a question for permission that was taken elsewhere,
	// and Text is the command that says which; Address is where the question was asked. Adapters
	// leave it nil, and what they bring with one is refused.
	Decision *Decision `json:"decision,omitempty"`

	SentAt     time.Time `json:"sent_at"`     // by the network's clock; zero when it says nothing
	ReceivedAt time.Time `json:"received_at"` // by ours

	Problem string          `json:"problem,omitempty"` // Unreadable, Unhandled: why
	Raw     json.RawMessage `json:"raw,omitempty"`     // Unreadable: the event as it came
}

// Decision says who has decided about a question, and about which one.
type Decision struct {
	Request string `json:"request"` // the id of the request
	// Operator: it was decided by a command of the program. The Sender is who asked.
	Operator bool `json:"operator,omitempty"`
	// By is which operator, for the record.
	By string `json:"by,omitempty"`
	// From is the direct message in which the Sender decided, and reads what becomes of it; zero
	// with Operator.
	From sessionkeys.Address `json:"from,omitzero"`
}

// Sender is who caused an event. ID is the network's stable id; Name is for
// showing only and proves nothing.
type Sender struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Alias is another id that the network has for the same person and vouches
	// for, such as a number: who is allowed by it is allowed.
	Alias string `json:"alias,omitempty"`
	// Bot: another bot. Anonymous: the person behind it is unknown (an
	// anonymous admin, a channel, an automatic forward); ID is not a person's.
	Bot       bool `json:"bot,omitempty"`
	Anonymous bool `json:"anonymous,omitempty"`
}

// IsBlank reports whether there is nothing in m that could be answered.
func (m Message) IsBlank() bool {
	return m.Text == "" && len(m.Attachments) == 0 && len(m.Forwarded) == 0
}

// TextSize counts what of m a model would read beside its files and what was said around
// it, which have bounds of their own.
func (m Message) TextSize() int {
	n := len(m.Text)
	if m.ReplyTo != nil {
		n += len(m.ReplyTo.Text)
	}
	for _, q := range m.Forwarded {
		n += len(q.Text)
	}
	return n
}

// Quote is what was said before and elsewhere: the message that another one answers,
// or one that is passed on.
type Quote struct {
	MessageID string `json:"message_id,omitempty"` // empty: not in this chat, or not known
	Text      string `json:"text,omitempty"`
	// Author is who wrote it, as far as the network says so. The zero Sender means that
	// the network does not say.
	Author    Sender `json:"author,omitzero"`
	FromBot   bool   `json:"from_bot,omitempty"` // ours
	IsExcerpt bool   `json:"piece,omitempty"`    // the sender chose this part of the message
	// Untrusted: Author may not talk to the bot, or is not known. Adapters leave it to
	// intake, which knows.
	Untrusted bool `json:"untrusted,omitempty"`
}

// Around is the Kind of an Attachment that is no file. What Fetch writes of it is JSON,
// a []Quote, oldest first, bounded, all Untrusted.
const Around = "around"

// Attachment is a file by reference; fetching it is the adapter's business.
type Attachment struct {
	Kind string `json:"kind"` // photo, document, voice, …
	Name string `json:"name,omitempty"`
	MIME string `json:"mime,omitempty"`
	Size int64  `json:"size,omitempty"`
	Ref  string `json:"ref"` // opaque outside the adapter
	// Millis is how long a sound is, where the network says so.
	Millis int64 `json:"millis,omitempty"`
}

// Voice is the Kind of an Attachment in which the sender of the message speaks.
const Voice = "voice"

// Body is one message in the network's own form. It is stored between
// rendering and sending, so it is plain data.
type Body struct {
	Text   string          `json:"text"`             // what is read; also the plain-text fallback
	Markup json.RawMessage `json:"markup,omitempty"` // the adapter's own: entities, blocks, styles
	// Choices are what people may answer by a button under the message, where the network has
	// some; elsewhere the text says how to answer. A press comes as a Message of the kind
	// Pressed, whose Text is what the button Says and whose Sender pressed it.
	Choices []Choice `json:"choices,omitempty"`
}

// Choice is one button.
type Choice struct {
	Label string `json:"label"`
	Says  string `json:"says"` // at most 64 bytes
}

// File is what is said of a file on its way out.
type File struct {
	Name string `json:"name"` // without a folder; adapters take from it what their network does not like
	MIME string `json:"mime,omitempty"`
	Size int64  `json:"size"` // in bytes, more than 0
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
