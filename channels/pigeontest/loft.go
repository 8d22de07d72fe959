// Package pigeontest is a chat network in memory, and its adapter. It exists for tests
// only: no product file knows its name, so what answers on it is what every network has
// by its row in the gateway's table.
package pigeontest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"parley/channels"
	"parley/sessionkeys"
)

// Network is the name of the network in addresses, and CommandSign what people on it
// type before a command.
const (
	Network     = "pigeon-post"
	CommandSign = "~"
)

// Sent is a message that the bot sent.
type Sent struct {
	To      sessionkeys.Address
	ReplyTo string
	Text    string
}

// Loft is the network with one bot on it. It keeps what is said to the bot until that is
// acknowledged. All methods may be called concurrently.
type Loft struct {
	bot string

	mu      sync.Mutex
	said    []channels.Message // not acknowledged yet; guarded by mu, like what follows
	n       int                // of all that was ever said
	sent    []Sent
	changed chan struct{} // closed when something was said
}

// New makes a network on which the bot has that id.
func New(bot string) *Loft { return &Loft{bot: bot, changed: make(chan struct{})} }

// Direct returns the address of the direct chat of a person with the bot.
func (l *Loft) Direct(person string) sessionkeys.Address {
	return sessionkeys.Address{Channel: Network, Account: l.bot, Kind: sessionkeys.DM, Peer: person}
}

// Group returns the address of a group.
func (l *Loft) Group(id string) sessionkeys.Address {
	return sessionkeys.Address{Channel: Network, Account: l.bot, Kind: sessionkeys.Group, Peer: id}
}

// Say lets a person write into a chat. Who begins with an @ and the bot's id mentions it.
func (l *Loft) Say(in sessionkeys.Address, person, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	text, mentioned := strings.CutPrefix(text, "@"+l.bot+" ")
	if rest, ok := strings.CutPrefix(text, CommandSign); ok {
		text = "/" + rest
	}
	l.said = append(l.said, channels.Message{
		Event: "e" + strconv.Itoa(l.n), Kind: channels.Said, Address: in, Sender: channels.Sender{ID: person, Name: person},
		MessageID: strconv.Itoa(l.n), Text: text, Mentioned: mentioned || in.Kind == sessionkeys.DM,
	})
	close(l.changed)
	l.changed = make(chan struct{})
}

// Sent returns what the bot sent, in order.
func (l *Loft) Sent() []Sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sent)
}

// Waiting returns how much was said and is not acknowledged.
func (l *Loft) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.said)
}

// next returns the first message that is not acknowledged, as soon as there is one; or
// false when ctx ended.
func (l *Loft) next(ctx context.Context) (channels.Message, bool) {
	for {
		l.mu.Lock()
		said, changed := l.said, l.changed
		l.mu.Unlock()
		if len(said) > 0 {
			return said[0], ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return channels.Message{}, false
		}
	}
}

// acknowledge forgets the first message.
func (l *Loft) acknowledge() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = l.said[1:]
}

// take takes a message of the bot and returns its id.
func (l *Loft) take(s Sent) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, s)
	return "b" + strconv.Itoa(len(l.sent))
}
