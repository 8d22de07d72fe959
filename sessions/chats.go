package sessions

import (
	"context"
	"time"
)

// ChatID names a chat of a network as one bot account sees it.
type ChatID struct {
	Channel string // network
	Account string
	Peer    string
}

// Chat is what is known of a chat beside its conversations.
type Chat struct {
	// IDs are the ids that it has had, the oldest first and at least one. By the
	// oldest its conversations are known for ever; the last is the present one.
	IDs     []string
	MovedAt time.Time // when the present id was heard of; zero: it is the only one
	Closed  bool      // nothing can be sent there
}

// Canonical returns the id by which conversations of the chat are known.
func (c Chat) Canonical() string { return c.IDs[0] }

// Current returns the id to send to.
func (c Chat) Current() string { return c.IDs[len(c.IDs)-1] }

// CloseRequest means that nothing can be sent to a chat any more.
type CloseRequest struct {
	ID   string // of what showed it, unique: the same one again answers the same, as long as the chat stays closed
	Chat ChatID // by any of its ids
	// At is from when on it holds. A chat that was opened since stays open.
	At time.Time
}

// CloseResult is what Shut did.
type CloseResult struct {
	Dropped   int      // answers that waited to be sent and never will be
	Mailboxes []string // tokens of those that have a control request now
}

// KindShut is the kind of the control request that Shut makes for each mailbox
// of the chat that was owed work: as a stop, but without a notice.
const KindShut = "shut"

// Chats is where chats are and whether they can be reached.
type Chats interface {
	// Chat looks one up by any of its ids. One that nothing is known of is open
	// and has the one id.
	Chat(ctx context.Context, id ChatID) (Chat, error)
	// Move notes that a chat has the new id to, whichever of its ids it is asked
	// under, and answers what is known then. Ids that the chat has had before, and
	// those that another chat moved to, are not taken: a move is heard of twice,
	// and late.
	Move(ctx context.Context, id ChatID, to string, at time.Time) (Chat, error)
	// CloseChat closes a chat: what is queued for it, under any of its ids, fails at
	// once, what its mailboxes run and what waits there is to be stopped. shut is
	// false when it was opened since s.At, or since the same s closed it; then nothing
	// changes. When it was shut before, by another Shutting, c is zero.
	CloseChat(ctx context.Context, s CloseRequest) (c CloseResult, shut bool, err error)
	// Reopen opens a chat again.
	Reopen(ctx context.Context, id ChatID, at time.Time) error
}
