// Package outcomes is how what people sent ended, as metrics and operators name it.
package outcomes

import (
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/transcript"
)

// Why messages are ignored: the closed set of the label reason.
const (
	NotMentioned = "not_mentioned"
	NotAllowed   = "not_allowed"
	Unsupported  = "unsupported"
	TooLarge     = "too_large"
	Limited      = "rate_limited"
	Closed       = "chat_closed"
	NoRoom       = "no_room" // among the dead letters
)

// Answered is what became of a command that was answered at once, without a turn. It is no reason to
// ignore a message.
const Answered = "answered"

// Turn is a turn that ended.
type Turn struct {
	Turn    string
	Session sessionkeys.SessionID
	Channel string
	DM      bool
	Outcome transcript.FinishReason
	// TimedOut: the turn was ended because it took too long.
	TimedOut bool
	Took     time.Duration
	Cost     costs.Amount
}
