package pigeontest

import (
	"context"
	"io"
	"time"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/channels/internal/receive"
	"parley/sessionkeys"
)

// pause is how long a message that was not taken waits before it is offered again.
const pause = 10 * time.Millisecond

// Channel is the adapter.
type Channel struct {
	name     string
	loft     *Loft
	observer channels.Observer
	now      func() time.Time
	waits    receive.Waits
}

var (
	_ channels.Channel      = (*Channel)(nil)
	_ channels.Fetcher      = (*Channel)(nil)
	_ channels.WaitRestorer = (*Channel)(nil)
)

// Open makes the channel of the bot under that instance name. It starts nothing.
func (l *Loft) Open(name string, observer channels.Observer, now func() time.Time) *Channel {
	return &Channel{name: name, loft: l, observer: observer, now: now, waits: receive.Waits{Network: "the post", Now: now}}
}

// Name returns the instance name.
func (c *Channel) Name() string { return c.name }

// Receive offers what is said, one message after another, until ctx ends.
func (c *Channel) Receive(ctx context.Context, accept channels.Accept) error {
	c.observer.SetConnected(c.name, true)
	defer c.observer.SetConnected(c.name, false)
	for {
		m, ok := c.loft.next(ctx)
		if !ok {
			return nil
		}
		m.Channel, m.SentAt, m.ReceivedAt = c.name, c.now(), c.now()
		m.Sender.Name = markup.Name(m.Sender.Name)
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

// Render gives plain text, in messages that a pigeon can carry.
func (c *Channel) Render(markdown string) (all []channels.Body) {
	for _, m := range markup.Signal(markdown, markup.SignalOptions{}) {
		all = append(all, channels.Body{Text: m.Text})
	}
	return all
}

// RestoreWaits takes the waits that an earlier process was asked for.
func (c *Channel) RestoreWaits(known []channels.Wait, keep func(channels.Wait)) {
	c.waits.Restore(known, keep)
}

// Fetch writes a picture that came.
func (c *Channel) Fetch(_ context.Context, _ sessionkeys.Address, a channels.Attachment, w io.Writer) error {
	data, ok := c.loft.file(a.Ref)
	if !ok {
		return &channels.Error{Kind: channels.Refused, Op: "fetch", Message: "there is no such file"}
	}
	if _, err := w.Write(data); err != nil {
		return &channels.Error{Kind: channels.Unsent, Op: "fetch", Err: err}
	}
	return nil
}

// Send sends a message, with a mark when it may be there already.
func (c *Channel) Send(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	if ctx.Err() != nil {
		return channels.Receipt{}, &channels.Error{Kind: channels.Unsent, Op: "send", Err: ctx.Err()}
	}
	const everything = "all"
	if err := c.waits.Check("send", everything, r.To.Peer); err != nil {
		return channels.Receipt{}, err // an *Error
	}
	text := r.Body.Text
	if r.Repeat {
		text = "(again) " + text
	}
	id, wait := c.loft.receiveSent(Sent{To: r.To, ReplyTo: r.ReplyTo, Text: text})
	if wait > 0 {
		c.waits.Note(everything, r.To.Peer, wait)
		return channels.Receipt{}, &channels.Error{Kind: channels.RateLimit, Op: "send", RetryAfter: wait}
	}
	return channels.Receipt{MessageID: id}, nil
}
