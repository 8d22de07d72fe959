package channels

import (
	"context"

	"parley/sessionkeys"
)

// Stage is how far the bot is with a message.
type Stage string

// The stages.
const (
	Idle    Stage = ""        // it does nothing about it, any more
	Working Stage = "working" // a turn works on it
	Done    Stage = "done"    // it was answered
)

// Reactions are what an account puts on messages, as its network names them. The zero
// value puts nothing on any.
type Reactions struct {
	Working string `yaml:"working"` // while a turn works on a message
	Done    string `yaml:"done"`    // on one that was answered, in place of Working
}

// At returns the reaction of a stage, or none.
func (r Reactions) At(s Stage) string {
	switch s {
	case Working:
		return r.Working
	case Done:
		return r.Done
	case Idle:
	}
	return ""
}

// Any reports whether there is any.
func (r Reactions) Any() bool { return r != Reactions{} }

// Reactor can show on what people write how far the bot is with it. That is for show:
// nothing is kept of it, and it takes no room from messages.
type Reactor interface {
	// React puts the reaction of the stage on the message, in place of what the account
	// has put there. What is so already is a success; the call may be repeated, in
	// whatever process. Where the network or the chat takes no such reaction, it fails as
	// Refused, of the same chat without a call from then on; where there is no room for
	// it, as RateLimit and without a call.
	React(ctx context.Context, to sessionkeys.Address, messageID string, s Stage) error
}
