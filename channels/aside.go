package channels

import "strings"

// PublicReplyPrefix and Only are prefixes of the MessageID of a request that only its sender saw,
// such as a slash command, on a network that can answer one person of a chat alone. The
// answer to a request with Asked is shown to the whole chat, that to one with Only to
// its sender.
const (
	PublicReplyPrefix  = "asked:"
	PrivateReplyPrefix = "only:"
)

// PrivateReplyToPerson returns what to answer to so that of a whole chat the person of that id
// alone sees the message, once and for a while: a network may lose it, nothing finds or edits it,
// and it may be gone when they look again. A press of its buttons comes with such a MessageID too.
func PrivateReplyToPerson(id string) string { return PrivateReplyPrefix + id }

// IsPrivateReply reports whether one person alone sees an answer to it.
func IsPrivateReply(replyTo string) bool { return strings.HasPrefix(replyTo, PrivateReplyPrefix) }

// PrivateReplyTo returns what to answer to, in place of a message, so that a refusal is seen by
// its sender alone where the question was; other messages are answered as they are.
func PrivateReplyTo(messageID string) string {
	if rest, ok := strings.CutPrefix(messageID, PublicReplyPrefix); ok {
		return PrivateReplyPrefix + rest
	}
	return messageID
}
