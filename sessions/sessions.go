// Package sessions defines conversations and what they own: mailboxes with their
// owners, sessions in their hierarchy, transcripts, the ledger, the outbox and
// control requests; and [Store], which is what a database must do to keep
// them. sessiontest holds every driver to it.
//
// A mailbox is where a conversation's messages are counted: how far they were
// seen (Touched), how far they were read (Read), who works on it (Owner, Epoch,
// Nonce), and which session it feeds at present. Work is owed to a mailbox
// while Touched > Read, a turn is open, or a control request is pending.
package sessions

import (
	"errors"
	"fmt"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/transcript"
)

var (
	// ErrFenced means that the caller does not own the mailbox any more, or not under
	// this epoch. Nothing was written (but see Store.Settle). The caller drops
	// the work: another worker has it.
	ErrFenced = errors.New("no longer the owner of this mailbox")
	// ErrNotFound means that there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrDamaged means that the database is damaged or of a newer version than this
	// program. It is said at opening; nothing was changed.
	ErrDamaged = errors.New("the database cannot be used")
)

// Worker is one worker process: a stable name, and a nonce that is new at
// every start.
type Worker struct {
	Name  string
	Nonce string
}

// Fence proves ownership of a mailbox: both Epoch and Nonce must be equal to
// what the row holds. (Equal, not greater: a rollback of the store may hand an
// epoch out twice.)
type Fence struct {
	Token string
	Epoch int64
	Nonce string
}

// Mailbox is one conversation's queue.
type Mailbox struct {
	Token    string
	Key      sessionkeys.Key
	Session  sessionkeys.SessionID // the session it feeds at present
	LastSeen uint64                // highest sequence known
	LastRead uint64                // highest sequence taken into a turn or passed over
	Owner    Worker                // zero: nobody
	Epoch    int64
	// Attempts counts how often the work at the head was taken up, this time
	// included: an acquisition and Reacquire add one, here and on the open turn;
	// a handover gives its attempt back. When the head is done with it is 1
	// again, or 0 when the mailbox was released.
	Attempts int
	Turn     *Turn // the open turn, if any
	Controls int   // pending control requests
}

// Fence returns the proof that m.Owner holds m.
func (m Mailbox) Fence() Fence { return Fence{m.Token, m.Epoch, m.Owner.Nonce} }

// HasWork reports whether there is work for an owner.
func (m Mailbox) HasWork() bool { return m.LastSeen > m.LastRead || m.Turn != nil || m.Controls > 0 }

// InboxID names one event of a network for ever. A second copy of an event
// adds nothing.
type InboxID struct {
	Channel string // network
	Account string
	Chat    string
	Event   string
}

// KnownError means that some of the events of an opening, but not all, were
// known. Nothing was written.
type KnownError struct{ Events []InboxID }

func (e *KnownError) Error() string {
	return fmt.Sprintf("%d of the events are known, but not all", len(e.Events))
}

// TextHash is what a message of a network said when it was taken into a turn, so
// that an edit that changes nothing is known as such.
type TextHash struct {
	Channel string // network
	Account string
	Chat    string
	Message string // the network's id of it
	Sum     string // of its text; the caller says how
}

// TurnState describes where a turn stands.
type TurnState string

// States of a turn.
const (
	Open TurnState = "open"
	Done TurnState = "done"
)

// Turn is one user message and everything that follows from it, as stored.
type Turn struct {
	ID       string // given by the worker, a pure function of mailbox, generation and sequence
	Token    string
	Session  sessionkeys.SessionID
	Seq      uint64 // of the message that opened it
	State    TurnState
	Attempts int // how often work on it was taken up

	Channel    string              // instance name the message came by
	From       sessionkeys.Address // where it came from and the answer goes: never changed
	ReplyTo    string              // the message's id on the network
	Sender     string              // stable id of who asked
	ReceivedAt time.Time
	OpenedAt   time.Time
	EndedAt    time.Time
	Outcome    transcript.FinishReason // when Done
	Refused    *costs.BudgetError      // when Done: what of its money was refused; nil: nothing

	// What has been committed: answered model calls, and attempts made of the
	// next one.
	Steps int
	Tries int

	// Joined is where in the mailbox the messages stand that joined it, each by its
	// JoinTurn.Seq, in the order in which they did. It is not to be changed.
	Joined []uint64
}

// Session is one transcript with its money.
type Session struct {
	ID         sessionkeys.SessionID
	Key        sessionkeys.Key
	Parent     sessionkeys.SessionID // empty: a root
	Root       sessionkeys.SessionID
	Depth      int
	ToolCallID string // a child: the provider's id of the call that made it
	Role       string // main, task, …: a fact of the row, never read from the key
	Policy     []byte // a child: its tools and caps as JSON, fixed at its start
	Title      string
	Messages   int
	Own        costs.Amount // settled cost of its own calls
	Subtree    costs.Amount // own cost and that of all descendants
	Held       costs.Amount // reserved and not settled, in the subtree
	Unpriced   int          // calls in the subtree whose cost is unknown
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Scope is something money is counted for besides the session tree, over a
// window of time. The reservation's time says which day or month a call counts
// in, also when it ends in the next.
//
// What an interrupted call may have cost stays held: in a day or a month until
// that is over; in a scope over all time until the end of the day (UTC) on
// which it was found interrupted, so that calls of which nobody will ever know
// more do not use up a conversation's budget for good.
type Scope struct {
	Kind   string       // global, channel, chat, group, person; Always: session, turn, …; tree is the store's own
	ID     string       `json:",omitempty"`
	Window costs.Window `json:",omitempty"`
	// Limit is what the scope may settle and hold together; 0: no limit. Reserve
	// looks at it in the same commit that holds the estimate, so that callers
	// who race for the last cent never get more than it. It is not part of which
	// scope this is.
	Limit costs.Amount `json:",omitempty"`
}

// Total is what was spent under one label set, over all time. The totals are
// kept in the same commit as the ledger row, so their sum is the ledger's.
type Total struct {
	Labels  costs.Labels
	Amount  costs.Amount
	Calls   int64
	Unknown int64 // calls without a known price
}

// Control is a request that concerns a mailbox and does not wait in its queue.
type Control struct {
	ID      string // given by the caller, unique
	Event   InboxID
	Token   string
	Key     sessionkeys.Key
	Kind    string // stop
	Through uint64 // stop: messages up to this sequence are discarded
	Channel string
	From    sessionkeys.Address
	ReplyTo string
	Sender  string
	At      time.Time
}

// Outgoing is an answer on its way out: text in Markdown, or a file, for exactly
// one place.
type Outgoing struct {
	ID      string // unique; adding the same one again changes nothing
	Channel string // instance name
	Session sessionkeys.SessionID
	Turn    string // empty: not the answer of a turn
	To      sessionkeys.Address
	ReplyTo string
	Text    string
	File    *File    // nil: it is a text. Else Text is empty
	Choices []Choice // what people may answer by a button, where the network has some
	At      time.Time
	// MaybeDuplicate: it may have been given before, by a process whose store was not this
	// one. Each message of it is sent with the mark of a possible repeat.
	MaybeDuplicate bool
}

// Choice is a button under an Outgoing.
type Choice struct {
	Label string `json:"label"`
	Says  string `json:"says"` // what whoever presses it says
}

// File is what an Outgoing sends in place of a text. Its content is elsewhere.
type File struct {
	Name   string `json:"name"` // as people see it, without a folder
	MIME   string `json:"mime,omitempty"`
	Size   int64  `json:"size"`   // in bytes
	Object string `json:"object"` // what the content is kept as, until it is sent
}

// SendState describes how far a part of an answer got.
type SendState string

// States of an outgoing part.
const (
	Queued    SendState = "pending"
	Sending   SendState = "sending" // written down before the bytes leave
	Sent      SendState = "sent"
	Ambiguous SendState = "ambiguous" // may have arrived; not yet resolved
	Failed    SendState = "failed"
)

// FailReason describes why a part of an answer failed, where people read of it. The
// empty one says nothing.
type FailReason string

// Why parts fail.
const (
	Refused     FailReason = "refused"     // the network does not take it
	Unconfirmed FailReason = "unconfirmed" // it was sent again and again, and is not known to have arrived once
	NoFiles     FailReason = "no_files"    // files cannot be sent there
	FileGone    FailReason = "file_gone"   // its content is not kept any more
	FileChanged FailReason = "file_changed"
	TooLarge    FailReason = "too_large" // for the network
)

// PreviewState describes what is known of the message that shows a turn's answer so far.
type PreviewState string

// States of a preview.
const (
	NoPreview PreviewState = "" // there is none that the answer could go into
	// PreviewBegun is noted before the message is sent. Where it still stands when the
	// turn's answer is sent, the message may be in the chat, and hold the whole answer.
	PreviewBegun PreviewState = "begun"
	PreviewShown PreviewState = "shown"
)

// Preview is the message that shows a turn's answer so far.
type Preview struct {
	State PreviewState
	ID    string // PreviewShown: the network's id of it; else empty
}

// ShownPreview returns the preview that is the message of that id; of an empty id none.
func ShownPreview(id string) Preview {
	if id == "" {
		return Preview{}
	}
	return Preview{PreviewShown, id}
}

// Delivery is an Outgoing with its parts. Parts is empty until it was
// rendered.
type Delivery struct {
	Outgoing
	Order   uint64 // deliveries of one channel go out in this order within a chat
	Parts   []Part
	Preview Preview   // of its turn
	AskedAt time.Time // when the turn's message was received; zero: no turn
}

// Part is one message of a delivery, rendered for its network.
type Part struct {
	Body      []byte // the adapter's Body as JSON
	State     SendState
	Attempts  int
	MessageID string // Sent: the network's id
	// Repeats counts how often it was sent although the one before may have arrived:
	// more than none, and what is sent says that it may be a repeat.
	Repeats int
	Reason  FailReason // Failed: why, as people are told
	Problem string     // Failed, Uncertain: what happened, for operators
	At      time.Time
	By      string // who made the last mark
}

// UnneededProblem is the Problem of a sentence that stands in the place of a file, which failed
// because the file was sent.
const UnneededProblem = "not needed: the file was sent"

// IsUnneeded reports whether p is a sentence in the place of a file that was sent.
func (p Part) IsUnneeded() bool { return p.State == Failed && p.Problem == UnneededProblem }

// Progress is one step of a delivery, made durable in one commit.
type Progress struct {
	Bodies [][]byte // not nil: the parts, set once; later ones are ignored
	Marks  []Mark
	// Close ends a delivery without parts: there was nothing to show.
	Close bool
}

// Mark moves one part from a state to another. A mark whose From does not fit
// is refused with ErrFenced and nothing of its Progress is written.
type Mark struct {
	Index     int
	From, To  SendState
	MessageID string
	Repeats   int
	Reason    FailReason
	Problem   string
	At        time.Time
	// By is who makes the mark, a process by a name that no other has: two who
	// make the same mark in the same moment are not one who repeats it.
	By string
}
