package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"parley/channels"
	"parley/sessionkeys"
)

// sameEnd allows for Telegram's rounding to whole seconds. Telegram does not say
// whether it means the chat or the account: it is the chat, until another chat is
// told a wait that ends at the same moment.
const sameEnd = time.Second

// inChat runs one of the library's calls for a chat, when Telegram wants to hear
// of it.
func (c *Channel) inChat(ctx context.Context, method string, s spot, k class, run func(ctx context.Context) error) (json.RawMessage, error) {
	return c.paced(method, s, k, func() (json.RawMessage, error) { return c.viaLibrary(ctx, method, run) })
}

// paced makes a call for a chat, unless Telegram has asked to wait or would; then
// nothing is sent, and the error says how long is left. So no call falls into a
// penalty, which it would make longer.
func (c *Channel) paced(method string, s spot, k class, call func() (json.RawMessage, error)) (json.RawMessage, error) {
	booked, err := c.allowance.take(method, s, k)
	if err != nil {
		return nil, err
	}
	result, err := call()
	var e *channels.Error
	if errors.As(err, &e) && e.Kind == channels.RateLimit {
		c.waits.Note("", s.id(), e.RetryAfter)
	}
	c.allowance.end(s, booked, err == nil || e != nil && (e.Kind == channels.Ambiguous || e.Kind == channels.RateLimit))
	return result, err
}

// Wait is how long it is until Telegram may be given another message for the chat.
func (c *Channel) Wait(to sessionkeys.Address) time.Duration {
	chat, thread, err := place("", to)
	if err != nil {
		return 0 // which Send says
	}
	s := spot{chat, thread}
	wait := c.allowance.due(s, final)
	var e *channels.Error
	if errors.As(c.waits.Check("", "", s.id()), &e) {
		wait = max(wait, e.RetryAfter)
	}
	return wait
}
