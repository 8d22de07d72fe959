package llm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"slices"
	"unicode/utf8"

	"parley/recent"
	"parley/transcript"
)

// Digest is 64 hex digits that stand for all that a model is asked: the frame of
// that name with these messages. What no model sees of a message is no part of
// it: its id, its times, what a tool result says to people only.
func Digest(frame string, ms []transcript.Message) string {
	return newRequestDigest(frame).sumOf(ms, len(ms))
}

// IsDigest reports whether digest is that of the frame with these messages, also where an earlier
// version made it, which wrote how many messages there are in front of them.
func IsDigest(digest, frame string, ms []transcript.Message) bool {
	if digest == Digest(frame, ms) {
		return true
	}
	d := newDigest("parley request 1")
	d.writeStrings(frame)
	d.writeInt(len(ms))
	d.writeMessages(ms)
	return digest == d.sum()
}

// Bounds of what Digests keeps: bytes of messages in all, about, and of one conversation. Less
// than minDigested is hashed anew in some ten microseconds.
const (
	maxDigested    = 16 << 20
	maxDigestedOne = maxDigested / 4
	minDigested    = 8 << 10
)

// Digests makes the digests of requests. A conversation grows at its end, so what its last request
// began with is not hashed again. It is safe for concurrent use.
type Digests struct {
	kept *recent.Cache[string, *digested]
}

// digested is the digest of what a request begins with. The messages tell whether the next one
// does, too.
type digested struct {
	frame    string
	messages []transcript.Message
	digest   *digest
}

// NewDigests returns one that knows no request.
func NewDigests() *Digests {
	return &Digests{recent.New[string, *digested](maxDigested, maxDigestedOne)}
}

// Digest returns [Digest] of a request of the conversation, whose next request may begin with the
// first messages of this one, as many as lasting says. Nobody may change what they hold
// afterwards. A nil ds keeps nothing.
func (ds *Digests) Digest(conversation, frame string, ms []transcript.Message, lasting int) string {
	if ds == nil || conversation == "" {
		return Digest(frame, ms)
	}
	of, ok := ds.kept.Take(conversation)
	if !ok || !of.begins(frame, ms[:lasting]) {
		of = &digested{frame: frame, digest: newRequestDigest(frame)}
	}
	of.digest.writeMessages(ms[len(of.messages):lasting])
	of.messages = ms[:lasting:lasting]
	whole, ok := of.digest.clone()
	if !ok {
		return Digest(frame, ms)
	}
	if of.digest.bytes >= minDigested {
		ds.kept.Put(conversation, of, of.digest.bytes)
	}
	return whole.sumOf(ms[lasting:], len(ms))
}

// begins reports whether a request of the frame begins as it did when of was made.
func (of *digested) begins(frame string, ms []transcript.Message) bool {
	return frame == of.frame && len(of.messages) <= len(ms) &&
		slices.EqualFunc(of.messages, ms[:len(of.messages)], transcript.Same)
}

// digest hashes values so that no two lists of them look alike.
type digest struct {
	h     hash.Hash
	buf   [512]byte
	bytes int // about, of what was written
}

func newDigest(what string) *digest {
	d := &digest{h: sha256.New()}
	d.writeStrings(what)
	return d
}

// newRequestDigest begins the digest of a request. Messages follow, and how many there are: a
// message takes more bytes than that number, so no two requests look alike.
func newRequestDigest(frame string) *digest {
	d := newDigest("parley request 2")
	d.writeStrings(frame)
	return d
}

// sumOf writes the last messages of a request that has so many in all, and returns its digest.
func (d *digest) sumOf(last []transcript.Message, all int) string {
	d.writeMessages(last)
	d.writeInt(all)
	return d.sum()
}

// clone returns another digest of the same; false: the hash cannot.
func (d *digest) clone() (*digest, bool) {
	c, ok := d.h.(hash.Cloner)
	if !ok {
		return nil, false
	}
	h, err := c.Clone()
	return &digest{h: h}, err == nil
}

func (d *digest) sum() string { return hex.EncodeToString(d.h.Sum(nil)) }

func (d *digest) writeInt(n int) {
	binary.BigEndian.PutUint64(d.buf[:8], uint64(n))
	d.write(d.buf[:8])
}

func (d *digest) write(b []byte) {
	d.bytes += len(b)
	_, _ = d.h.Write(b) // a hash takes everything
}

func (d *digest) writeBool(b bool) {
	n := 0
	if b {
		n = 1
	}
	d.writeInt(n)
}

func (d *digest) writeFloat(f *float64) {
	d.writeBool(f != nil)
	if f != nil {
		binary.BigEndian.PutUint64(d.buf[:8], math.Float64bits(*f))
		d.write(d.buf[:8])
	}
}

func (d *digest) writeBytes(b []byte) {
	d.writeInt(len(b))
	d.write(b)
}

func (d *digest) writeMessages(ms []transcript.Message) {
	for _, m := range ms {
		d.writeStrings(string(m.Role))
		d.writeInt(len(m.Parts))
		for _, p := range m.Parts {
			d.writePart(p)
		}
		d.writeBool(m.Native != nil)
		if n := m.Native; n != nil {
			d.writeStrings(n.Provider, n.Model)
			d.writeInt(len(n.Blocks))
			for _, b := range n.Blocks {
				d.writeBytes(b)
			}
		}
	}
}

// writeStrings takes texts as JSON keeps them: a byte that is no UTF-8 is U+FFFD there.
func (d *digest) writeStrings(ss ...string) {
	for _, s := range ss {
		if !utf8.ValidString(s) {
			s = string([]rune(s))
		}
		d.writeInt(len(s))
		for len(s) > 0 { // a hash takes bytes: made of s as a whole they would be garbage as large as the request
			n := copy(d.buf[:], s)
			d.write(d.buf[:n])
			s = s[n:]
		}
	}
}

func (d *digest) writePart(p transcript.Part) {
	switch p := p.(type) {
	case transcript.Text:
		d.writeStrings("text", p.Text)
	case transcript.Reasoning:
		d.writeStrings("reasoning", p.Thinking)
	case transcript.ToolCall:
		d.writeStrings("tool_call", p.ID, p.Name, p.Input)
		d.writeBool(p.Finished)
	case transcript.ToolResult:
		d.writeStrings("tool_result", p.ToolCallID, p.Name, p.Content)
		d.writeBool(p.IsError)
	case transcript.Finish:
		d.writeStrings("finish", string(p.Reason))
	case transcript.Binary:
		d.writeStrings("binary", p.Path, p.MIMEType)
		if p.Sum != "" { // which says what the content is; the history has no more
			d.writeStrings(p.Sum)
			d.bytes += len(p.Data)
			return
		}
		d.writeBytes(p.Data)
	case transcript.ImageURL:
		d.writeStrings("image_url", p.URL, p.Detail)
	case transcript.Unknown:
		d.writeStrings("unknown", p.Type)
		d.writeBytes(p.Data)
	}
}
