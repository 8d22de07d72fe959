package telegram

import (
	"context"
	"crypto/sha256"
	"errors"
	"strconv"
	"sync"

	"parley/channels"
	"parley/sessionkeys"
)

// StartStream sends the first of an answer that grows.
func (c *Channel) StartStream(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	receipt, asIs, err := c.send(ctx, r, preview)
	if err == nil && asIs {
		c.drafts.noteShown(r.To, receipt.MessageID, r.Body)
	}
	return receipt, err
}

// UpdateStream shows more of an answer, when the chat has room for what is only for show;
// otherwise it fails as RateLimit, and nothing was called.
func (c *Channel) UpdateStream(ctx context.Context, to sessionkeys.Address, messageID string, b channels.Body) error {
	if c.drafts.isShown(to, messageID, b) { // a long answer, whose first message is full
		return nil
	}
	asIs, err := c.edit(ctx, to, messageID, b, preview)
	var e *channels.Error
	switch {
	case err == nil && asIs:
		c.drafts.noteShown(to, messageID, b)
	case errors.As(err, &e) && e.Kind == channels.RateLimit: // nothing has changed
	default:
		c.drafts.forget(to, messageID)
	}
	return err
}

// SplitStream has nothing to do: an edit can show any other text in the same message.
func (*Channel) SplitStream(context.Context, sessionkeys.Address, string, channels.Body) (bool, error) {
	return false, nil
}

// EndStream has nothing to do: a message of Telegram stands as it is.
func (*Channel) EndStream(context.Context, sessionkeys.Address, string) error { return nil }

// Edit changes the text of a message. Repeating it is harmless: a message that
// reads so already is a success. Telegram is not asked to change one that this process
// saw it make so: the first of a long answer is full before the end. Who has deleted it
// since has seen it whole.
func (c *Channel) Edit(ctx context.Context, to sessionkeys.Address, messageID string, b channels.Body) error {
	stands := c.drafts.isShown(to, messageID, b)
	c.drafts.forget(to, messageID)
	if stands {
		c.o.Log.Debug(StandsAlready, "chat", to.Peer, "message", messageID)
		return nil
	}
	_, err := c.edit(ctx, to, messageID, b, final)
	return err
}

// StandsAlready is what is logged, at level debug, of a message whose final text stood
// there already, with its chat and its id: Telegram was not asked, so no other book has
// it.
const StandsAlready = "a message reads already what it is to read"

const draftsMost = 1024 // messages that grow; of more none is known, which costs an edit

// drafts is what messages that grow read at present, each with the entities that it was
// given, by Telegram's own answer: what is in doubt, or was changed on the way, is not
// known. Only who owns the account changes its messages, those of one chat one after
// another. The zero value knows none. Its methods may be called concurrently.
type drafts struct {
	mu   sync.Mutex // guards read
	read map[draft][sha256.Size]byte
}

type draft struct{ chat, id string }

func digest(b channels.Body) [sha256.Size]byte {
	return sha256.Sum256([]byte(strconv.Itoa(len(b.Text)) + " " + b.Text + string(b.Markup)))
}

func (d *drafts) noteShown(to sessionkeys.Address, id string, b channels.Body) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.read == nil || len(d.read) >= draftsMost {
		d.read = map[draft][sha256.Size]byte{}
	}
	d.read[draft{to.Peer, id}] = digest(b)
}

func (d *drafts) isShown(to sessionkeys.Address, id string, b channels.Body) bool {
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

// forgetAll forgets what this process showed: another one may own the account, and
// change it, from now on.
func (d *drafts) forgetAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read = nil
}
