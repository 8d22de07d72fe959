package worker

import (
	"context"
	"errors"
	"fmt"

	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/sessions"
)

// refuses reports whether the sender of m, who was let in once, may not be answered
// any more. It is counted and logged, and m costs nothing.
func (a *owner) refuses(m channels.Message, chat sessions.Chat) (bool, error) {
	if m.Job != "" {
		return a.refusesJob(m), nil
	}
	if a.settings.Authorize == nil {
		return false, nil
	}
	v, err := a.settings.Authorize(a.ctx, m, chat.IDs...)
	if err != nil || v.Allowed {
		return false, err
	}
	a.w.Observer.CountIgnored(m.Channel, v.Reason)
	a.w.Logger.Info("queued message refused", "channel", m.Channel, "sender", m.Sender.ID, "chat", m.Address.Peer, "reason", v.Hint)
	return true, nil
}

// approves reports whether somebody may permit, on that channel, what an agent asks for.
func (a *owner) approves(ctx context.Context, channel string, s channels.Sender) (bool, error) {
	ruling := policy.NoRuling
	if a.settings.Ruling != nil {
		var err error
		if ruling, err = a.settings.Ruling(ctx, channel, s); err != nil {
			return false, fmt.Errorf("look up what is decided about an approver: %w", err)
		}
	}
	return a.settings.Access[channel].Approves(s, ruling), nil
}

// refusesTurn reports whether who asked for the open turn t may not be answered any
// more. All its messages are of one sender.
func (a *actor) refusesTurn(t sessions.Turn) (bool, error) {
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
	return a.refuses(m, chat)
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
