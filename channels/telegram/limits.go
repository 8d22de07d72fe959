package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"parley/channels"
	"parley/channels/internal/exchange"
	"parley/sessionkeys"
)

// sameEnd allows for Telegram's rounding to whole seconds. Telegram does not say
// whether it means the chat or the account: it is the chat, until another chat is
// told a wait that ends at the same moment.
const sameEnd = time.Second

// callInChat runs a method for a chat, when Telegram wants to hear of it.
func (c *Channel) callInChat(ctx context.Context, method string, s callTarget, k class, params any) (json.RawMessage, error) {
	return c.callPaced(method, s, k, func() (json.RawMessage, error) {
		return exchange.Call(ctx, c.o.SendTimeout, method, func(ctx context.Context) error { return c.post(ctx, method, params) }, resultOf)
	})
}

// callPaced makes a call for a chat, unless Telegram has asked to wait or would; then
// nothing is sent, and the error says how long is left. So no call falls into a
// penalty, which it would make longer.
func (c *Channel) callPaced(method string, s callTarget, k class, call func() (json.RawMessage, error)) (json.RawMessage, error) {
	booked, err := c.limiter.reserve(method, s, k)
	if err != nil {
		return nil, err
	}
	result, err := call()
	var e *channels.Error
	if errors.As(err, &e) && e.Kind == channels.RateLimit {
		c.Waits.Note("", s.id(), e.RetryAfter)
	}
	c.limiter.finish(s, booked, err == nil || e != nil && (e.Kind == channels.Ambiguous || e.Kind == channels.RateLimit))
	return result, err
}

// Book implements [channels.Pacer].
func (c *Channel) Book(to sessionkeys.Address) (wait time.Duration, release func()) {
	release = func() {}
	chat, thread, err := parseAddress("", to)
	if err != nil {
		return 0, release // which Send says
	}
	s := callTarget{chat, thread}
	var e *channels.Error
	if errors.As(c.Waits.Check("", "", s.id()), &e) {
		return max(c.limiter.delay(s, final), e.RetryAfter), release
	}
	return c.limiter.book(s)
}
