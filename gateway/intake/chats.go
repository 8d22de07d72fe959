package intake

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
	"parley/gateway/signals"
	"parley/sessionkeys"
	"parley/sessions"
)

func chatID(a sessionkeys.Address) sessions.ChatID {
	return sessions.ChatID{Channel: a.Channel, Account: a.Account, Peer: a.Peer}
}

// chats keeps what is known of chats: their ids, and whether the bot may write there.
type chats struct {
	*endings
	overheard *overheard
	reopens   *reopenLimiter
}

// find looks up the chat's ids, and whether it is closed to the bot.
func (c *chats) find(ctx context.Context, e *event) (_ outcome, err error) {
	if e.chat, err = c.store.Chat(e.ahead.In(ctx), chatID(e.Address)); err != nil {
		return stop, fmt.Errorf("look at the chat: %w", err)
	}
	return pass, nil
}

// canonicalizeChat puts the id under which the chat's conversations go on in the
// place of the one that the network named.
func canonicalizeChat(_ context.Context, e *event) (outcome, error) {
	if id := e.chat.Canonical(); id != e.Address.Peer {
		e.Origin, e.Address.Peer = e.Address.Peer, id
	}
	return pass, nil
}

// change notes what the network says of a chat: that it has another id, or
// that the bot was removed or is back.
func (c *chats) change(ctx context.Context, e *event) (outcome, error) {
	switch {
	case e.Kind == channels.Migrated:
		return stop, c.move(ctx, e.Message, e.chat)
	case e.Closed:
		return stop, c.close(ctx, e.Message, e.chat)
	case e.chat.Closed:
		if err := c.store.Reopen(ctx, chatID(e.Address), c.now()); err != nil {
			return stop, fmt.Errorf("open the chat again: %w", err)
		}
		c.reopens.forget(reopenKey(e.Channel, e.chat.Canonical()))
		c.logger.Info("chat reopened", "channel", e.Channel, "chat", e.Address.Peer)
	}
	return stop, nil
}

// move notes another id of a chat, whose conversations go on as they are.
func (c *chats) move(ctx context.Context, m channels.Message, chat sessions.Chat) error {
	if m.Address.Kind == sessionkeys.DM || m.MovedTo == "" {
		c.passOver(m, outcomes.Unsupported, "the network moves a chat that cannot move")
		return nil
	}
	now, err := c.store.Move(ctx, chatID(m.Address), m.MovedTo, c.now())
	if err != nil {
		return fmt.Errorf("record that the chat moved: %w", err)
	}
	if now.Current() != chat.Current() {
		c.logger.Info("group ID changed", "channel", m.Channel, "previous", chat.Current(), "current", now.Current(), "canonical", now.Canonical())
	}
	return nil
}

// close notes that nothing can be sent to a chat any more. What it still runs is
// stopped: its answer could not be read, and it costs money.
func (c *chats) close(ctx context.Context, m channels.Message, chat sessions.Chat) error {
	c.overheard.forgetGroup(m.Channel, chat.Canonical())
	closed, shut, err := c.store.CloseChat(ctx, sessions.CloseRequest{ID: messages.EventID(m), Chat: chatID(m.Address), At: c.now()})
	if err != nil {
		return fmt.Errorf("record that the chat is closed: %w", err)
	}
	if !shut {
		return nil
	}
	for range closed.Dropped {
		c.observer.CountSent(m.Channel, "dropped", 0)
	}
	for _, token := range closed.Mailboxes {
		c.signal(ctx, signals.ControlTopic, signals.Control{Token: token})
	}
	c.logger.Warn("chat closed to the bot", "channel", m.Channel, "chat", m.Address.Peer, "dropped", closed.Dropped, "stopped", len(closed.Mailboxes))
	return nil
}

// knockEvery is how often a closed group is opened because a person speaks to
// the bot there. Each time costs a turn, whose answer is refused when the bot
// still may not write.
const knockEvery = 10 * time.Minute

// reopenLimiter remembers which groups were opened lately by a person who spoke there.
// What is forgotten, by a restart or when there are too many, costs a turn.
type reopenLimiter struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func reopenKey(channel, peer string) string { return strings.Join([]string{channel, peer}, "\x00") }

// mustWait reports whether the group k was opened too lately to be opened again.
func (s *reopenLimiter) mustWait(k string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.last[k]
	ago := now.Sub(last)
	return ok && ago >= 0 && ago < knockEvery
}

func (s *reopenLimiter) record(k string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || len(s.last) >= maxBuckets {
		s.last = map[string]time.Time{}
	}
	s.last[k] = now
}

func (s *reopenLimiter) forget(k string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, k)
}

// reopen opens a closed chat because an authorized person talks to the bot there,
// which the network allows before it says that the bot may write. In a direct
// message that is certain; a group is opened once in a while, and what is said
// until then is refused, as is what does not speak to the bot.
func (c *chats) reopen(ctx context.Context, e *event) (outcome, error) {
	if !e.chat.Closed {
		return pass, nil
	}
	k, now, group := reopenKey(e.Channel, e.Address.Peer), c.now(), e.Address.Kind != sessionkeys.DM
	if !messages.ForBot(e.Message) || group && c.reopens.mustWait(k, now) {
		c.passOver(e.Message, outcomes.Closed, "the network does not let the bot write in this chat")
		return stop, nil
	}
	if err := c.store.Reopen(ctx, chatID(e.Address), now); err != nil {
		return stop, fmt.Errorf("open the chat again: %w", err)
	}
	if group {
		c.reopens.record(k, now)
	}
	return pass, nil
}
