package intake

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"parley/channels"
	"parley/sessionkeys"
	"parley/sessions"
)

// Topics of the signals that intake and its neighbours send each other.
// Nothing depends on one arriving.
const (
	ControlTopic = "control" // ControlSignal: a control request was stored
	OutboxTopic  = "outbox"  // OutboxSignal: answers wait to be sent
)

// ControlSignal says that a mailbox has a control request.
type ControlSignal struct {
	Token string `json:"token"`
}

// OutboxSignal says that answers wait for a channel instance.
type OutboxSignal struct {
	Channel string `json:"channel"`
}

// Inbox names the event behind m for ever.
func Inbox(m channels.Message) sessions.InboxID {
	return sessions.InboxID{Channel: m.Address.Channel, Account: m.Address.Account, Chat: m.Address.Peer, Event: m.Event}
}

// eventID is one word for the event behind m, without gluing: "3"+"131" is not
// "31"+"31". Chats are part of it, because some networks count per chat.
func eventID(m channels.Message) string {
	b, _ := json.Marshal([]string{m.Channel, m.Address.Channel, m.Address.Account, m.Address.Peer, m.Event})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// ReplyTo says which message an answer hangs on: in a direct message there is
// only one conversation, so none.
func ReplyTo(m channels.Message) string {
	if m.Address.Kind == sessionkeys.DM {
		return ""
	}
	return m.MessageID
}
