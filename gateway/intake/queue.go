package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley/broker"
	"parley/faultpoint"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
	"parley/gateway/signals"
	"parley/sessions"
)

// runCommand does what a command for the bot says, unless it keeps its place
// among the messages.
func (i *Intake) runCommand(ctx context.Context, e *event) (outcome, error) {
	switch {
	case !e.isCommand() || e.command.Kind() == messages.Queued:
		return pass, nil
	case e.command.Kind() == messages.Control:
		i.endings().remember(e.Message, outcomes.Answered, "the command /"+e.command.Name+", which does not wait for its turn")
		return stop, i.requestStop(ctx, e)
	}
	quoted := ""
	if q := e.ReplyTo; q != nil {
		quoted = q.MessageID
	}
	text, err := i.Commands.Answer(ctx, messages.Caller{
		Chat: messages.ChatID(e.Message), Quoted: quoted,
		Token: e.key.Token(), Agent: e.key.Agent(), From: e.Address, Sender: e.Sender.ID, Sign: e.source.CommandSign,
		Channel: e.Channel, Name: e.Sender.Name, Event: messages.EventID(e.Message), Role: e.source.Access.RoleOf(e.Sender, e.standing),
	}, e.command)
	if err != nil {
		return stop, fmt.Errorf("answer %s: %w", e.command, err)
	}
	i.endings().remember(e.Message, outcomes.Answered, "the command /"+e.command.Name+", which does not wait for its turn")
	return stop, i.endings().answer(ctx, e.Message, text)
}

// requestStop stores the request before it is signalled: a lost signal only costs
// time.
func (i *Intake) requestStop(ctx context.Context, e *event) error {
	key, err := i.keyAtWork(ctx, e)
	if err != nil {
		return fmt.Errorf("look for what is to stop: %w", err)
	}
	token := key.Token()
	through, err := i.Log.Last(ctx, token)
	if err != nil && !errors.Is(err, broker.ErrNone) {
		return fmt.Errorf("find the end of the queue: %w", err)
	}
	added, err := i.Store.Request(ctx, sessions.Control{
		ID: messages.EventID(e.Message), Event: messages.Inbox(e.Message), Token: token, Key: key, Kind: "stop", Through: through,
		Channel: e.Channel, From: e.Address, ReplyTo: messages.ReplyTo(e.Message), Sender: e.Sender.ID, At: i.Now(),
	})
	if err != nil {
		return fmt.Errorf("store the request to stop: %w", err)
	}
	if !added {
		i.Observer.CountDuplicate(e.Channel, "message_id")
		return nil
	}
	i.endings().signal(ctx, signals.ControlTopic, signals.Control{Token: token})
	return nil
}

// publish queues the message under its key.
func (i *Intake) publish(ctx context.Context, e *event) (outcome, error) {
	body, err := json.Marshal(e.Message)
	if err != nil {
		return stop, i.endings().deadLetter(ctx, e.Message, e.key, "encoding", err.Error())
	}
	faultpoint.Hit("intake.publish.before")
	_, err = i.Log.Publish(ctx, broker.Envelope{ID: messages.EventID(e.Message), Token: e.key.Token(), Key: e.key.String(), Body: body})
	if errors.Is(err, broker.ErrTooLarge) {
		return stop, i.endings().deadLetter(ctx, e.Message, e.key, "too_large", err.Error())
	}
	if err != nil {
		return stop, fmt.Errorf("queue the message: %w", err)
	}
	faultpoint.Hit("intake.publish.after") // the network is not told yet
	return pass, nil
}

// rememberPiece remembers what was queued if its text may go on in the next
// message.
func (i *Intake) rememberPiece(_ context.Context, e *event) (outcome, error) {
	if !e.isCommand() {
		i.pieces.remember(e.Message)
	}
	return pass, nil
}
