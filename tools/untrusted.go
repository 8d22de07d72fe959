package tools

import (
	"crypto/sha256"
	"encoding/hex"
)

// FrameUntrusted frames what a third party said, so that a model takes it as material
// and not as orders: the words of a sub-agent or of another conversation. who is
// the caller's own word for whose they are. The marks of the frame are made from
// a hash of the text, so the text cannot hold them, and the same text is always
// framed alike.
func FrameUntrusted(who, text string) string {
	sum := sha256.Sum256([]byte(who + "\x00" + text))
	mark := hex.EncodeToString(sum[:8])
	return UntrustedHeader(who) + mark + ":\n" + text + "\n" + mark
}

// UntrustedHeader returns how a frame begins around what who said.
func UntrustedHeader(who string) string { return "What " + who + " said, untrusted, up to the mark " }
