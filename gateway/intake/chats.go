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

// changeChat notes what the network says of a chat: that it has another id, or
// that the bot was removed or is back.
func (i *Intake) changeChat(ctx context.Context, e *event) (outcome, error) {
	switch {
	case e.Kind == channels.Migrated:
		return stop, i.moveChat(ctx, e.Message, e.chat)
	case e.Closed:
		return stop, i.closeChat(ctx, e.Message, e.chat)
	case e.chat.Closed:
		if err := i.Store.Reopen(ctx, chatID(e.Address), i.Now()); err != nil {
			return stop, fmt.Errorf("open the chat again: %w", err)
		}
		i.reopens.forget(reopenKey(e.Channel, e.chat.Canonical()))
		i.Logger.Info("chat reopened", "channel", e.Channel, "chat", e.Address.Peer)
	}
	return stop, nil
}

// moveChat notes another id of a chat, whose conversations go on as they are.
func (i *Intake) moveChat(ctx context.Context, m channels.Message, chat sessions.Chat) error {
	if m.Address.Kind == sessionkeys.DM || m.MovedTo == "" {
		i.endings().passOver(m, outcomes.Unsupported, "the network moves a chat that cannot move")
		return nil
	}
	now, err := i.Store.Move(ctx, chatID(m.Address), m.MovedTo, i.Now())
	if err != nil {
		return fmt.Errorf("record that the chat moved: %w", err)
	}
	if now.Current() != chat.Current() {
		i.Logger.Info("group ID changed", "channel", m.Channel, "previous", chat.Current(), "current", now.Current(), "canonical", now.Canonical())
	}
	return nil
}

// closeChat notes that nothing can be sent to a chat any more. What it still runs is
// stopped: its answer could not be read, and it costs money.
func (i *Intake) closeChat(ctx context.Context, m channels.Message, chat sessions.Chat) error {
	i.overheard.forgetGroup(m.Channel, chat.Canonical())
	c, shut, err := i.Store.CloseChat(ctx, sessions.CloseRequest{ID: messages.EventID(m), Chat: chatID(m.Address), At: i.Now()})
	if err != nil {
		return fmt.Errorf("record that the chat is closed: %w", err)
	}
	if !shut {
		return nil
	}
	for range c.Dropped {
		i.Observer.CountSent(m.Channel, "dropped", 0)
	}
	for _, token := range c.Mailboxes {
		i.endings().signal(ctx, signals.ControlTopic, signals.Control{Token: token})
	}
	i.Logger.Warn("chat closed to the bot", "channel", m.Channel, "chat", m.Address.Peer, "dropped", c.Dropped, "stopped", len(c.Mailboxes))
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

// reopenChat opens a closed chat because an authorized person talks to the bot there,
// which the network allows before it says that the bot may write. In a direct
// message that is certain; a group is opened once in a while, and what is said
// until then is refused, as is what does not speak to the bot.
func (i *Intake) reopenChat(ctx context.Context, e *event) (outcome, error) {
	if !e.chat.Closed {
		return pass, nil
	}
	k, now, group := reopenKey(e.Channel, e.Address.Peer), i.Now(), e.Address.Kind != sessionkeys.DM
	if !messages.ForBot(e.Message) || group && i.reopens.mustWait(k, now) {
		i.endings().passOver(e.Message, outcomes.Closed, "the network does not let the bot write in this chat")
		return stop, nil
	}
	if err := i.Store.Reopen(ctx, chatID(e.Address), now); err != nil {
		return stop, fmt.Errorf("open the chat again: %w", err)
	}
	if group {
		i.reopens.record(k, now)
	}
	return pass, nil
}
