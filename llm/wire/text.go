package wire

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"parley/transcript"
)

// Mention names an attachment that the model does not get to see itself.
func Mention(b transcript.Binary) string {
	name := b.Path
	if name == "" {
		name = fmt.Sprintf("%d bytes", len(b.Data))
	}
	return fmt.Sprintf("[attachment: %s (%s)]", name, b.MIMEType)
}

// longestID is what the strictest provider takes.
const longestID = 40

// SafeID returns a tool-call id of at most 40 letters, digits, _ and -. One that is
// so already stays as it is; another gets a hash of itself, so that different
// ids stay different.
func SafeID(id string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		default:
			return '_'
		}
	}, id)
	if safe == id && id != "" && len(id) <= longestID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return safe[:min(len(safe), 23)] + "_" + hex.EncodeToString(sum[:8])
}

// NewID returns an id for a tool call that its provider left without one.
func NewID() string { return "call_" + rand.Text() }
