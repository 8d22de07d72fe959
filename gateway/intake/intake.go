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
	"parley/faultpoint"
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
	Closed       = "chat_closed"
)

// Log is where messages are queued.
type Log interface {
	Publish(ctx context.Context, e broker.Envelope) (uint64, error)
	DeadLetter(ctx context.Context, d broker.DeadLetter) error
	Last(ctx context.Context, token string) (uint64, error)
	Waiting(ctx context.Context, token string, after uint64) (int, error)
	Signal(ctx context.Context, s broker.Signal) error
}

// Book is where what does not queue is stored.
type Book interface {
	Notice(ctx context.Context, e sessions.InboxID, replies []sessions.Outgoing, at time.Time) (bool, error)
	Request(ctx context.Context, c sessions.Control) (bool, error)
	Mailbox(ctx context.Context, token string) (sessions.Mailbox, error)
	sessions.Chats
}

// Observer counts. Calls must not block.
type Observer interface {
	Received(channel string, dm bool)
	Ignored(channel, reason string)
	Deduplicated(channel, reason string)
	DeadLettered(channel, reason string)
	Sent(channel, outcome string, took time.Duration)
}

// Source is one bot account as intake knows it.
type Source struct {
	Agent  string // which agent answers
	Access Access
	// MarksBots: its network says which senders are bots. Where it does not, who
	// writes as a bot would is taken for one (Limits.BotLoop).
	MarksBots bool
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

	Limits Limits // zero: none

	pieces  pieces
	limiter limiter
	loops   loops
	knocks  knocks
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
	chat, err := i.Book.Chat(ctx, chatID(m.Address))
	if err != nil {
		return fmt.Errorf("look at the chat: %w", err)
	}
	if m.Kind == channels.Migrated || m.Kind == channels.Membership {
		return i.chatChanged(ctx, m, src.Access, chat)
	}
	if id := chat.Canonical(); id != m.Address.Peer {
		m.Origin, m.Address.Peer = m.Address.Peer, id
	}
	if v := src.Access.Authorize(m, chat.IDs...); !v.Allowed {
		return i.refuse(m, v)
	}
	if reason := i.unused(m); reason != "" {
		i.Observer.Ignored(m.Channel, reason)
		i.Logger.Debug("not used", "channel", m.Channel, "kind", m.Kind, "problem", m.Problem)
		return nil
	}
	if chat.Shut {
		if refused, err := i.knock(ctx, m); refused || err != nil {
			return err
		}
	}
	key, err := sessionkeys.For(src.Agent, m.Address)
	if err != nil {
		return i.bury(ctx, m, sessionkeys.Key{}, "address", err.Error())
	}
	if problem := unfit(m); problem != "" {
		return i.bury(ctx, m, sessionkeys.Key{}, "encoding", problem)
	}
	command, isCommand := commands.Parse(m.Text)
	if m.Kind == channels.Edited && (isCommand || len(m.Text) > MaxText) {
		// Commands are carried out as they were sent. That a message is too long
		// was said when it came.
		i.Observer.Deduplicated(m.Channel, "edit")
		return nil
	}
	control := isCommand && command.Kind() == commands.Control && ForBot(m) // works at any time
	if !control {
		if refused, err := i.limited(ctx, m); refused || err != nil {
			return err
		}
	}
	if len(m.Text) > MaxText {
		err := i.answer(ctx, m, fmt.Sprintf("That message is too long for me: it has %d bytes, and I read at most %d. Please send it in parts.", len(m.Text), MaxText))
		if err == nil {
			i.Observer.Ignored(m.Channel, TooLarge)
		}
		return err
	}
	if isCommand && ForBot(m) {
		return i.command(ctx, m, key, command)
	}
	queued, err := i.publish(ctx, m, key)
	if queued {
		i.pieces.note(m)
	}
	return err
}

// unused says why nothing is done with m, which is of somebody who may talk to
// the bot, or "". Of what is sent as one only one message need be for the bot;
// which the others belong to is known when they are together, in the worker.
func (i *Intake) unused(m channels.Message) string {
	said := m.Kind == channels.Said || m.Kind == channels.Edited
	switch {
	case !said || m.Text == "" && len(m.Attachments) == 0:
		return Unsupported
	case ForBot(m):
	case len(m.Text) > MaxText: // no piece is so long
		return NotMentioned
	case m.Kind == channels.Said && (m.Album != "" || Long(m) || i.pieces.goesOn(m)):
	default:
		return NotMentioned
	}
	return ""
}

func (i *Intake) command(ctx context.Context, m channels.Message, key sessionkeys.Key, c commands.Command) error {
	switch c.Kind() {
	case commands.Queued:
		_, err := i.publish(ctx, m, key)
		return err
	case commands.Control:
		return i.stop(ctx, m, key)
	case commands.AtOnce:
	}
	text, err := i.Desk.Answer(ctx, commands.Asker{Token: key.Token(), From: m.Address, Sender: m.Sender.ID}, c)
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

// publish queues m, unless too much waits already or it cannot be kept.
func (i *Intake) publish(ctx context.Context, m channels.Message, key sessionkeys.Key) (queued bool, err error) {
	if refused, err := i.crowded(ctx, m, key.Token()); refused || err != nil {
		return false, err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return false, i.bury(ctx, m, key, "encoding", err.Error())
	}
	faultpoint.Hit("intake.publish.before")
	_, err = i.Log.Publish(ctx, broker.Envelope{ID: eventID(m), Token: key.Token(), Key: key.String(), Body: body})
	if errors.Is(err, broker.ErrTooLarge) {
		return false, i.bury(ctx, m, key, "too_large", err.Error())
	}
	if err != nil {
		return false, fmt.Errorf("queue the message: %w", err)
	}
	faultpoint.Hit("intake.publish.after") // the network is not told yet
	return true, nil
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
