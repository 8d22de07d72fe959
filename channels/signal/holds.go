package signal

import (
	"sync"
	"time"

	"parley/channels"
)

// holds is until when Signal wants to hear nothing, of a chat or of the whole
// account, and whether it is in doubt that it can be reached.
type holds struct {
	mu      sync.Mutex // guards what is below
	chats   map[string]time.Time
	account time.Time
	seen    time.Time
	doubted bool
}

// left is how long nothing may be sent to the chat.
func (h *holds) left(chat string, now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.follow(now)
	until := h.chats[chat]
	if h.account.After(until) {
		until = h.account
	}
	return max(0, until.Sub(now))
}

// asked notes that a call for chat was answered with a wait. A captcha is asked
// of the account.
func (h *holds) asked(chat string, all bool, wait time.Duration, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.follow(now)
	until := now.Add(wait)
	if all {
		if until.After(h.account) {
			h.account = until
		}
		return
	}
	if h.chats == nil {
		h.chats = map[string]time.Time{}
	}
	for c, t := range h.chats {
		if !t.After(now) {
			delete(h.chats, c)
		}
	}
	h.chats[chat] = until
}

// follow keeps the ends of waits as far away as they were when the clock was set
// back. The caller holds mu.
func (h *holds) follow(now time.Time) {
	if back := h.seen.Sub(now); back > 0 && !h.seen.IsZero() {
		h.account = h.account.Add(-back)
		for c, t := range h.chats {
			h.chats[c] = t.Add(-back)
		}
	}
	h.seen = now
}

func (h *holds) doubt() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doubted = true
}

func (h *holds) through() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doubted = false
}

func (h *holds) inDoubt() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.doubted
}

func waiting(op string, left time.Duration) error {
	return &channels.Error{Kind: channels.RateLimit, Op: op, RetryAfter: left, Message: "signal has asked to wait"}
}
