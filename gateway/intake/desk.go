package intake

import (
	"context"
	"errors"
	"fmt"

	"parley/broker"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
	"parley/gateway/signals"
	"parley/sessionkeys"
	"parley/sessions"
)

// frontDesk answers what needs no agent: commands that wait for no turn, and replies to inquiries.
type frontDesk struct {
	*endings
	commands  Commands
	inquiries Inquiries // see [Intake]
	queue     *queue
}

// runCommand does what a command for the bot says, unless it keeps its place
// among the messages.
func (d *frontDesk) runCommand(ctx context.Context, e *event) (outcome, error) {
	switch {
	case !e.isCommand() || e.command.Kind() == messages.Queued:
		return pass, nil
	case e.command.Kind() == messages.Control:
		d.remember(e.Message, outcomes.Answered, "the command /"+e.command.Name+", which does not wait for its turn")
		return stop, d.requestStop(ctx, e)
	}
	switch known, err := d.isKnown(ctx, e); {
	case err != nil:
		return stop, err
	case known:
		d.observer.CountDuplicate(e.Channel, "message_id")
		return stop, nil
	}
	quoted := ""
	if q := e.ReplyTo; q != nil {
		quoted = q.MessageID
	}
	text, err := d.commands.Answer(ctx, messages.Caller{
		Chat: messages.ChatID(e.Message), Quoted: quoted,
		Token: e.key.Token(), Agent: e.key.Agent(), From: e.Address, Sender: e.Sender.ID, Sign: e.source.CommandSign,
		Channel: e.Channel, Name: e.Sender.Name, Event: messages.EventID(e.Message), Role: e.source.Access.RoleOf(e.Sender, e.standing),
	}, e.command)
	if err != nil {
		return stop, fmt.Errorf("answer %s: %w", e.command, err)
	}
	d.remember(e.Message, outcomes.Answered, "the command /"+e.command.Name+", which does not wait for its turn")
	return stop, d.answer(ctx, e.Message, text)
}

// isKnown reports whether the event was answered already and the network brings it again. A command is
// not carried out again then: what it decided may have been decided otherwise since.
func (d *frontDesk) isKnown(ctx context.Context, e *event) (bool, error) {
	known, err := d.store.Known(ctx, messages.Inbox(e.Message))
	if err != nil {
		return false, fmt.Errorf("look whether %s was answered already: %w", e.command, err)
	}
	return known[0], nil
}

// requestStop stores the request before it is signalled: a lost signal only costs
// time.
func (d *frontDesk) requestStop(ctx context.Context, e *event) error {
	key, err := d.keyAtWork(ctx, e)
	if err != nil {
		return fmt.Errorf("look for what is to stop: %w", err)
	}
	token := key.Token()
	through, err := d.log.Last(ctx, token)
	if err != nil && !errors.Is(err, broker.ErrNone) {
		return fmt.Errorf("find the end of the queue: %w", err)
	}
	added, err := d.store.Request(ctx, sessions.Control{
		ID: messages.EventID(e.Message), Event: messages.Inbox(e.Message), Token: token, Key: key, Kind: "stop", Through: through,
		Channel: e.Channel, From: e.Address, ReplyTo: messages.ReplyTo(e.Message), Sender: e.Sender.ID, At: d.now(),
	})
	if err != nil {
		return fmt.Errorf("store the request to stop: %w", err)
	}
	if !added {
		d.observer.CountDuplicate(e.Channel, "message_id")
		return nil
	}
	d.signal(ctx, signals.ControlTopic, signals.Control{Token: token})
	return nil
}

// keyAtWork returns whose work a /stop is about: that of the agent that answers here; or, when
// it has none, of another agent, which still works on what it was asked here before the
// chat was bound anew.
func (d *frontDesk) keyAtWork(ctx context.Context, e *event) (sessionkeys.Key, error) {
	for _, agent := range e.agents() {
		m, found, err := findMailbox(ctx, d.store, agent, e)
		if err != nil {
			return e.key, err
		}
		if found && m.HasWork() {
			return m.Key, nil
		}
	}
	return e.key, nil
}
