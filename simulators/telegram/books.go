package telegram

import (
	"slices"
	"time"

	"parley/simulators/internal/stage"
)

// Book is a snapshot of everything that happened. It shares nothing that
// changes later.
type Book struct {
	// Updates in the order of their creation.
	Updates []UpdateEntry `json:"updates"`
	// Messages that bots sent, in the order the server accepted them.
	Messages []MessageEntry `json:"messages"`
	// Calls of methods, in the order they were answered.
	Calls []CallEntry `json:"calls"`
	// Hooks are calls of webhooks, in the order they were answered.
	Hooks []HookEntry `json:"hooks"`
	// Signals are chat actions, callback answers and reactions.
	Signals []SignalEntry `json:"signals"`
	Totals  Totals        `json:"totals"`
	// Pending counts the unconfirmed updates per bot username.
	Pending map[string]int `json:"pending"`
	// Polling tells which bots wait in a long poll at this moment.
	Polling map[string]bool `json:"polling"`
}

// Totals count since the start or the last reset; they are never trimmed.
type Totals struct {
	Updates   int `json:"updates"`   // created
	Confirmed int `json:"confirmed"` // by an offset, or a webhook's 2xx
	Sent      int `json:"sent"`      // messages accepted from bots
	Edited    int `json:"edited"`
	Deleted   int `json:"deleted"`
	Calls     int `json:"calls"`
	Refused   int `json:"refused"` // calls answered with ok=false
	Faults    int `json:"faults"`  // calls on which a fault fell
	// Unconfirmed counts calls that were applied while the caller got no
	// usable answer.
	Unconfirmed int `json:"unconfirmed"`
	// Violations counts calls made before a retry_after had passed.
	Violations int `json:"violations"`
	// Hooked counts calls of webhooks, Unhooked those that got no 2xx.
	Hooked   int `json:"hooked"`
	Unhooked int `json:"unhooked"`
	// Forgotten counts entries that fell out of the bounded lists, Missed
	// happenings that a slow watcher did not get.
	Forgotten int `json:"forgotten"`
	Missed    int `json:"missed"`
}

// UpdateEntry is one update of one bot.
type UpdateEntry struct {
	Bot       string    `json:"bot"`
	UpdateID  int64     `json:"update_id"`
	Kind      string    `json:"kind"` // message, edited_message, callback_query …
	ChatID    int64     `json:"chat_id,omitempty"`
	MessageID int64     `json:"message_id,omitempty"`
	ThreadID  int64     `json:"thread_id,omitempty"`
	FromID    int64     `json:"from_id,omitempty"`
	Text      string    `json:"text,omitempty"`
	Created   time.Time `json:"created"`
	// Handed counts how often it was part of an answer to getUpdates or of
	// a webhook call.
	Handed int `json:"handed"`
	// Confirmed is zero until an offset above the id arrived.
	Confirmed time.Time `json:"confirmed,omitzero"`
	// Dropped is set when drop_pending_updates or a negative offset
	// discarded it.
	Dropped bool `json:"dropped,omitempty"`
}

// MessageEntry is one message of a bot, with all its versions.
type MessageEntry struct {
	Bot       string `json:"bot"`
	ChatID    int64  `json:"chat_id"`
	MessageID int64  `json:"message_id"`
	ThreadID  int64  `json:"thread_id,omitempty"`
	ReplyTo   int64  `json:"reply_to,omitempty"`
	// Receiver is the id of the only person who sees it, and EphemeralID what it is known by then, in
	// place of MessageID; 0: everybody does.
	Receiver    int64 `json:"receiver,omitempty"`
	EphemeralID int64 `json:"ephemeral_id,omitempty"`
	// Document is the file of a message that is one; its caption is the text.
	Document *DocumentEntry `json:"document,omitempty"`
	Versions []Version      `json:"versions"`
	// Unconfirmed: a send or an edit was applied but its answer never
	// reached the bot in usable form.
	Unconfirmed bool      `json:"unconfirmed,omitempty"`
	Deleted     time.Time `json:"deleted,omitzero"`
}

// Text returns the latest version of the message.
func (m MessageEntry) Text() string { return m.Versions[len(m.Versions)-1].Text }

// happening is what people see at once when the message comes to be, or changes.
func (m *MessageEntry) happening(kind string, at time.Time) Happening {
	v := m.Versions[len(m.Versions)-1]
	return Happening{
		Kind: kind, Bot: m.Bot, ChatID: m.ChatID, ThreadID: m.ThreadID, MessageID: m.MessageID, ReplyTo: m.ReplyTo,
		Text: v.Text, Entities: v.Entities, Document: m.Document, At: at,
	}
}

// DocumentEntry is a file that a bot uploaded.
type DocumentEntry struct {
	FileID string `json:"file_id"`
	Photo  bool   `json:"photo,omitempty"` // it is shown as a picture, without its name
	Name   string `json:"name"`
	MIME   string `json:"mime,omitempty"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in hex
}

// Version is a message as it stood from At on.
type Version struct {
	Text     string    `json:"text"`
	Entities []Entity  `json:"entities,omitempty"`
	Markup   string    `json:"reply_markup,omitempty"` // JSON
	At       time.Time `json:"at"`
	// Client is the address, without a port, from which the call came that
	// made it.
	Client string `json:"client,omitempty"`
}

// CallEntry is one call of a method. Status 0 means that the connection was
// cut without an answer.
type CallEntry struct {
	Bot         string        `json:"bot"`
	Method      string        `json:"method"`
	ChatID      int64         `json:"chat_id,omitempty"`
	Status      int           `json:"status"`
	Description string        `json:"description,omitempty"`
	Fault       Trouble       `json:"fault,omitempty"`
	Violation   bool          `json:"violation,omitempty"`
	At          time.Time     `json:"at"`
	Took        time.Duration `json:"took_ns"`
}

// HookEntry is one call of a bot's webhook.
type HookEntry struct {
	Bot      string  `json:"bot"`
	UpdateID int64   `json:"update_id"`
	ChatID   int64   `json:"chat_id,omitempty"`
	Status   int     `json:"status"`            // 0: no response
	Problem  string  `json:"problem,omitempty"` // why it is no success, as in getWebhookInfo
	Fault    Trouble `json:"fault,omitempty"`
	// Again: the update had been handed out before.
	Again bool `json:"again,omitempty"`
	// Beside is how many calls of the bot were under way, this one included.
	Beside int           `json:"beside"`
	At     time.Time     `json:"at"`
	Took   time.Duration `json:"took_ns"`
}

// SignalEntry is something a bot showed that is not a message.
type SignalEntry struct {
	Bot      string    `json:"bot"`
	Kind     string    `json:"kind"` // action, callback_answer, reaction
	ChatID   int64     `json:"chat_id,omitempty"`
	ThreadID int64     `json:"thread_id,omitempty"`
	ID       string    `json:"id,omitempty"` // query id, message id
	Text     string    `json:"text,omitempty"`
	Alert    bool      `json:"alert,omitempty"`
	At       time.Time `json:"at"`
}

type books struct {
	*stage.Change
	updates  stage.Shelf[UpdateEntry]
	messages stage.Shelf[MessageEntry]
	calls    stage.Shelf[CallEntry]
	hooks    stage.Shelf[HookEntry]
	signals  stage.Shelf[SignalEntry]
	totals   Totals
}

func newBooks(keep int, c *stage.Change) *books {
	b := &books{Change: c}
	stage.Bind(keep, &b.totals.Forgotten, &b.updates, &b.messages, &b.calls, &b.hooks, &b.signals)
	return b
}

// book takes a snapshot. The caller holds the lock.
func (s *Server) book() Book {
	b := Book{
		Updates: s.books.updates.Copy(), Messages: s.books.messages.Copy(),
		Calls: s.books.calls.Copy(), Hooks: s.books.hooks.Copy(), Signals: s.books.signals.Copy(),
		Totals: s.books.totals, Pending: map[string]int{}, Polling: map[string]bool{},
	}
	for i := range b.Messages {
		b.Messages[i].Versions = slices.Clip(b.Messages[i].Versions)
	}
	for _, a := range s.accounts {
		b.Pending[a.bot.Username] = len(a.inbox.waiting)
		b.Polling[a.bot.Username] = a.inbox.poller != nil
	}
	return b
}
