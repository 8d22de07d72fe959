package intake

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"unicode/utf8"

	"parley/channels"
	"parley/sessionkeys"
	"parley/sessions"
)

// Inbox names the event behind m for ever.
func Inbox(m channels.Message) sessions.InboxID {
	return sessions.InboxID{Channel: m.Address.Channel, Account: m.Address.Account, Chat: named(m), Event: m.Event}
}

// named is the id by which the network named the chat of m: ids of events and
// messages count under it, also after the chat was found to have an older one.
func named(m channels.Message) string { return cmp.Or(m.Origin, m.Address.Peer) }

// eventID is one word for the event behind m, without gluing: "3"+"131" is not
// "31"+"31", and bytes that are no text stay what they are. Chats are part of
// it, because some networks count per chat.
func eventID(m channels.Message) string {
	h := sha256.New()
	for _, s := range []string{m.Channel, m.Address.Channel, m.Address.Account, named(m), m.Event} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// unfit says what of m's names for things cannot be used. An event without an
// id would be taken for every other one without. They travel in JSON, where
// bytes that are no UTF-8 become one and the same rune: two chats would become
// one.
func unfit(m channels.Message) string {
	if m.Event == "" {
		return "the event has no id"
	}
	for _, f := range []struct{ name, value string }{
		{"event", m.Event},
		{"message", m.MessageID},
		{"sender", m.Sender.ID},
		{"network", m.Address.Channel},
		{"account", m.Address.Account},
		{"kind", string(m.Address.Kind)},
		{"peer", m.Address.Peer},
		{"thread", m.Address.Thread},
		{"chat it moved to", m.MovedTo},
	} {
		if !utf8.ValidString(f.value) {
			return "the id of the " + f.name + " is not UTF-8"
		}
	}
	return ""
}

// ReplyTo says which message an answer hangs on: in a direct message there is
// only one conversation, so none.
func ReplyTo(m channels.Message) string {
	if m.Address.Kind == sessionkeys.DM {
		return ""
	}
	return m.MessageID
}
