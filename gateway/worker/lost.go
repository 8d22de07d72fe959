package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/gateway/messages"
	"parley/sessionkeys"
	"parley/sessions"
)

// LostText is said in a chat some of whose messages the log has lost.
const LostText = "Something that was written here was lost by a failure before I read it. Please send it again."

// Notifier is the part of a store that notifies people of lost messages.
type Notifier interface {
	TurnsOf(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Turn, error)
	Turn(ctx context.Context, id string) (sessions.Turn, error)
	Notice(ctx context.Context, e sessions.InboxID, replies []sessions.Outgoing, at time.Time) (added bool, err error)
}

// NotifyLost queues LostText for the chat of m, whose messages after m.Read up to
// m.Touched the log of that generation has lost. known says that this was done
// before; then nothing is added. Which account answers in the chat is known from
// the turn before: where there was none no notice is sent.
func NotifyLost(ctx context.Context, s Notifier, generation string, m sessions.Mailbox, now time.Time) (known bool, err error) {
	t, err := latestTurn(ctx, s, generation, m)
	if errors.Is(err, sessions.ErrNotFound) || err == nil && t.Channel == "" {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for who lost messages: %w", err)
	}
	id := messages.ID{Kind: messages.Lost, About: TurnID(generation, m.Token, m.LastSeen)}.String()
	at := m.Key.Address()
	added, err := s.Notice(ctx, sessions.InboxID{Channel: at.Channel, Account: at.Account, Chat: at.Peer, Event: id},
		[]sessions.Outgoing{{ID: id, Channel: t.Channel, Session: m.Session, To: t.From, Text: LostText, At: now}}, now)
	if err != nil {
		return false, fmt.Errorf("tell of messages that were lost: %w", err)
	}
	return !added, nil
}

// latestTurn returns the open turn of m or, if there is none, the one that took, or was
// joined by, the message that was read last, or ErrNotFound.
func latestTurn(ctx context.Context, s Notifier, generation string, m sessions.Mailbox) (sessions.Turn, error) {
	if m.Turn != nil {
		return *m.Turn, nil
	}
	t, err := s.Turn(ctx, TurnID(generation, m.Token, m.LastRead))
	if !errors.Is(err, sessions.ErrNotFound) {
		return t, err
	}
	ts, err := s.TurnsOf(ctx, m.Session)
	if err != nil {
		return t, err
	}
	if n := len(ts); n > 0 && len(ts[n-1].Joined) > 0 && slices.Max(ts[n-1].Joined) == m.LastRead {
		return ts[n-1], nil
	}
	return t, sessions.ErrNotFound
}
