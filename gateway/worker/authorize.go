package worker

import (
	"errors"
	"fmt"

	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/sessions"
)

// refuses reports whether the sender of m, who was let in once, may not be answered
// any more. It is counted and logged, and m costs nothing.
func (a *owner) refuses(m channels.Message, chat sessions.Chat) bool {
	if m.Job != "" {
		return a.refusesJob(m)
	}
	if a.settings.Authorize == nil {
		return false
	}
	v := a.settings.Authorize(m, chat.IDs...)
	if v.Allowed {
		return false
	}
	a.w.Observer.CountIgnored(m.Channel, v.Reason)
	a.w.Logger.Info("queued message refused", "channel", m.Channel, "sender", m.Sender.ID, "chat", m.Address.Peer, "reason", v.Hint)
	return true
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
	return a.refuses(m, chat), nil
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
