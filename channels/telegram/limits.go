package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"parley/channels"
)

// sameEnd allows for Telegram's rounding to whole seconds. Telegram does not say
// whether it means the chat or the account: it is the chat, until another chat is
// told a wait that ends at the same moment.
const sameEnd = time.Second

// inChat runs one of the library's calls for a chat, when Telegram wants to hear
// of it.
func (c *Channel) inChat(ctx context.Context, method string, chat int64, run func(ctx context.Context) error) (json.RawMessage, error) {
	return c.paced(method, chat, func() (json.RawMessage, error) { return c.viaLibrary(ctx, method, run) })
}

// paced makes a call for a chat, unless Telegram has asked to wait; then nothing is
// sent, and the error says how long is left.
func (c *Channel) paced(method string, chat int64, call func() (json.RawMessage, error)) (json.RawMessage, error) {
	id := strconv.FormatInt(chat, 10)
	if err := c.waits.Check(method, "", id); err != nil {
		return nil, err
	}
	result, err := call()
	var e *channels.Error
	if errors.As(err, &e) && e.Kind == channels.RateLimit {
		c.waits.Note("", id, e.RetryAfter)
	}
	return result, err
}
