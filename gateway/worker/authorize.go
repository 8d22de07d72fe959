package worker

import (
	"context"
	"errors"
	"fmt"

	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/gateway/roles"
	"parley/sessionkeys"
	"parley/sessions"
)

// rights says who may do what in the conversation, as it is decided now.
type rights struct{ *owner }

// refuses reports whether the sender of m, who was let in once, may not be answered
// any more. It is passed over, and m costs nothing.
func (a *rights) refuses(ctx context.Context, m channels.Message, chat sessions.Chat) (bool, error) {
	if m.Job != "" {
		return a.refusesJob(m)
	}
	if a.settings.Authorize == nil {
		return false, nil
	}
	v, err := a.settings.Authorize(ctx, m, chat.IDs...)
	if err != nil || v.Allowed {
		return false, err
	}
	a.w.PassOver(m, v.Reason, v.Hint)
	return true, nil
}

// readRights reads together what is decided about somebody, a chat and records, and returns the
// context with which the next step asks for them.
func (a *owner) readRights(ctx context.Context, channel string, s channels.Sender, chat sessions.ChatID, records ...sessions.RecordID) context.Context {
	if a.settings.ReadAhead == nil {
		return ctx
	}
	return a.settings.ReadAhead(ctx, channel, s, chat, records...).In(ctx)
}

// roleOf returns what somebody is on a channel, now. By one that is not among the settings another
// process has let them in, as a user.
func (a *rights) roleOf(ctx context.Context, channel string, s channels.Sender) (roles.Role, error) {
	access, ok := a.settings.Access[channel]
	if !ok {
		return roles.User, nil
	}
	var d policy.Standing
	if a.settings.Standing != nil {
		var err error
		if d, err = a.settings.Standing(ctx, channel, s); err != nil {
			return roles.None, fmt.Errorf("look up what is decided about a person: %w", err)
		}
	}
	return access.RoleOf(s, d), nil
}

// approves reports whether somebody may permit, on that channel, what an agent asks for.
func (a *rights) approves(ctx context.Context, channel string, s channels.Sender) (bool, error) {
	role, err := a.roleOf(ctx, channel, s)
	return role.May(roles.Approve), err
}

// namesApprover reports whether anybody on a channel may permit what an agent asks for.
func (a *rights) namesApprover(ctx context.Context, channel string) (bool, error) {
	if a.settings.Access[channel].NamesApprover() {
		return true, nil
	}
	if a.settings.Approvers == nil {
		return false, nil
	}
	some, err := a.settings.Approvers(ctx, channel)
	if err != nil {
		return false, fmt.Errorf("look for somebody who may permit something: %w", err)
	}
	return some, nil
}

// hasApprover reports whether there may be somebody in a chat who can permit what s asks for there.
func (a *rights) hasApprover(ctx context.Context, channel string, at sessionkeys.Address, s channels.Sender) (bool, error) {
	if at.Kind == sessionkeys.DM {
		return a.approves(ctx, channel, s)
	}
	return a.namesApprover(ctx, channel)
}

// refusesTurn reports whether who asked for the open turn t may not be answered any
// more. All its messages are of one sender.
func (a *rights) refusesTurn(t sessions.Turn) (bool, error) {
	if a.settings.Authorize == nil && messages.JobOf(a.m.Key, t.Sender, t.From) == "" {
		return false, nil
	}
	chat, err := a.chat(a.ctx)
	if err != nil {
		return false, err
	}
	m, err := a.opener(t)
	if err != nil {
		return false, err
	}
	return a.refuses(a.ctx, m, chat)
}

// opener returns the message that opened t. Of one that the log has no more, only what
// the turn says of it is known: not the other id of its sender. In the place of somebody
// else's decision stands who asked, as the request has them.
func (a *owner) opener(t sessions.Turn) (channels.Message, error) {
	known := channels.Message{Channel: t.Channel, Address: t.From, Sender: channels.Sender{ID: t.Sender}, Job: messages.JobOf(a.m.Key, t.Sender, t.From)}
	if a.turnID(t.Seq) != t.ID { // it was in another log
		return known, nil
	}
	e, err := a.w.Log.NextAtLeast(a.ctx, a.token, t.Seq-1, t.Seq)
	if errors.Is(err, broker.ErrNone) {
		return known, nil
	}
	if err != nil {
		return known, fmt.Errorf("read the message of an open turn: %w", err)
	}
	m, err := a.decode(e)
	if err != nil || e.Seq != t.Seq {
		return known, nil //nolint:nilerr // it is as one that the log has no more
	}
	if m.Sender.ID == t.Sender {
		return m, nil
	}
	r, err := a.findDecision(t.ID)
	if r != nil {
		known.Sender = senderOf(r.Asker)
	}
	return known, err
}
