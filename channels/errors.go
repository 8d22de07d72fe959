package channels

import (
	"fmt"
	"time"
)

// ErrorKind describes what a failed call means for the message it carried.
type ErrorKind string

// What a failed call means.
const (
	Unsent       ErrorKind = "unsent"       // surely did not arrive (dial, TLS, 5xx with an answer): may be repeated
	RateLimit    ErrorKind = "rate_limited" // surely did not arrive; wait RetryAfter
	Ambiguous    ErrorKind = "ambiguous"    // may have arrived: time-out or cut off after the request left
	Refused      ErrorKind = "refused"      // the network will never take this message
	Gone         ErrorKind = "gone"         // surely did not arrive: the chat is closed to us (removed, blocked, deactivated, unknown), and every later call to it fails too until a Membership opens it
	Moved        ErrorKind = "moved"        // surely did not arrive: the chat has a new id, MovedTo; the message may be sent there
	Unauthorized ErrorKind = "unauthorized" // the account's token is no good
)

// Error is a failed call to a network. Its text never holds a token.
type Error struct {
	Kind       ErrorKind
	Op         string // what was attempted, as the network calls it
	Status     int
	RetryAfter time.Duration // RateLimit; with Refused of a file: it may be had after all, then
	MovedTo    string        // Moved: the peer to put into the address, whose thread no longer holds
	Message    string        // the network's words
	Err        error
}

func (e *Error) Error() string {
	s := e.Op + ": " + string(e.Kind)
	if e.Status != 0 {
		s += fmt.Sprintf(" (%d)", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	} else if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }
