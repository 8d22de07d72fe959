package slack

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"parley/simulators/internal/stage"
)

// Book is a snapshot of everything that happened. It shares nothing that
// changes later.
type Book struct {
	// Events in the order of their creation: what people did, and what apps
	// are told.
	Events []EventEntry `json:"events"`
	// Messages that apps showed, in the order in which they were accepted.
	Messages []MessageEntry `json:"messages"`
	// Files that apps shared in conversations, in the order in which they
	// appeared there.
	Files []FileEntry `json:"files"`
	// Calls of methods, in the order in which they were answered.
	Calls []CallEntry `json:"calls"`
	// Connections of Socket Mode, in the order in which they were opened.
	Connections []ConnectionEntry `json:"connections"`
	// Signals are statuses, prompts and reactions.
	Signals []SignalEntry `json:"signals"`
	// Sessions of agents, in the order in which they were made.
	Sessions []SessionEntry `json:"sessions"`
	Totals   Totals         `json:"totals"`
	// Pending counts per app the events that are not acknowledged and not given
	// up.
	Pending map[string]int `json:"pending"`
	// Connected counts the open Socket Mode connections per app.
	Connected map[string]int `json:"connected"`
}

// Totals count since the start or the last reset; they are never trimmed.
type Totals struct {
	Events       int `json:"events"`       // created
	Delivered    int `json:"delivered"`    // attempts that reached a socket or an answer
	Acknowledged int `json:"acknowledged"` // events, each once
	Retried      int `json:"retried"`      // attempts after the first
	GivenUp      int `json:"given_up"`     // events after their last retry
	Posted       int `json:"posted"`       // messages accepted from apps, streams included
	Edited       int `json:"edited"`
	Deleted      int `json:"deleted"`
	Streamed     int `json:"streamed"` // appends that were accepted
	Calls        int `json:"calls"`
	Refused      int `json:"refused"` // calls that were not answered ok
	Faults       int `json:"faults"`  // calls and deliveries on which a fault fell
	// Unconfirmed counts calls that were applied while the caller got no usable
	// answer.
	Unconfirmed int `json:"unconfirmed"`
	// Violations counts calls made before a Retry-After had passed.
	Violations  int `json:"violations"`
	Connections int `json:"connections"` // ever opened
	// Unsolicited counts acknowledgements of envelopes nobody waits for.
	Unsolicited int `json:"unsolicited"`
	// Forgotten counts entries that fell out of the bounded lists, Missed
	// happenings that a slow watcher did not get.
	Forgotten int `json:"forgotten"`
	Missed    int `json:"missed"`
}

// EventEntry is one event for one app. A post that mentions the app is two of
// them, with one timestamp.
type EventEntry struct {
	App     string `json:"app"`
	EventID string `json:"event_id,omitempty"` // commands and actions have none
	// Kind is the type of the event, with a subtype behind a slash:
	// message/file_share. Commands are slash_commands, actions the type of
	// their payload.
	Kind     string    `json:"kind"`
	Channel  string    `json:"channel,omitempty"`
	TS       string    `json:"ts,omitempty"` // of the message it is about
	ThreadTS string    `json:"thread_ts,omitempty"`
	User     string    `json:"user,omitempty"`
	Bot      string    `json:"bot,omitempty"` // name of the app whose message it is
	Text     string    `json:"text,omitempty"`
	Created  time.Time `json:"created"`
	// Attempts to deliver it, in their order.
	Attempts []AttemptEntry `json:"attempts,omitempty"`
	// Acknowledged is zero until the app said that it has it.
	Acknowledged time.Time `json:"acknowledged,omitzero"`
	GivenUp      bool      `json:"given_up,omitempty"`
}

// AttemptEntry is one delivery of an event.
type AttemptEntry struct {
	EnvelopeID string `json:"envelope_id,omitempty"`
	// Connection is the id of the connection; empty for HTTP.
	Connection string `json:"connection,omitempty"`
	Retry      int    `json:"retry"` // 0: the first
	Reason     string `json:"reason,omitempty"`
	Status     int    `json:"status,omitempty"` // of HTTP; 0: no answer
	// Problem says why nothing was delivered, or why it counts as failed.
	Problem string    `json:"problem,omitempty"`
	Fault   Trouble   `json:"fault,omitempty"`
	At      time.Time `json:"at"`
	// Acknowledged is when the acknowledgement came, By over which connection.
	Acknowledged time.Time `json:"acknowledged,omitzero"`
	By           string    `json:"by,omitempty"`
}

// MessageEntry is one message of an app, with all its versions.
type MessageEntry struct {
	App      string `json:"app"`
	Channel  string `json:"channel"`
	TS       string `json:"ts"`
	ThreadTS string `json:"thread_ts,omitempty"`
	// Ephemeral names the only person who sees it.
	Ephemeral string `json:"ephemeral,omitempty"`
	// Unseen: it is ephemeral, and in a thread in which nobody has replied, so that no client
	// shows it. (Slack: "Ephemeral messages in threads are only shown if there is already an
	// active thread.")
	Unseen bool `json:"unseen,omitempty"`
	// Metadata as it was posted last, JSON.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Files    []string        `json:"files,omitempty"`
	Versions []Version       `json:"versions"`
	// Stream is streaming, completed, expired or stopped; empty for others.
	Stream string `json:"stream,omitempty"`
	// StreamTo is to whom alone it streams outside of a direct message, with the team
	// in front: T0/U0.
	StreamTo string `json:"stream_to,omitempty"`
	// Unconfirmed: a call was applied but its answer never reached the app in
	// usable form.
	Unconfirmed bool      `json:"unconfirmed,omitempty"`
	Deleted     time.Time `json:"deleted,omitzero"`
}

// Text returns what the latest version shows.
func (m MessageEntry) Text() string { return m.Versions[len(m.Versions)-1].Shown }

// TextFor returns what the latest version shows that the person sees: of what streams in
// a channel everybody but its recipient sees how it began, until it ends.
func (m MessageEntry) TextFor(p Person) string {
	if m.Stream == "streaming" && m.StreamTo != "" && !strings.HasSuffix(m.StreamTo, "/"+p.ID) {
		return m.Versions[0].Shown
	}
	return m.Text()
}

// Version is a message as it stood from At on.
type Version struct {
	// Text is the text argument, Shown what people read: the text, or what the
	// blocks say.
	Text   string          `json:"text"`
	Shown  string          `json:"shown"`
	Blocks json.RawMessage `json:"blocks,omitempty"`
	// Pings are the people and groups that it notifies: user ids, and channel,
	// here, everyone.
	Pings []string `json:"pings,omitempty"`
	// Unfurls are the links under which Slack shows what they lead to, which it asks
	// of whoever keeps that.
	Unfurls []string `json:"unfurls,omitempty"`
	// Method that made it, Remote who called it.
	Method string    `json:"method"`
	Remote string    `json:"remote,omitempty"`
	At     time.Time `json:"at"`
}

// FileEntry is a file that an app shared in a conversation.
type FileEntry struct {
	ID       string `json:"id"`
	App      string `json:"app"`
	Channel  string `json:"channel"`
	TS       string `json:"ts"` // of its message
	ThreadTS string `json:"thread_ts,omitempty"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Mimetype string `json:"mimetype,omitempty"`
	// Text of the message that shares it.
	Text string    `json:"text,omitempty"`
	Data []byte    `json:"data"`
	At   time.Time `json:"at"`
}

// CallEntry is one call of a method, or, as method upload, a file that was posted
// to the URL for it. Status 0 means that the connection was cut without an answer.
type CallEntry struct {
	App       string  `json:"app,omitempty"`
	Method    string  `json:"method"`
	Channel   string  `json:"channel,omitempty"`
	TS        string  `json:"ts,omitempty"` // the message it made or was about
	Status    int     `json:"status"`
	Error     string  `json:"error,omitempty"`
	Fault     Trouble `json:"fault,omitempty"`
	Violation bool    `json:"violation,omitempty"`
	// Token: a token came with an upload, which needs none.
	Token  bool          `json:"token,omitempty"`
	Remote string        `json:"remote,omitempty"`
	At     time.Time     `json:"at"`
	Took   time.Duration `json:"took_ns"`
}

// ConnectionEntry is one Socket Mode connection.
type ConnectionEntry struct {
	ID     string    `json:"id"`
	App    string    `json:"app"`
	Remote string    `json:"remote"`
	Opened time.Time `json:"opened"`
	Closed time.Time `json:"closed,omitzero"`
	// Reason of its end: what the server closed it for, or how the client left.
	Reason string `json:"reason,omitempty"`
	// Beside is how many the app had open then, this one included.
	Beside    int `json:"beside"`
	Envelopes int `json:"envelopes"` // sent on it
	Acks      int `json:"acks"`      // received on it
}

// SignalEntry is something an app showed that is not a message.
type SignalEntry struct {
	App      string          `json:"app"`
	Kind     string          `json:"kind"` // status, prompts, reaction, unreaction
	Channel  string          `json:"channel,omitempty"`
	ThreadTS string          `json:"thread_ts,omitempty"`
	TS       string          `json:"ts,omitempty"` // of the message a reaction is on
	Text     string          `json:"text,omitempty"`
	Payload  json.RawMessage `json:"payload,omitempty"`
	At       time.Time       `json:"at"`
}

type books struct {
	*stage.Change
	events      stage.Shelf[EventEntry]
	messages    stage.Shelf[MessageEntry]
	files       stage.Shelf[FileEntry]
	calls       stage.Shelf[CallEntry]
	connections stage.Shelf[ConnectionEntry]
	signals     stage.Shelf[SignalEntry]
	sessions    stage.Shelf[SessionEntry]
	totals      Totals
}

func newBooks(keep int, c *stage.Change) *books {
	b := &books{Change: c}
	stage.Bind(keep, &b.totals.Forgotten, &b.events, &b.messages, &b.files, &b.calls, &b.connections, &b.signals, &b.sessions)
	return b
}

// book takes a snapshot. The caller holds the lock.
func (s *Server) book() Book {
	b := Book{
		Events: s.books.events.Copy(), Messages: s.books.messages.Copy(), Files: s.books.files.Copy(), Calls: s.books.calls.Copy(),
		Connections: s.books.connections.Copy(), Signals: s.books.signals.Copy(), Sessions: s.books.sessions.Copy(),
		Totals: s.books.totals, Pending: map[string]int{}, Connected: map[string]int{},
	}
	for i := range b.Messages {
		b.Messages[i].Versions = slices.Clip(b.Messages[i].Versions)
	}
	for i := range b.Sessions {
		b.Sessions[i].Statuses = slices.Clip(b.Sessions[i].Statuses)
	}
	for i := range b.Events {
		b.Events[i].Attempts = slices.Clone(b.Events[i].Attempts)
	}
	for _, a := range s.apps {
		b.Pending[a.Name] = a.owed
		b.Connected[a.Name] = len(a.conns)
	}
	return b
}
