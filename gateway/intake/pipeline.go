package intake

import (
	"context"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/gateway/roles"
	"parley/sessionkeys"
	"parley/sessions"
)

// event is an event on its way through the stages, with what they found out.
type event struct {
	channels.Message
	settings         *Settings
	source           Source
	ahead            sessions.Ahead  // of standing and chat
	standing         policy.Standing // of the sender
	chat             sessions.Chat
	key              sessionkeys.Key
	command          messages.Command // without a name: it is none
	overheardThrough uint64           // up to where Heard was kept; 0: it was not looked for
	pressed          bool             // it is a press of a button, which stood below what it is about
}

// agent returns which agent answers the event.
func (e *event) agent() string { return e.source.Bound.AgentFor(e.Message, e.chat.IDs...) }

// changesChat reports whether the network itself says something of the chat.
func (e *event) changesChat() bool {
	return e.Kind == channels.Migrated || e.Kind == channels.Membership
}

func (e *event) isUnreadable() bool { return e.Kind == channels.Unreadable }

// mayFollow reports whether it is for the conversation to say if the event speaks to
// the bot.
func (e *event) mayFollow() bool { return e.Follows && !messages.ForBot(e.Message) }

// isCommand reports whether the event is a command for the bot.
func (e *event) isCommand() bool { return e.command.Name != "" && messages.ForBot(e.Message) }

// isLimited reports whether limits hold for the event. What concerns a running
// turn works at any time, and so does a decision; what completes a message was counted with it.
func (e *event) isLimited() bool {
	return !e.Completing && (!e.isCommand() || e.command.Kind() != messages.Control && !e.isDecision())
}

// isDecision reports whether the event is the word of somebody who may decide about a question
// for permission. The queue's limit holds for it too, and its sender always reads of that.
func (e *event) isDecision() bool {
	_, decides := e.command.Decides()
	return decides && e.isCommand() && e.source.Access.RoleOf(e.Sender, e.standing).May(roles.Approve)
}

// stage does one thing with an event. After an error the network must bring the
// event again.
type stage func(ctx context.Context, e *event) (outcome, error)

// outcome describes where an event goes after a stage.
type outcome bool

const (
	pass outcome = true  // to the next stage
	stop outcome = false // nowhere: what is to be kept of it is stored
)

// pipeline is stages in their order.
type pipeline []stage

// run takes e through the stages, until one stops it or fails.
func (p pipeline) run(ctx context.Context, e *event) (outcome, error) {
	for _, s := range p {
		if o, err := s(ctx, e); o == stop || err != nil {
			return stop, err
		}
	}
	return pass, nil
}

// onlyIf takes events of one sort through stages, and lets the others pass.
func onlyIf(sort func(*event) bool, stages ...stage) stage {
	return func(ctx context.Context, e *event) (outcome, error) {
		if !sort(e) {
			return pass, nil
		}
		return pipeline(stages).run(ctx, e)
	}
}
