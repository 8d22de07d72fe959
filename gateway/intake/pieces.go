package intake

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"parley/channels"
	"parley/gateway/commands"
	"parley/sessionkeys"
	"parley/sessions"
)

// What people send as one comes as several messages: an album, of which at most
// one has a text and the mention, and a long paste, which clients cut at about
// 4096 UTF-16 units. Each is an event of its own and is stored by itself.
const (
	longPiece  = 4000 // units of a text that may go on in the next message
	pasteGap   = 1500 * time.Millisecond
	pasteClock = 3 * time.Second // the same gap by the network's clock, which counts seconds
)

// Long says whether m may be cut off, so that the next message of its sender
// goes on.
func Long(m channels.Message) bool {
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

// Joins says whether m, of the same conversation, belongs to what last is of: by
// the same person, of the same album, or the next piece of a long text. Between
// two pieces the sender said nothing else. A command joins nothing.
func Joins(last, m channels.Message) bool { return joins(last, Long(last), m) }

// joins is Joins, of a message of which is known whether it is Long.
func joins(last channels.Message, long bool, m channels.Message) bool {
	if last.Kind != channels.Said || m.Kind != channels.Said || m.Channel != last.Channel || m.Sender.ID != last.Sender.ID {
		return false
	}
	if _, ok := commands.Parse(m.Text); ok {
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

// MoreUntil is how long after it what belongs to m may still come; false: m
// stands alone.
func MoreUntil(m channels.Message) (time.Duration, bool) {
	switch {
	case m.Kind != channels.Said:
		return 0, false
	case m.Album != "", m.Partial:
		return albumIdle, true
	case Long(m):
		return pasteGap, true
	}
	return 0, false
}

const albumIdle = 750 * time.Millisecond

// ForBot says whether m speaks to the bot. What does not may still belong to a
// message that does.
func ForBot(m channels.Message) bool { return m.Mentioned || m.Address.Kind == sessionkeys.DM }

// Wording is what m says, to know an edit that changes nothing.
func Wording(m channels.Message) sessions.Wording {
	words := m.Text
	for _, q := range m.Forwarded {
		words += "\x00" + q.Text
	}
	if m.Partial { // what completes it says the same, and more
		words += "\x00partial"
	}
	sum := sha256.Sum256([]byte(words))
	return sessions.Wording{
		Channel: m.Address.Channel, Account: m.Address.Account, Chat: named(m),
		Message: m.MessageID, Sum: hex.EncodeToString(sum[:16]),
	}
}

// Adds reports whether m, which is Completing, has anything that its message may lack.
func Adds(m channels.Message) bool { return len(m.Attachments) > 0 }

// pieces remembers who has just sent a long piece of text. In a group any one of
// the pieces has the mention, perhaps the last. What is forgotten, by a restart or when there are too
// many, costs no more than the rest of one paste.
type pieces struct {
	mu   sync.Mutex
	last map[string]channels.Message
}

const mostPieces = 256

func pieceKey(m channels.Message) string {
	return strings.Join([]string{m.Channel, m.Address.Peer, m.Address.Thread, m.Sender.ID}, "\x00")
}

// goesOn says whether m is the next piece of a text that is for the bot.
func (p *pieces) goesOn(m channels.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.last[pieceKey(m)]
	return ok && Joins(last, m)
}

// note remembers m, which was stored, if it may go on.
func (p *pieces) note(m channels.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := pieceKey(m)
	if !Long(m) {
		delete(p.last, k)
		return
	}
	if p.last == nil || len(p.last) >= mostPieces {
		p.last = map[string]channels.Message{}
	}
	m.Raw, m.Attachments = nil, nil
	p.last[k] = m
}
