package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"parley/channels"
)

// sameEnd is how far the ends of one and the same wait may differ when two
// chats are told of it: Telegram rounds to whole seconds.
const sameEnd = time.Second

// limits is until when Telegram wants to hear nothing of a chat or of the whole
// account. It asks for a wait in the answer to one message, and does not say
// whom it means: it is the chat, until another chat is told a wait that ends at
// the same moment. Nothing is held back that Telegram did not ask for.
type limits struct {
	mu      sync.Mutex
	account time.Time
	chats   map[int64]time.Time
	seen    time.Time // the time of the last call
}

// left is how long a call for chat must still wait.
func (l *limits) left(chat int64, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follow(now)
	until := l.chats[chat]
	if l.account.After(until) {
		until = l.account
	}
	return max(0, until.Sub(now))
}

// asked notes that Telegram answered a call for chat with a wait.
func (l *limits) asked(chat int64, wait time.Duration, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.chats == nil {
		l.chats = map[int64]time.Time{}
	}
	l.follow(now)
	until := now.Add(wait)
	for c, t := range l.chats {
		switch {
		case !t.After(now):
			delete(l.chats, c)
		case c != chat && t.Sub(until).Abs() <= sameEnd && until.After(l.account):
			l.account = until
		}
	}
	l.chats[chat] = until
}

// follow keeps the ends of waits as far away as they were when the clock was set
// back; one that was set forward ends them early, and Telegram says so again. The
// caller holds mu.
func (l *limits) follow(now time.Time) {
	if back := l.seen.Sub(now); back > 0 && !l.seen.IsZero() {
		l.account = l.account.Add(-back)
		for c, t := range l.chats {
			l.chats[c] = t.Add(-back)
		}
	}
	l.seen = now
}

// inChat runs one of the library's calls for a chat, when Telegram wants to hear
// of it.
func (c *Channel) inChat(ctx context.Context, method string, chat int64, run func(ctx context.Context) error) (json.RawMessage, error) {
	return c.paced(method, chat, func() (json.RawMessage, error) { return c.viaLibrary(ctx, method, run) })
}

// paced makes a call for a chat, unless Telegram has asked to wait; then nothing is
// sent, and the error says how long is left.
func (c *Channel) paced(method string, chat int64, call func() (json.RawMessage, error)) (json.RawMessage, error) {
	if left := c.limits.left(chat, c.o.Now()); left > 0 {
		return nil, &channels.Error{Kind: channels.RateLimit, Op: method, RetryAfter: left, Message: "telegram has asked to wait"}
	}
	result, err := call()
	var e *channels.Error
	if errors.As(err, &e) && e.Kind == channels.RateLimit {
		c.limits.asked(chat, e.RetryAfter, c.o.Now())
	}
	return result, err
}
