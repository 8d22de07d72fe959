package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// Reader is what the desk looks things up in.
type Reader interface {
	Mailbox(ctx context.Context, token string) (sessions.Mailbox, error)
	Session(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error)
	Spent(ctx context.Context, s sessions.Scope, at time.Time) (settled, held costs.Amount, err error)
}

// Desk answers commands from what is stored.
type Desk struct {
	Store Reader
	Model func(agent string) string // which model answers for an agent, for showing
	Now   func() time.Time
}

// ChatScope is the spending scope of one conversation, over all its sessions.
func ChatScope(token string) sessions.Scope { return sessions.Scope{Kind: "chat", ID: token} }

const help = `I answer when you write to me here, or mention me in a group.

/new – start a new conversation; I forget what was said
/stop – stop what I am doing, and drop what waits
/status – what I am doing, and with which model
/cost – what this conversation has cost
/help – this list`

// Texts that more than one place says.
const (
	FreshText     = "A new conversation. I have forgotten what was said before."
	nothingYet    = "Nothing was said here yet."
	unknownPrices = " Some calls have no known price and are not in these figures."
)

// Answer is the text that answers c in the conversation whose mailbox is
// token. Only commands of kind AtOnce are answered here.
func (d *Desk) Answer(ctx context.Context, token string, c Command) (string, error) {
	switch c.Name {
	case "help", "start":
		return help, nil
	case "status":
		return d.status(ctx, token)
	case "cost":
		return d.cost(ctx, token)
	}
	return fmt.Sprintf("I do not know the command /%s. /help lists what I know.", c.Name), nil
}

func (d *Desk) find(ctx context.Context, token string) (m sessions.Mailbox, s sessions.Session, found bool, err error) {
	m, err = d.Store.Mailbox(ctx, token)
	if err == nil {
		s, err = d.Store.Session(ctx, m.Session)
	}
	if errors.Is(err, sessions.ErrNotFound) {
		return m, s, false, nil
	}
	return m, s, err == nil, err
}

func (d *Desk) status(ctx context.Context, token string) (string, error) {
	m, s, found, err := d.find(ctx, token)
	if err != nil {
		return "", err
	}
	if !found {
		return nothingYet, nil
	}
	var b strings.Builder
	switch {
	case m.Turn != nil && m.Turn.State == sessions.Parked:
		b.WriteString("I wait for somebody's decision.")
	case m.Turn != nil:
		fmt.Fprintf(&b, "I am working on an answer, for %s now.", d.Now().Sub(m.Turn.OpenedAt).Round(time.Second))
	case m.Owed():
		b.WriteString("A message is waiting for its turn.")
	default:
		b.WriteString("I am idle.")
	}
	if model := d.Model(m.Key.Agent()); model != "" {
		fmt.Fprintf(&b, "\nModel: %s", model)
	}
	fmt.Fprintf(&b, "\nThis conversation has %d messages and has cost %s.", s.Messages, s.Subtree.Display())
	return b.String(), nil
}

func (d *Desk) cost(ctx context.Context, token string) (string, error) {
	_, s, found, err := d.find(ctx, token)
	if err != nil {
		return "", err
	}
	if !found {
		return nothingYet, nil
	}
	settled, held, err := d.Store.Spent(ctx, ChatScope(token), d.Now())
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("This conversation: %s\nWith its sub-agents: %s\nHere today (UTC): %s",
		s.Own.Display(), s.Subtree.Display(), settled.Display())
	if held > 0 {
		text += fmt.Sprintf(", and %s held for what is running", held.Display())
	}
	if s.Unpriced > 0 {
		text += "." + unknownPrices
	}
	return text, nil
}
