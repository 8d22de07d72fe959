package messages

import "strings"

// ID names what parley itself says, or hears again, beside the answers of turns: an
// answer in the outbox, or the event of a message.
type ID struct {
	Kind  IDKind
	About string // the id of that which it is about; anything
}

// IDKind says what an ID names, and is how it begins. It holds no hyphen.
type IDKind string

// The kinds of ids.
const (
	Note        IDKind = "n"           // an answer that no model gives; about a turn, control request or event
	Stopped     IDKind = "s"           // the answer to a control request that stopped a turn; about the request
	Lost        IDKind = "lost"        // that messages were lost; about the turn that the last of them would be
	Redelivered IDKind = "redelivered" // a message that is queued again; about its dead letter
	GoalReached IDKind = "goal"        // that a conversation's goal was reached; about the turn that did
	Restored    IDKind = "restored"    // a message that a replay made again; about its turn
	JobSlot     IDKind = "job"         // a run of a job at its time; about job and slot
	JobByHand   IDKind = "byhand"      // a run of a job that an operator asked for; about job and wish
	JobSession  IDKind = "jobsession"  // that a run of a job begins a session; about the run's event
	Decided     IDKind = "decided"     // a decision about a question that was taken elsewhere; about its request and wish, or its event
	Inquired    IDKind = "inquiry"     // a question that a program asks a person; about the inquiry
	Confided    IDKind = "confided"    // a question that one person of a chat is shown alone; about its turn and their number
)

// String returns the text of the id.
func (id ID) String() string { return string(id.Kind) + "-" + id.About }

// ParseID reads what String gives. ok is false of every other text.
func ParseID(text string) (id ID, ok bool) {
	kind, about, ok := strings.Cut(text, "-")
	switch id = (ID{IDKind(kind), about}); id.Kind {
	case Note, Stopped, Lost, GoalReached, Redelivered, Restored, JobSlot, JobByHand, JobSession, Decided, Inquired, Confided:
		return id, ok
	}
	return ID{}, false
}
