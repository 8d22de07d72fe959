// Package intake decides who is answered, and queues what they said under its
// key.
//
// Every event of every adapter comes to [Intake.Accept] and goes through one list
// of stages. It ends in one of five ways: ignored and counted, given to the dead
// letters, answered at once (/status), stored as a control request (/stop), or
// published to the log. The adapter acknowledges to the network only after that was durable.
package intake

import (
	"context"
	"log/slog"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/sessions"
)

// Log is where messages are queued.
type Log interface {
	Publish(ctx context.Context, e broker.Envelope) (uint64, error)
	DeadLetter(ctx context.Context, d broker.DeadLetter) error
	Last(ctx context.Context, token string) (uint64, error)
	Waiting(ctx context.Context, token string, after uint64) (int, error)
	Signal(ctx context.Context, s broker.Signal) error
}

// Store is where what does not queue is stored.
type Store interface {
	Notice(ctx context.Context, e sessions.InboxID, replies []sessions.Outgoing, at time.Time) (bool, error)
	Request(ctx context.Context, c sessions.Control) (bool, error)
	Known(ctx context.Context, events ...sessions.InboxID) ([]bool, error)
	Mailbox(ctx context.Context, token string) (sessions.Mailbox, error)
	sessions.Chats
}

// Commands answers commands of the kind messages.AtOnce, with a text.
type Commands interface {
	Answer(ctx context.Context, by messages.Caller, c messages.Command) (string, error)
}

// People knows what was decided about people while the gateway runs, and lets strangers ask.
type People interface {
	// Standing returns what was decided about somebody on a channel.
	Standing(ctx context.Context, channel string, s channels.Sender) (policy.Standing, error)
	// ReadAhead reads together the decisions that Standing looks up, a chat and other records; see
	// [sessions.Records].ReadAhead.
	ReadAhead(ctx context.Context, channel string, s channels.Sender, chat sessions.ChatID, more ...sessions.RecordID) sessions.Ahead
	// Ask gives somebody a code by which they are let in, and says until when it holds.
	Ask(ctx context.Context, channel string, s channels.Sender) (code string, until time.Time, err error)
}

// PassedOver remembers messages of which no turn is made: for a reason of outcomes or, of a command
// that is answered at once, as outcomes.Answered; and why, in words. It must not block.
type PassedOver interface {
	Note(m channels.Message, reason, why string)
}

// Observer counts. Calls must not block.
type Observer interface {
	CountReceived(channel string, dm bool)
	CountIgnored(channel, reason string)
	CountDuplicate(channel, reason string)
	CountDeadLetter(channel, reason string)
	CountSent(channel, outcome string, took time.Duration)
}

// Source is one bot account as intake knows it.
type Source struct {
	Bound   policy.Bound // which agent answers where
	Network string       // by whose name its addresses go
	Access  policy.Access
	// MarksBots: its network says which senders are bots. Where it does not, who
	// writes as a bot would is taken for one (policy.Limits.BotLoop).
	MarksBots bool
	// CommandSign is what people type before a command in its network; empty: a slash.
	CommandSign string
	// GroupContext is how many messages of a group of Access.Groups, that were not said
	// to the bot, come with the next that is. 0: nothing is kept of them.
	GroupContext int
}

// Settings is what an operator may change while an intake runs. A value is never changed
// after it was made; an event goes by those in force when it came.
type Settings struct {
	Sources map[string]Source // by instance name
	Agents  []string          // all that are configured: a chat may have been bound to another before
	Limits  policy.Limits     // zero: none
}

// Intake takes events. Its fields are set before the first Accept.
type Intake struct {
	Settings // where Present is nil: they hold for ever
	// Present returns the settings in force. It must not block.
	Present func() *Settings

	Log      Log
	Store    Store
	People   People // nil: the configuration alone says who may talk to the bot
	Commands Commands
	// Questions are those that approvers may decide about from another chat; nil: they decide in
	// the chat where they were asked.
	Questions *approvals.Desk
	// Inquiries are what programs ask people; nil: nothing is.
	Inquiries Inquiries
	// Passed remembers the messages of which no turn is made; nil: nobody does.
	Passed   PassedOver
	Observer Observer
	// Refused, if set, is told once for each notice that messages are refused because they are too
	// many. It must not block.
	Refused func(context.Context, Refusal)
	Logger  *slog.Logger
	Now     func() time.Time

	pieces    pieces
	limiter   limiter
	loops     loopDetector
	reopens   reopenLimiter
	strangers strangers
	refusals  refusals
	overheard overheard
}

// Accept implements channels.Accept. A nil error means that the event is durably
// stored, or that nothing is to be kept of it.
func (i *Intake) Accept(ctx context.Context, m channels.Message) error {
	_, err := i.stages().run(ctx, i.newEvent(m))
	return err
}

// newEvent makes an event of m, which goes by the present settings. Who presses a button of a
// question has said what it says.
func (i *Intake) newEvent(m channels.Message) *event {
	pressed := m.Kind == channels.Pressed
	if c, ok := messages.ParseCommand(m.Text); ok && m.Kind == channels.Pressed {
		if _, decides := c.Decides(); decides || c.Answers() {
			m.Kind = channels.Said
		}
	}
	return &event{Message: m, settings: i.present(), pressed: pressed}
}

func (i *Intake) present() *Settings {
	if i.Present == nil {
		return &i.Settings
	}
	return i.Present()
}

// Heeds implements channels.Filter: it reports whether the sender of m may talk to the bot, there. Where
// that cannot be known now it is true.
func (i *Intake) Heeds(ctx context.Context, m channels.Message) bool {
	e := i.newEvent(m)
	src, ok := e.settings.Sources[m.Channel]
	d, err := standing(ctx, i.People, m.Channel, m.Sender)
	switch {
	case !ok || err != nil:
		return true // which Accept says
	case !src.Access.AuthorizePerson(m.Sender, m.Address.Kind, d.Ruling).Allowed:
		return false
	case src.Access.ServesChat(m.Address):
		return true
	}
	o, err := (&chats{endings: i.endings()}).find(ctx, e)
	return err != nil || o == stop || src.Access.ServesChat(m.Address, e.chat.IDs...)
}

// Uses reports whether anything is done with m, which was not accepted yet: its sender
// may talk to the bot there, and does. Where that cannot be known now it is true.
func (i *Intake) Uses(ctx context.Context, m channels.Message) bool {
	return i.Heeds(ctx, m) && (m.Follows || unusedReason(m, &i.pieces) == "")
}

// stages returns all that is done with an event, in order. The parts that do it are made for the
// event; what they remember is the intake's.
func (i *Intake) stages() pipeline {
	end := i.endings()
	limit := limits{end, &i.limiter, &i.loops, i.Refused}
	gate := &gate{end, i.People, &i.strangers}
	sieve := &sieve{end, &i.pieces}
	chat := &chats{end, &i.overheard, &i.reopens}
	queue := &queue{end, &i.pieces}
	desk := &frontDesk{end, i.Commands, i.Inquiries, queue}
	heard := hearing{&i.overheard, i.Now}
	return pipeline{
		findSource,
		gate.findStanding,
		onlyIf((*event).isUnreadable,
			gate.authorizeUnreadable,
			sieve.deadLetterUnreadable,
		),
		sieve.countReceived,
		gate.refuseClaims,
		chat.find,
		onlyIf((*event).changesChat,
			gate.authorizeChange,
			sieve.deadLetterUnfit,
			chat.change,
		),
		canonicalizeChat,
		heard.record,
		gate.authorizeSender,
		gate.judgeQuotes,
		onlyIf((*event).mayFollow, sieve.joinConversation),
		sieve.ignoreUnused,
		chat.reopen,
		queue.findKey,
		sieve.deadLetterUnfit,
		findCommand,
		sieve.ignoreEdit,
		onlyIf((*event).isLimited,
			limit.person,
			limit.group,
			limit.bot,
		),
		sieve.refuseLong,
		desk.takeReply,
		onlyIf((*event).isDecision, (&decisions{end, i.Questions}).handOn),
		desk.runCommand,
		limit.queue,
		heard.attach,
		queue.publish,
		heard.forget,
		queue.rememberPiece,
	}
}
