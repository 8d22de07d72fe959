package model

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Thinking of newer models is bound to what it was thought behind: the system text, the
// tools, and all messages before it but for their thinking; and to the thinking before it. A
// request that changed any of this is refused, or goes on without the thinking from there on.
// (Claude API: preserved thinking, prefix checks on thinking blocks.) The simulated account is
// a new one, for which this always holds.

// bindingMark stands in a signature before what it is bound to.
const bindingMark = ".."

// bind returns a signature with what it is bound to.
func (p *Prompt) bind(signature, before string) string {
	return signature + bindingMark + p.prefix(len(p.segments)) + bindingMark + digest(before)
}

// prefix is what stands in the first n segments, without thinking.
func (p *Prompt) prefix(n int) string {
	h := sha256.New()
	for _, s := range p.segments[:n] {
		if !s.isThinking() {
			h.Write([]byte(s.kind + "\x00"))
			h.Write(s.text)
			h.Write([]byte{0})
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// checkBinding holds the thinking of block j of message i, which is the segment at, to what
// it was thought behind. before is the signature of the thinking before it; "" for the first,
// since thinking may be taken away from the front.
func (p *Prompt) checkBinding(i, j, at int, signature, before string) {
	parts := strings.Split(signature, bindingMark)
	if len(parts) != 3 { // of another model, or chosen by a brain
		return
	}
	if len(p.dropped) == 0 && parts[1] == p.prefix(p.starts[i]) && (before == "" || parts[2] == digest(before)) {
		return
	}
	if !p.dropUnbound {
		more := ""
		if !p.bindingControls {
			more = " That setting requires the `" + bindingBeta + "` value in the `anthropic-beta` header."
		}
		panic(invalid(pathf("messages.%d.content.%d: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".%s", i, j, more)))
	}
	p.dropped = append(p.dropped, dropped{"thinking_dropped", pathf("messages.%d.content.%d", i, j), "prefix_binding_mismatch"})
	p.segments[at].text = nil // it is not billed
}

// lastThinking is the signature of the last thinking of the request.
func (p *Prompt) lastThinking() string {
	for _, s := range slices.Backward(p.segments) {
		if s.isThinking() {
			return s.signature
		}
	}
	return ""
}
