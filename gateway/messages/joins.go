package messages

import (
	"time"

	"parley/channels"
)

// What people send as one comes as several messages: an album, of which at most
// one has a text and the mention, and a long paste, which clients cut at about
// 4096 UTF-16 units. Each is an event of its own and is stored by itself.
const (
	longPiece  = 4000 // units of a text that may go on in the next message
	pasteGap   = 1500 * time.Millisecond
	pasteClock = 3 * time.Second // the same gap by the network's clock, which counts seconds
)

// IsLong reports whether m may be cut off, so that the next message of its sender
// goes on.
func IsLong(m channels.Message) bool {
	if m.Kind != channels.Said || m.Album != "" || len(m.Text) < longPiece {
		return false
	}
	units := 0
	for _, r := range m.Text {
		if units++; r > 0xFFFF {
			units++
		}
	}
	return units >= longPiece
}

// Joins reports whether m, of the same conversation, belongs to what last is of: by
// the same person, of the same album, or the next piece of a long text. Between
// two pieces the sender said nothing else. A command joins nothing.
func Joins(last, m channels.Message) bool { return JoinsKnown(last, IsLong(last), m) }

// JoinsKnown is like [Joins] for a message of which the caller knows whether it is [IsLong].
func JoinsKnown(last channels.Message, long bool, m channels.Message) bool {
	if last.Kind != channels.Said || m.Kind != channels.Said || m.Channel != last.Channel || m.Sender.ID != last.Sender.ID {
		return false
	}
	if _, ok := ParseCommand(m.Text); ok {
		return false
	}
	if last.Album != "" || m.Album != "" {
		return last.Album == m.Album
	}
	if !long {
		return false
	}
	gap := m.ReceivedAt.Sub(last.ReceivedAt)
	if gap < 0 || gap > pasteGap {
		return false
	}
	// After an outage everything is received at once.
	return last.SentAt.IsZero() || m.SentAt.IsZero() || m.SentAt.Sub(last.SentAt) <= pasteClock
}

// JoinWindow returns how long after it what belongs to m may still come; false: m
// stands alone.
func JoinWindow(m channels.Message) (time.Duration, bool) {
	switch {
	case m.Partial:
		return albumIdle, true
	case m.Kind != channels.Said:
		return 0, false
	case m.Album != "":
		return albumIdle, true
	case IsLong(m):
		return pasteGap, true
	}
	return 0, false
}

const albumIdle = 750 * time.Millisecond
