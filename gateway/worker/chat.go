package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"parley/broker"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
	"parley/sessionkeys"
	"parley/sessions"
)

// divertHead deals with a head that is not to be taken up here, because of what
// became known of its chat or its sender since it was queued; done is false when it
// is.
//
// A chat that is closed reads no answer: what was queued before it was closed,
// and was not known yet when it was, is passed over. A person who speaks to the bot
// there now has opened the chat before. And what was queued under a new id of a
// chat before anybody knew that it moved belongs to the older conversation.
func (a *actor) divertHead(it item) (done, released bool, err error) {
	at := a.m.Key.Address()
	ctx := a.readRights(a.ctx, it.msg.Channel, it.msg.Sender, a.chatID())
	chat, err := a.chat(ctx)
	switch {
	case err != nil:
		return true, false, err
	case chat.Closed:
		a.w.Observer.CountIgnored(it.msg.Channel, outcomes.Closed)
		if it.msg.Decision != nil {
			released, err = a.answer(sessions.Command{Seq: it.e.Seq, Event: messages.Inbox(it.msg)}, it.e.Seq, it.msg, chatClosedText)
			return true, released, err
		}
	case it.msg.Job == "" && chat.Canonical() != at.Peer: // a job's result goes where the operator says
		if err := a.forward(it, chat); err != nil {
			return true, false, err
		}
	case it.msg.Decision != nil: // who asked is judged with the decision
		return false, false, nil
	default:
		if refused, err := a.refuses(ctx, it.msg, chat); err != nil || !refused {
			return err != nil, false, err
		}
	}
	released, err = a.skip(it.e.Seq)
	return true, released, err
}

func (a *owner) chatID() sessions.ChatID {
	at := a.m.Key.Address()
	return sessions.ChatID{Channel: at.Channel, Account: at.Account, Peer: at.Peer}
}

func (a *owner) chat(ctx context.Context) (sessions.Chat, error) {
	chat, err := a.w.Store.Chat(ctx, a.chatID())
	if err != nil {
		return chat, fmt.Errorf("look at the chat: %w", err)
	}
	return chat, nil
}

// mayTakeHere reports whether what waits is still to be taken up here.
func (a *owner) mayTakeHere(ctx context.Context) (bool, error) {
	chat, err := a.chat(ctx)
	return err == nil && !chat.Closed && chat.Canonical() == a.m.Key.Address().Peer, err
}

// forward queues a message under the id by which its chat is known, for the agent that
// answers there. It keeps the id of its event, so doing so again adds nothing.
func (a *owner) forward(it item, chat sessions.Chat) error {
	m, agent := it.msg, a.m.Key.Agent()
	if m.Origin == "" {
		m.Origin = m.Address.Peer
	}
	m.Address.Peer = chat.Canonical()
	if a.settings.AgentFor != nil {
		agent = cmp.Or(a.settings.AgentFor(m, chat.IDs...), agent)
	}
	key, err := sessionkeys.For(agent, m.Address)
	if err != nil {
		return fmt.Errorf("name the conversation of a chat that moved: %w", err)
	}
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write a message of a chat that moved: %w", err)
	}
	if _, err := a.w.Log.Publish(a.ctx, broker.Envelope{ID: it.e.ID, Token: key.Token(), Key: key.String(), Body: body}); err != nil {
		return fmt.Errorf("queue a message of a chat that moved: %w", err)
	}
	a.w.Logger.Info("message moved to the new conversation of its chat", "channel", m.Channel, "chat", m.Origin, "canonical", m.Address.Peer)
	return nil
}
