// Package intake decides who is answered, and queues what they said under its
// key.
//
// Every event of every adapter comes through [Intake.Accept], is authorised in
// one place, and ends in one of five ways: ignored and counted, given to the
// dead letters, answered at once (/status), stored as a control request
// (/stop), or published to the log. The network is told "received" only after
// that was durable.
package intake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/commands"
	"parley/sessionkeys"
	"parley/sessions"
)

// MaxText is the most text of one message, in bytes, that is taken.
const MaxText = 32 << 10

// Why messages are ignored: the closed set of the label reason.
const (
	NotMentioned = "not_mentioned"
	NotAllowed   = "not_allowed"
	Unsupported  = "unsupported"
	TooLarge     = "too_large"
	Limited      = "rate_limited"
)

// Log is where messages are queued.
type Log interface {
	Publish(ctx context.Context, e broker.Envelope) (uint64, error)
	DeadLetter(ctx context.Context, d broker.DeadLetter) error
	Last(ctx context.Context, token string) (uint64, error)
	Signal(ctx context.Context, s broker.Signal) error
}

// Book is where what does not queue is stored.
type Book interface {
	Notice(ctx context.Context, e sessions.InboxID, replies []sessions.Outgoing, at time.Time) (bool, error)
	Request(ctx context.Context, c sessions.Control) (bool, error)
}

// Observer counts. Calls must not block.
type Observer interface {
	Received(channel string, dm bool)
	Ignored(channel, reason string)
	Deduplicated(channel, reason string)
	DeadLettered(channel, reason string)
}

// Source is one bot account as intake knows it.
type Source struct {
	Agent  string // which agent answers
	Access Access
}

// Intake takes events. Its fields are set before the first Accept.
type Intake struct {
	Sources  map[string]Source // by instance name
	Log      Log
	Book     Book
	Desk     *commands.Desk
	Observer Observer
	Logger   *slog.Logger
	Now      func() time.Time
}

// Accept is a channels.Accept. A nil error means that the event is durably
// stored, or that nothing is to be kept of it.
func (i *Intake) Accept(ctx context.Context, m channels.Message) error {
	if m.Kind == channels.Unreadable {
		return i.bury(ctx, m, sessionkeys.Key{}, "unreadable", m.Problem)
	}
	src, ok := i.Sources[m.Channel]
	if !ok {
		return fmt.Errorf("event of the channel %q, which is not configured", m.Channel)
	}
	dm := m.Address.Kind == sessionkeys.DM
	i.Observer.Received(m.Channel, dm)
	if v := src.Access.Authorize(m); !v.Allowed {
		i.Observer.Ignored(m.Channel, v.Reason)
		i.Logger.Info("refused", "channel", m.Channel, "sender", cut(m.Sender.ID, mostLogged), "chat", cut(m.Address.Peer, mostLogged), "why", v.Hint)
		return nil
	}
	switch {
	case m.Kind == channels.Edited:
		i.Observer.Deduplicated(m.Channel, "edit")
		return nil
	case m.Kind != channels.Said || m.Text == "" && len(m.Attachments) == 0:
		i.Observer.Ignored(m.Channel, Unsupported)
		i.Logger.Debug("not used", "channel", m.Channel, "kind", m.Kind, "problem", m.Problem)
		return nil
	case !dm && !m.Mentioned:
		i.Observer.Ignored(m.Channel, NotMentioned)
		return nil
	}
	key, err := sessionkeys.For(src.Agent, m.Address)
	if err != nil {
		return i.bury(ctx, m, sessionkeys.Key{}, "address", err.Error())
	}
	if problem := unfit(m); problem != "" {
		return i.bury(ctx, m, sessionkeys.Key{}, "encoding", problem)
	}
	if len(m.Text) > MaxText {
		err := i.answer(ctx, m, fmt.Sprintf("That message is too long for me: it has %d bytes, and I read at most %d. Please send it in parts.", len(m.Text), MaxText))
		if err == nil {
			i.Observer.Ignored(m.Channel, TooLarge)
		}
		return err
	}
	if c, ok := commands.Parse(m.Text); ok {
		return i.command(ctx, m, key, c)
	}
	return i.publish(ctx, m, key)
}

func (i *Intake) command(ctx context.Context, m channels.Message, key sessionkeys.Key, c commands.Command) error {
	switch c.Kind() {
	case commands.Queued:
		return i.publish(ctx, m, key)
	case commands.Control:
		return i.stop(ctx, m, key)
	case commands.AtOnce:
	}
	text, err := i.Desk.Answer(ctx, key.Token(), c)
	if err != nil {
		return fmt.Errorf("answer %s: %w", c, err)
	}
	return i.answer(ctx, m, text)
}

// stop stores the request before it is signalled: a lost signal only costs
// time.
func (i *Intake) stop(ctx context.Context, m channels.Message, key sessionkeys.Key) error {
	token := key.Token()
	through, err := i.Log.Last(ctx, token)
	if err != nil && !errors.Is(err, broker.ErrNone) {
		return fmt.Errorf("find the end of the queue: %w", err)
	}
	added, err := i.Book.Request(ctx, sessions.Control{
		ID: eventID(m), Event: Inbox(m), Token: token, Key: key, Kind: "stop", Through: through,
		Channel: m.Channel, From: m.Address, ReplyTo: ReplyTo(m), Sender: m.Sender.ID, At: i.Now(),
	})
	if err != nil {
		return fmt.Errorf("store the request to stop: %w", err)
	}
	if !added {
		i.Observer.Deduplicated(m.Channel, "message_id")
		return nil
	}
	i.signal(ctx, ControlTopic, ControlSignal{Token: token})
	return nil
}

func (i *Intake) publish(ctx context.Context, m channels.Message, key sessionkeys.Key) error {
	body, err := json.Marshal(m)
	if err != nil {
		return i.bury(ctx, m, key, "encoding", err.Error())
	}
	_, err = i.Log.Publish(ctx, broker.Envelope{ID: eventID(m), Token: key.Token(), Key: key.String(), Body: body})
	if errors.Is(err, broker.ErrTooLarge) {
		return i.bury(ctx, m, key, "too_large", err.Error())
	}
	if err != nil {
		return fmt.Errorf("queue the message: %w", err)
	}
	return nil
}

func (i *Intake) answer(ctx context.Context, m channels.Message, text string) error {
	id := Inbox(m)
	added, err := i.Book.Notice(ctx, id, []sessions.Outgoing{{
		ID: "n-" + eventID(m), Channel: m.Channel, To: m.Address, ReplyTo: ReplyTo(m), Text: text, At: i.Now(),
	}}, i.Now())
	if err != nil {
		return fmt.Errorf("queue an answer: %w", err)
	}
	if !added {
		i.Observer.Deduplicated(m.Channel, "message_id")
		return nil
	}
	i.signal(ctx, OutboxTopic, OutboxSignal{Channel: m.Channel})
	return nil
}

// Bounds of what is kept of an event that is too large even for the dead
// letters, and of the words about it.
const (
	mostBuried  = 32 << 10
	mostProblem = 2 << 10
)

// bury gives the event to the dead letters, in full. One that is too large for
// them is cut: an event that cannot be kept must not come again for ever and
// hold up all that follow it.
func (i *Intake) bury(ctx context.Context, m channels.Message, key sessionkeys.Key, reason, problem string) error {
	body := m.Raw
	if len(body) == 0 {
		var err error
		if body, err = json.Marshal(m); err != nil {
			body, _ = json.Marshal(fmt.Sprintf("%+v", m))
		}
	}
	id := eventID(m)
	if m.Event == "" { // nothing tells it from others but what it says
		sum := sha256.Sum256(body)
		id += hex.EncodeToString(sum[:16])
	}
	d := broker.DeadLetter{
		ID: id, Reason: reason, Channel: m.Channel, Key: key.String(), Problem: cut(problem, mostProblem), Body: body, At: i.Now(),
	}
	err := i.Log.DeadLetter(ctx, d)
	if errors.Is(err, broker.ErrTooLarge) {
		d.Problem = fmt.Sprintf("%s; kept are the first %d of %d bytes", d.Problem, min(len(body), mostBuried), len(body))
		d.Body = body[:min(len(body), mostBuried)]
		err = i.Log.DeadLetter(ctx, d)
	}
	if err != nil {
		return fmt.Errorf("keep a dead letter: %w", err)
	}
	i.Observer.DeadLettered(m.Channel, reason)
	i.Logger.Warn("dead letter", "channel", m.Channel, "event", cut(m.Event, mostLogged), "reason", reason, "problem", d.Problem)
	return nil
}

// mostLogged bounds a stranger's words in the log.
const mostLogged = 128

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func (i *Intake) signal(ctx context.Context, topic string, body any) {
	b, err := json.Marshal(body)
	if err == nil {
		err = i.Log.Signal(ctx, broker.Signal{Topic: topic, Body: b})
	}
	if err != nil {
		i.Logger.Debug("signal not sent", "topic", topic, "error", err)
	}
}
