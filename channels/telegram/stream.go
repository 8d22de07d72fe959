package telegram

import (
	"context"
	"crypto/sha256"
	"strconv"
	"sync"

	"parley/channels"
	"parley/sessionkeys"
)

// Begin sends the first of an answer that grows.
func (c *Channel) Begin(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	receipt, err := c.send(ctx, r, preview)
	if err == nil {
		c.drafts.show(r.To, receipt.MessageID, r.Body)
	}
	return receipt, err
}

// Grow shows more of an answer, when the chat has room for what is only for show;
// otherwise it fails as RateLimit, and nothing was called.
func (c *Channel) Grow(ctx context.Context, to sessionkeys.Address, messageID string, b channels.Body) error {
	if c.drafts.shows(to, messageID, b) { // a long answer, whose first message is full
		return nil
	}
	err := c.edit(ctx, to, messageID, b, preview)
	if err == nil {
		c.drafts.show(to, messageID, b)
	}
	return err
}

// Break has nothing to do: an edit can show any other text in the same message.
func (*Channel) Break(context.Context, sessionkeys.Address, string, channels.Body) (bool, error) {
	return false, nil
}

// End has nothing to do: a message of Telegram stands as it is.
func (*Channel) End(context.Context, sessionkeys.Address, string) error { return nil }

// Edit changes the text of a message. Repeating it is harmless: a message that
// reads so already is a success.
func (c *Channel) Edit(ctx context.Context, to sessionkeys.Address, messageID string, b channels.Body) error {
	err := c.edit(ctx, to, messageID, b, final)
	if err == nil {
		c.drafts.forget(to, messageID)
	}
	return err
}

const draftsMost = 1024 // messages that grow; of more none is known, which costs an edit

// drafts is what messages that grow read at present. The zero value knows none. Its
// methods may be called concurrently.
type drafts struct {
	mu   sync.Mutex // guards read
	read map[draft][sha256.Size]byte
}

type draft struct{ chat, id string }

func digest(b channels.Body) [sha256.Size]byte {
	return sha256.Sum256([]byte(strconv.Itoa(len(b.Text)) + " " + b.Text + string(b.Markup)))
}

func (d *drafts) show(to sessionkeys.Address, id string, b channels.Body) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.read == nil || len(d.read) >= draftsMost {
		d.read = map[draft][sha256.Size]byte{}
	}
	d.read[draft{to.Peer, id}] = digest(b)
}

func (d *drafts) shows(to sessionkeys.Address, id string, b channels.Body) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum, known := d.read[draft{to.Peer, id}]
	return known && sum == digest(b)
}

func (d *drafts) forget(to sessionkeys.Address, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.read, draft{to.Peer, id})
}
