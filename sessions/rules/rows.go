package rules

import (
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// Row is a value that a database keeps under its key. Rows are values: whoever
// changes one that was read changes a copy, and does not write into its slices and
// pointers.
type Row interface{ Key() Key }

// Key names a row. It is comparable, and its type says which kind of row it names.
type Key interface{ kind() string }

// The keys of each kind of row.
type (
	// MailboxKey is a mailbox token.
	MailboxKey string
	// TurnKey is a turn's id.
	TurnKey string
	// SessionKey is a session's id.
	SessionKey sessionkeys.SessionID
	// ChildKey is the mailbox token of a child session.
	ChildKey string
	// EventKey is an event of a network.
	EventKey sessions.InboxID
	// TextHashKey is a message of a network: a Wording without its Sum.
	TextHashKey sessions.TextHash
	// BegunKey is a tool call.
	BegunKey struct {
		Turn string
		Step int
		Call string
	}
	// CallKey is the id of a reservation and of its ledger entry.
	CallKey string
	// ControlKey is the id of a control request.
	ControlKey string
	// AnswerKey is the id of an Outgoing.
	AnswerKey string
	// WorkerKey is a worker process.
	WorkerKey sessions.Worker
	// ChatKey is one of the ids of a chat.
	ChatKey sessions.ChatID
	// RecordKey is a record's id.
	RecordKey sessions.RecordID
)

// KindOf names the kind of row that a key names.
func KindOf(k Key) string { return k.kind() }

func (MailboxKey) kind() string  { return "mailbox" }
func (TurnKey) kind() string     { return "turn" }
func (SessionKey) kind() string  { return "session" }
func (ChildKey) kind() string    { return "child" }
func (EventKey) kind() string    { return "event" }
func (TextHashKey) kind() string { return "wording" }
func (BegunKey) kind() string    { return "begun" }
func (CallKey) kind() string     { return "call" }
func (ControlKey) kind() string  { return "control" }
func (AnswerKey) kind() string   { return "answer" }
func (WorkerKey) kind() string   { return "worker" }
func (ChatKey) kind() string     { return "chat" }
func (RecordKey) kind() string   { return "record" }

// Mailbox is a conversation's queue. Turn of the embedded value is always nil.
type Mailbox struct {
	sessions.Mailbox
	OpenTurn     string    // id of the mailbox's own open turn; empty: none
	LastNonce    string    // of the worker that owned it last
	PriorEpoch   int64     // the epoch that it was reacquired from, else 0
	WaitingSince time.Time // when the work came that is owed, or when it was yielded
}

// Key implements Row.
func (m Mailbox) Key() Key { return MailboxKey(m.Token) }

// HasWork reports whether there is work for an owner.
func (m Mailbox) HasWork() bool { return m.LastSeen > m.LastRead || m.OpenTurn != "" || m.Controls > 0 }

// Turn is a turn with what its repeated end is answered from.
type Turn struct {
	sessions.Turn
	Nested   bool           // a child's turn inside its ancestor's owner
	EndedBy  sessions.Fence // the fence that ended it
	Released bool           // whether its end released the mailbox
	Preview  sessions.Preview
}

// Key implements Row.
func (t Turn) Key() Key { return TurnKey(t.ID) }

// IsOpenOf reports whether it can be the open turn of a mailbox.
func (t Turn) IsOpenOf(token string) bool { return t.State != sessions.Done && t.Token == token }

// IsOpenNested reports whether [NestedTurns] names the turn.
func (t Turn) IsOpenNested() bool { return t.Nested && t.State != sessions.Done }

// Session is what of a session never changes. Messages, Own, Subtree, Held, Unpriced
// and UpdatedAt of the embedded value are not part of it: they are counted, see
// [Sums] and [Tx.Append].
type Session struct{ sessions.Session }

// Key implements Row.
func (s Session) Key() Key { return SessionKey(s.ID) }

// Child describes which session a child's mailbox feeds.
type Child struct {
	Token   string
	Session sessionkeys.SessionID
}

// Key implements Row.
func (c Child) Key() Key { return ChildKey(c.Token) }

// Event describes what an event of a network became: a turn, a command under a fence,
// a control request or a notice.
type Event struct {
	ID    sessions.InboxID
	Token string // of the mailbox; empty: none
	Turn  string // empty: none
	Seq   uint64
	Epoch int64 // with Nonce: the fence under which it was noted
	Nonce string
}

// Key implements Row.
func (e Event) Key() Key { return EventKey(e.ID) }

// TextHash is what a message of a network said when it was taken into a turn last.
type TextHash struct{ sessions.TextHash }

// Key implements Row.
func (w TextHash) Key() Key {
	w.Sum = ""
	return TextHashKey(w.TextHash)
}

// Begun notes that a tool with side effects was begun, and under which fence.
type Begun struct {
	ID    BegunKey
	Epoch int64
	Nonce string
}

// Key implements Row.
func (b Begun) Key() Key { return b.ID }

// CallState describes what became of a reservation.
type CallState string

// States of a call.
const (
	CallOpen        CallState = "open"
	CallInterrupted CallState = "interrupted" // booked; Held of it stays held
	CallBooked      CallState = "booked"
)

// Call is one attempt of a model call: its reservation and where it counts.
type Call struct {
	costs.Reservation
	Token   string // of the mailbox under whose fence it was reserved
	Session sessionkeys.SessionID
	Turn    string
	State   CallState
	Held    costs.Amount // by it at present
	Scopes  []sessions.Scope
}

// Key implements Row.
func (c Call) Key() Key { return CallKey(c.ID) }

// Control is a control request.
type Control struct {
	sessions.Control
	Done bool
}

// Key implements Row.
func (c Control) Key() Key { return ControlKey(c.ID) }

// Answer is an answer on its way out. The driver gives its order when the row is put
// for the first time. Of one that is read only ID, Order, Done and the parts without
// their bodies are there: the rest was put once and does not change.
type Answer struct {
	sessions.Outgoing
	Order uint64
	Parts []sessions.Part
	Done  bool // every part is sent or failed, or there was nothing to show
}

// Key implements Row.
func (a Answer) Key() Key { return AnswerKey(a.ID) }

// MayHaveArrived reports whether the network may have a part although no receipt came.
func MayHaveArrived(p sessions.Part) bool { return p.State == sessions.Ambiguous }

// Worker is the lease of a worker process.
type Worker struct {
	ID    sessions.Worker
	Until time.Time
	Gone  bool // it left, or another of its name came
}

// Key implements Row.
func (w Worker) Key() Key { return WorkerKey(w.ID) }

// isLiveAt reports whether the lease holds at now.
func (w Worker) isLiveAt(now time.Time) bool { return !w.Gone && w.Until.After(normaliseTime(now)) }

// Chat is one id of a chat, with the ids before and behind it.
type Chat struct {
	ID      sessions.ChatID
	Before  string    // the peer that it had before this one; empty: none
	After   string    // the peer that it has after this one; empty: none
	MovedAt time.Time // when it got this id; zero: it is the first
	Closed  Closure
}

// Key implements Row.
func (c Chat) Key() Key { return ChatKey(c.ID) }

// Closure decides whether a chat is closed to the bot. The zero value: it never was.
type Closure struct {
	Cause    string // id of the Shutting
	Dropped  int    // answers that it dropped
	Open     bool   // it was opened again
	OpenedAt time.Time
}

func (s Closure) isClosed() bool { return s.Cause != "" && !s.Open }

// Record is a small document. One that is put as dropped is taken away.
type Record struct {
	sessions.Record
	Dropped bool
}

// Key implements Row.
func (r Record) Key() Key { return RecordKey(r.ID) }

// normaliseTime returns t as a database keeps it: in UTC, with microseconds.
func normaliseTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}
