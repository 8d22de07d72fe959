// Package messages is what the parts of the gateway agree on about one message: what
// its event is called for ever, where an answer to it goes, whether it is for the bot,
// is a command, and belongs together with the one before it.
package messages

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"parley/channels"
	"parley/sessionkeys"
	"parley/sessions"
)

// MaxText is the most text of one message, in bytes, that is taken.
const MaxText = 32 << 10

// Inbox names the event behind m for ever.
func Inbox(m channels.Message) sessions.InboxID {
	return sessions.InboxID{Channel: m.Address.Channel, Account: m.Address.Account, Chat: ChatID(m), Event: m.Event}
}

// ChatID returns the id by which the network named the chat of m: ids of events and
// messages count under it, also after the chat was found to have an older one.
func ChatID(m channels.Message) string { return cmp.Or(m.Origin, m.Address.Peer) }

// EventID returns one word for the event behind m, without gluing: "3"+"131" is not
// "31"+"31", and bytes that are no text stay what they are. Chats are part of
// it, because some networks count per chat.
func EventID(m channels.Message) string {
	h := sha256.New()
	for _, s := range []string{m.Channel, m.Address.Channel, m.Address.Account, ChatID(m), m.Event} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// ReplyTo returns which message an answer hangs on: in a direct message there is
// only one conversation, so none.
func ReplyTo(m channels.Message) string {
	if m.Address.Kind == sessionkeys.DM {
		return ""
	}
	return m.MessageID
}

// ForBot reports whether m speaks to the bot. What does not may still belong to a
// message that does.
func ForBot(m channels.Message) bool { return m.Mentioned || m.Address.Kind == sessionkeys.DM }

// HasAttachments reports whether m, which is Completing, has anything that its message may lack.
func HasAttachments(m channels.Message) bool { return len(m.Attachments) > 0 }

// HashText returns what m says, to know an edit that changes nothing.
func HashText(m channels.Message) sessions.TextHash {
	words := m.Text
	for _, q := range m.Forwarded {
		words += "\x00" + q.Text
	}
	if m.Partial { // what completes it says the same, and more
		words += "\x00partial"
	}
	sum := sha256.Sum256([]byte(words))
	return sessions.TextHash{
		Channel: m.Address.Channel, Account: m.Address.Account, Chat: ChatID(m),
		Message: m.MessageID, Sum: hex.EncodeToString(sum[:16]),
	}
}
