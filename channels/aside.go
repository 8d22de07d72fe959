package channels

import "strings"

// Asked and Only are prefixes of the MessageID of a request that only its sender saw,
// such as a slash command, on a network that can answer one person of a chat alone. The
// answer to a request with Asked is shown to the whole chat, that to one with Only to
// its sender.
const (
	Asked = "asked:"
	Only  = "only:"
)

// Aside returns what to answer to, in place of a message, so that a refusal is seen by
// its sender alone where the question was; other messages are answered as they are.
func Aside(messageID string) string {
	if rest, ok := strings.CutPrefix(messageID, Asked); ok {
		return Only + rest
	}
	return messageID
}
