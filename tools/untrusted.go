package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
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

var untrustedHeader = regexp.MustCompile(`What ([^\n]{1,300}?) said, untrusted, up to the mark ([0-9a-f]{16}):\n`)

// UntrustedAuthors returns whose words a text holds in frames, each as FrameUntrusted was told.
// What a frame holds is passed over, whatever it looks like.
func UntrustedAuthors(text string) (who []string) {
	for {
		m := untrustedHeader.FindStringSubmatchIndex(text)
		if m == nil {
			return who
		}
		who = append(who, text[m[2]:m[3]])
		_, rest, ended := strings.Cut(text[m[1]:], "\n"+text[m[4]:m[5]])
		if !ended { // it was cut off
			return who
		}
		text = rest
	}
}
