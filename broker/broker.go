// Package broker carries envelopes: durably, and in order for each session;
// short-lived signals to everybody who listens now; and files from one process
// to another.
//
// It is NATS JetStream, in this process or at a URL; no code outside this
// package sees which. What is promised: when Publish returns nil the envelope
// is on disk (in this process: fsynced), it keeps its place among those of its
// token for ever, and it is delivered to some worker at least once. What is
// not: that a delivery comes in order or only once; a delivery is a wake-up,
// and the envelopes are read with Next.
package broker

import (
	"encoding/json"
	"errors"
	"time"
)

// Envelope is one message for one mailbox.
type Envelope struct {
	ID    string          // unique per event: a second Publish of it within the window stores nothing
	Token string          // 32 hex digits: the mailbox
	Key   string          // the session key's text
	Body  json.RawMessage // at most Options.MaxBody bytes

	Seq uint64    // place in the log, set by the broker
	At  time.Time // when it was stored, set by the broker
}

// WakeUp tells a worker that the mailbox has this message. It is confirmed when the handler
// returns nil, and comes again otherwise.
type WakeUp struct {
	Token string
	Key   string
	Seq   uint64
	Tries int // deliveries of this message so far, this one included
}

// DeadLetter is what was given up.
type DeadLetter struct {
	ID      string          `json:"id"` // unique: storing it again adds nothing
	Reason  string          `json:"reason"`
	Channel string          `json:"channel"`       // instance name
	Key     string          `json:"key,omitempty"` // when it got that far
	Problem string          `json:"problem"`       // for people
	Body    json.RawMessage `json:"body"`          // what came, byte for byte where it is JSON, else as a JSON string
	At      time.Time       `json:"at"`
	Seq     uint64          `json:"seq,omitempty"`

	// Event: nothing was lost that anybody was promised, such as an event of a network
	// that could not be read. It gives way to every other letter, and to newer ones of
	// its sort, and is kept for thirty days.
	Event bool `json:"event,omitempty"`
}

// Signal is a hint: every current listener gets it, unless its queue is
// full. Nothing may depend on one.
type Signal struct {
	Topic string // [a-z0-9_.-]+, without wildcards
	Body  json.RawMessage
}

var (
	// ErrFull means that the log has no room; nothing was stored and the sender must not
	// be told otherwise.
	ErrFull = errors.New("the message log is full")
	// ErrTooLarge means that an envelope or a file is larger than is taken.
	ErrTooLarge = errors.New("message too large")
	// ErrUnavailable means that the engine did not confirm in time. The envelope may or
	// may not be stored: publishing it again with the same ID is safe.
	ErrUnavailable = errors.New("the message log does not answer")
	// ErrNone means that there is no later message for the mailbox.
	ErrNone = errors.New("no message")
)
