package channels

import "strings"

// Asked and Only stand before the MessageID of what somebody asked where nobody else
// saw it, such as a slash command, on a network that can answer one person of a chat
// alone. Behind Asked the answer is for everybody there, behind Only for the person.
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
