// Package pigeontest is a chat network in memory, and its adapter. It exists for tests
// only: no product file knows its name, so what answers on it is what every network has
// by its row in the gateway's table.
package pigeontest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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
	calls   int           // for a message, whatever came of it
	limit   time.Duration // that the next call is told to wait
	files   map[string][]byte
	changed chan struct{} // closed when something was said or acknowledged
}

// New makes a network on which the bot has that id.
func New(bot string) *Loft {
	return &Loft{bot: bot, files: map[string][]byte{}, changed: make(chan struct{})}
}

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
	text, mentioned := strings.CutPrefix(text, "@"+l.bot+" ")
	if rest, ok := strings.CutPrefix(text, CommandSign); ok {
		text = "/" + rest
	}
	l.enqueue(channels.Message{
		Kind: channels.Said, Address: in, Sender: channels.Sender{ID: person, Name: person}, Text: text, Mentioned: mentioned || in.Kind == sessionkeys.DM,
	})
}

// SayPicture lets a person send a picture to the bot.
func (l *Loft) SayPicture(person, text string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ref := "f" + strconv.Itoa(len(l.files))
	l.files[ref] = data
	l.enqueue(channels.Message{
		Kind: channels.Said, Address: l.Direct(person), Sender: channels.Sender{ID: person, Name: person}, Text: text, Mentioned: true,
		Attachments: []channels.Attachment{{Kind: "photo", MIME: "image/png", Size: int64(len(data)), Ref: ref}},
	})
}

// SayUnreadable lets a person do what no adapter knows.
func (l *Loft) SayUnreadable(person string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.enqueue(channels.Message{Kind: channels.Unreadable, Sender: channels.Sender{ID: person}, Raw: []byte(`{"feather":1}`), Problem: "no letter, but a feather"})
}

// enqueue gives an event its ids and puts it behind the others. The caller holds mu.
func (l *Loft) enqueue(m channels.Message) {
	l.n++
	m.Event, m.MessageID = "e"+strconv.Itoa(l.n), strconv.Itoa(l.n)
	l.said = append(l.said, m)
	l.notify()
}

// notify wakes who waits for a change. The caller holds mu.
func (l *Loft) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// LimitNext has the next message of the bot refused, with the demand to wait for d.
func (l *Loft) LimitNext(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit = d
}

// Calls returns how often the bot called for a message, whatever came of it.
func (l *Loft) Calls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

// Acknowledged returns how many events the network holds for received.
func (l *Loft) Acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n - len(l.said)
}

// AwaitAcknowledged waits until n events are acknowledged, or returns why ctx ended.
func (l *Loft) AwaitAcknowledged(ctx context.Context, n int) error {
	for {
		l.mu.Lock()
		done, changed := l.n-len(l.said) >= n, l.changed
		l.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Sent returns what the bot sent, in order.
func (l *Loft) Sent() []Sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sent)
}

// AwaitTaken waits until all that was said is acknowledged, which may come a moment after its answer.
func (l *Loft) AwaitTaken(ctx context.Context) error {
	for {
		l.mu.Lock()
		n, changed := len(l.said), l.changed
		l.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d messages not acknowledged: %w", n, context.Cause(ctx))
		}
	}
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
	l.notify()
}

// file returns what people sent by that reference.
func (l *Loft) file(ref string) ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	data, ok := l.files[ref]
	return data, ok
}

// receiveSent takes a message of the bot and returns its id, or how long the bot has to wait.
func (l *Loft) receiveSent(s Sent) (id string, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if wait, l.limit = l.limit, 0; wait > 0 {
		return "", wait
	}
	l.sent = append(l.sent, s)
	return "b" + strconv.Itoa(len(l.sent)), 0
}
