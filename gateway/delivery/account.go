package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/signals"
	"parley/sessionkeys"
	"parley/sessions"
)

// account is one bot account, and knows where its chats are. It never changes.
type account struct {
	*Options
	me   string // a name that no other process has
	ch   channels.Channel
	name string
	// places has something in it for each attempt that may have a part stand as being sent.
	places chan struct{}
}

// render returns a text as messages of the network. Only what has buttons, which the gateway
// alone makes, may look like a question for permission.
func (a *account) render(markdown string, question bool) []channels.Body {
	if question {
		return a.ch.Render(markdown)
	}
	bodies := a.ch.Render(markdown)
	for i, b := range bodies { // what Markdown spells is a character now
		bodies[i].Text = approvals.Defuse(b.Text)
		if b.Markup != nil {
			bodies[i].Markup = json.RawMessage(approvals.Defuse(string(b.Markup)))
		}
	}
	return bodies
}

// destination is where a chat is at present. Answers are addressed by the id that
// their conversation is known by.
type destination struct {
	to   sessionkeys.Address
	chat sessions.Chat
}

func chatID(to sessionkeys.Address) sessions.ChatID {
	return sessions.ChatID{Channel: to.Channel, Account: to.Account, Peer: to.Peer}
}

func (a *account) locate(ctx context.Context, to sessionkeys.Address) (destination, error) {
	c, err := a.Store.Chat(ctx, chatID(to))
	if err != nil {
		return destination{}, fmt.Errorf("look where the chat is: %w", err)
	}
	to.Peer = c.Current()
	return destination{to, c}, nil
}

// movedSince reports whether the chat had another id at that time: ids of messages
// from then name nothing, or something else, where it is now.
func (p destination) movedSince(at time.Time) bool {
	return !p.chat.MovedAt.IsZero() && at.Before(p.chat.MovedAt)
}

// askedAt returns when the message that d answers came.
func askedAt(d *sessions.Delivery) time.Time {
	if d.AskedAt.IsZero() {
		return d.At
	}
	return d.AskedAt
}

// followMove notes the id that the network names for a chat that moved.
func (a *account) followMove(ctx context.Context, at *destination, to string) error {
	c, err := a.Store.Move(context.WithoutCancel(ctx), chatID(at.to), to, a.Now())
	if err != nil {
		return fmt.Errorf("record that the chat moved: %w", err)
	}
	a.Logger.Info("group ID changed", "channel", a.name, "previous", at.to.Peer, "current", c.Current(), "canonical", c.Canonical())
	at.chat, at.to.Peer = c, c.Current()
	return nil
}

// closeChat notes that the network takes nothing more for the chat, as of when the
// refused call began. What waits for it is dropped with it, and what runs there
// is stopped: the answer could not be sent, and it costs money. It returns false
// when the chat was opened again since.
func (a *account) closeChat(ctx context.Context, to sessionkeys.Address, id string, began time.Time) (bool, error) {
	ctx = context.WithoutCancel(ctx)
	c, shut, err := a.Store.CloseChat(ctx, sessions.CloseRequest{ID: a.name + " " + id, Chat: chatID(to), At: began})
	if err != nil {
		return false, fmt.Errorf("record that the chat is closed: %w", err)
	}
	if c.Dropped == 0 && len(c.Mailboxes) == 0 {
		return shut, nil // somebody else noted it
	}
	for range c.Dropped {
		a.Observer.CountSent(a.name, "dropped", 0)
	}
	for _, token := range c.Mailboxes {
		b, err := json.Marshal(signals.Control{Token: token})
		if err == nil {
			err = a.Log.Signal(ctx, broker.Signal{Topic: signals.ControlTopic, Body: b})
		}
		if err != nil { // the worker looks by itself, too
			a.Logger.Debug("signal not sent", "topic", signals.ControlTopic, "error", err)
		}
	}
	a.Logger.Warn("chat closed to the bot", "channel", a.name, "chat", to.Peer, "dropped", c.Dropped, "stopped", len(c.Mailboxes))
	return shut, nil
}
