package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/broker"
	"parley/gateway/intake"
	"parley/sessionkeys"
	"parley/sessions"
)

// place is where a chat is at present. Answers are addressed by the id that
// their conversation is known by.
type place struct {
	to   sessionkeys.Address
	chat sessions.Chat
}

// errDropped ends a delivery whose chat is closed to the bot.
var errDropped = errors.New("the chat is closed to the bot")

func chatID(to sessionkeys.Address) sessions.ChatID {
	return sessions.ChatID{Channel: to.Channel, Account: to.Account, Peer: to.Peer}
}

func (a *account) find(ctx context.Context, to sessionkeys.Address) (place, error) {
	c, err := a.d.Store.Chat(ctx, chatID(to))
	if err != nil {
		return place{}, fmt.Errorf("look where the chat is: %w", err)
	}
	to.Peer = c.Current()
	return place{to, c}, nil
}

// movedSince says whether the chat had another id at that time: ids of messages
// from then name nothing, or something else, where it is now.
func (p place) movedSince(at time.Time) bool {
	return !p.chat.MovedAt.IsZero() && at.Before(p.chat.MovedAt)
}

// asked is when the message that d answers came.
func asked(d *sessions.Delivery) time.Time {
	if d.Asked.IsZero() {
		return d.At
	}
	return d.Asked
}

// follow notes the id that the network names for a chat that moved.
func (a *account) follow(ctx context.Context, at *place, to string) error {
	c, err := a.d.Store.Move(context.WithoutCancel(ctx), chatID(at.to), to, a.d.Now())
	if err != nil {
		return fmt.Errorf("note that the chat moved: %w", err)
	}
	a.d.Logger.Info("a group has a new id", "channel", a.name, "before", at.to.Peer, "now", c.Current(), "known_as", c.Canonical())
	at.chat, at.to.Peer = c, c.Current()
	return nil
}

// shut notes that the network takes nothing more for the chat, as of when the
// refused call began. What waits for it is dropped with it, and what runs there
// is stopped: nobody would read the answer, and it costs money. It returns false
// when the chat was opened again since.
func (a *account) shut(ctx context.Context, to sessionkeys.Address, id string, began time.Time) (bool, error) {
	ctx = context.WithoutCancel(ctx)
	c, shut, err := a.d.Store.Shut(ctx, sessions.Shutting{ID: a.name + " " + id, Chat: chatID(to), At: began})
	if err != nil {
		return false, fmt.Errorf("note that the chat is closed: %w", err)
	}
	if c.Dropped == 0 && len(c.Mailboxes) == 0 {
		return shut, nil // somebody else noted it
	}
	for range c.Dropped {
		a.d.Observer.Sent(a.name, "dropped", 0)
	}
	for _, token := range c.Mailboxes {
		b, err := json.Marshal(intake.ControlSignal{Token: token})
		if err == nil {
			err = a.d.Log.Signal(ctx, broker.Signal{Topic: intake.ControlTopic, Body: b})
		}
		if err != nil { // the worker looks by itself, too
			a.d.Logger.Debug("signal not sent", "topic", intake.ControlTopic, "error", err)
		}
	}
	a.d.Logger.Warn("a chat is closed to the bot", "channel", a.name, "chat", to.Peer, "dropped", c.Dropped, "stopped", len(c.Mailboxes))
	return shut, nil
}

// drop ends a delivery that was queued for a chat after it was shut.
func (a *account) drop(ctx context.Context, d *sessions.Delivery) error {
	var p sessions.Progress
	if len(d.Parts) == 0 { // one part, never sent, says why
		p.Bodies, d.Parts = [][]byte{{}}, []sessions.Part{{State: sessions.Queued}}
	}
	for i, part := range d.Parts {
		if part.State == sessions.Sent || part.State == sessions.Failed {
			continue
		}
		m := a.mark(i, part.State, sessions.Failed)
		m.Problem = errDropped.Error()
		p.Marks = append(p.Marks, m)
	}
	err := a.d.Store.Advance(ctx, d.ID, p)
	if errors.Is(err, sessions.ErrFenced) || errors.Is(err, sessions.ErrNotFound) {
		return errTaken // it was dropped when the chat was shut
	}
	if err != nil {
		return fmt.Errorf("drop an answer: %w", err)
	}
	a.d.Observer.Sent(a.name, "dropped", 0)
	return errDropped
}
