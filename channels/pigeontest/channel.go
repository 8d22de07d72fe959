package pigeontest

import (
	"context"
	"strings"
	"time"

	"parley/channels"
)

// pause is how long a message that was not taken waits before it is offered again.
const pause = 10 * time.Millisecond

// Channel is the adapter.
type Channel struct {
	name     string
	loft     *Loft
	observer channels.Observer
	now      func() time.Time
}

var _ channels.Channel = (*Channel)(nil)

// Open makes the channel of the bot under that instance name. It starts nothing.
func (l *Loft) Open(name string, observer channels.Observer, now func() time.Time) *Channel {
	return &Channel{name: name, loft: l, observer: observer, now: now}
}

// Name is the instance name.
func (c *Channel) Name() string { return c.name }

// Receive offers what is said, one message after another, until ctx ends.
func (c *Channel) Receive(ctx context.Context, accept channels.Accept) error {
	c.observer.Up(c.name, true)
	defer c.observer.Up(c.name, false)
	for {
		m, ok := c.loft.next(ctx)
		if !ok {
			return nil
		}
		m.Channel, m.SentAt, m.ReceivedAt = c.name, c.now(), c.now()
		c.observer.Event(c.name, c.now())
		if err := accept(ctx, m); err != nil { // it stays first
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			continue
		}
		c.loft.acknowledge()
	}
}

// Render gives one message, as it is.
func (c *Channel) Render(markdown string) []channels.Body {
	text := strings.TrimSpace(markdown)
	if text == "" {
		return nil
	}
	return []channels.Body{{Text: text}}
}

// Send sends a message, with a mark when it may be there already.
func (c *Channel) Send(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	if ctx.Err() != nil {
		return channels.Receipt{}, &channels.Error{Kind: channels.Unsent, Op: "send", Err: ctx.Err()}
	}
	text := r.Body.Text
	if r.Repeat {
		text = "(again) " + text
	}
	return channels.Receipt{MessageID: c.loft.take(Sent{To: r.To, ReplyTo: r.ReplyTo, Text: text})}, nil
}
