package model

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"sync"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// idMaker makes identifiers that look like the providers' own. The same seed
// gives the same ones in the same order.
type idMaker struct {
	mu  sync.Mutex
	rng *rand.Rand // guarded by mu
}

func newIDMaker(seed uint64) *idMaker {
	return &idMaker{rng: rand.New(rand.NewPCG(seed, 0x6e616d6573))}
}

func (n *idMaker) make(prefix string, length int) string {
	var room [64]byte
	b := append(room[:0], prefix...)
	n.mu.Lock()
	for range length {
		b = append(b, base62[n.rng.IntN(len(base62))])
	}
	n.mu.Unlock()
	return string(b)
}

func (n *idMaker) request() string { return n.make("req_011C", 20) }

func (n *idMaker) message(p Protocol) string {
	switch p {
	case Anthropic:
		return n.make("msg_01", 22)
	case OpenAIResponses:
		return n.make("resp_", 50)
	default:
		return n.make("chatcmpl-", 29)
	}
}

// item returns an id of an item of Responses.
func (n *idMaker) item(k Kind) string {
	return n.make(itemPrefix[itemType[k]]+"_", 50)
}

func (n *idMaker) call(p Protocol) string {
	if p == Anthropic {
		return n.make("toolu_01", 22)
	}
	return n.make("call_", 24)
}

// seals signs thinking. What the server signs it can check without
// remembering it; signatures that a brain chose are remembered, as are calls
// that were made after thinking.
type seals struct {
	chosen memory[[2]string] // thinking or "", signature or data
	after  memory[string]    // ids of calls
}

// maxSeals bounds what is remembered. When it is reached everything is
// forgotten, and what is forgotten is taken for altered (chosen) or for free
// of thinking (after).
const maxSeals = 1 << 16

// memory is a bounded set. The zero memory is empty.
type memory[K comparable] struct {
	mu    sync.Mutex
	known map[K]struct{} // guarded by mu
}

func (m *memory[K]) add(k K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxSeals {
		m.known = map[K]struct{}{}
	}
	m.known[k] = struct{}{}
}

func (m *memory[K]) has(k K) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.known[k]
	return ok
}

// mac signs with a fixed key, so that a conversation survives a restart of the server.
func mac(kind, text string) []byte {
	h := hmac.New(sha256.New, []byte("model simulator"))
	h.Write([]byte(kind))
	h.Write([]byte{0})
	h.Write([]byte(text))
	return h.Sum(nil)
}

func (s *seals) signature(thinking string) string {
	return "Eq" + base64.StdEncoding.EncodeToString(mac("thinking", thinking))
}

// redacted is data that hides text: its own check stands before it.
func (s *seals) redacted(text string) string {
	hidden := mac("hidden", text)
	return base64.StdEncoding.EncodeToString(append(mac("redacted", string(hidden)), hidden...))
}

func (s *seals) validThinking(thinking, signature string) bool {
	signature, _, _ = strings.Cut(signature, bindingMark)
	return hmac.Equal([]byte(signature), []byte(s.signature(thinking))) || s.chosen.has([2]string{thinking, signature})
}

func (s *seals) validRedacted(data string) bool {
	raw, err := base64.StdEncoding.Strict().DecodeString(data)
	if err == nil && len(raw) == 2*sha256.Size && hmac.Equal(raw[:sha256.Size], mac("redacted", string(raw[sha256.Size:]))) {
		return true
	}
	return s.chosen.has([2]string{"", data})
}

// encrypted returns the content of a reasoning item, which hides text and holds the
// item's id and summary to what they were.
func (s *seals) encrypted(id, summary, text string) string {
	hidden := mac("hidden", text)
	return sealedPrefix + base64.URLEncoding.EncodeToString(append(mac("encrypted", id+"\x00"+summary+"\x00"+string(hidden)), hidden...))
}

const sealedPrefix = "gAAAAAB"

func (s *seals) validEncrypted(id, summary, data string) bool {
	sealed, ok := strings.CutPrefix(data, sealedPrefix)
	raw, err := base64.URLEncoding.Strict().DecodeString(sealed)
	if ok && err == nil && len(raw) == 2*sha256.Size &&
		hmac.Equal(raw[:sha256.Size], mac("encrypted", id+"\x00"+summary+"\x00"+string(raw[sha256.Size:]))) {
		return true
	}
	return s.chosen.has([2]string{id + "\x00" + summary, data})
}
