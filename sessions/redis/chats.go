package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/sessions"
)

// chatID is a sessions.ChatID in a request.
type chatID struct {
	Channel string `json:"channel"`
	Account string `json:"account"`
	Peer    string `json:"peer"`
}

// chatOf is a chat as chat.answer makes it.
func chatOf(a answer) (sessions.Chat, error) {
	r := reader{row: row{"moved": a.text(1)}}
	c := sessions.Chat{IDs: a.texts(0), MovedAt: r.time("moved"), Shut: a.yes(2)}
	return c, r.err
}

// Chat implements [sessions.Chats].
func (s *Store) Chat(ctx context.Context, id sessions.ChatID) (c sessions.Chat, err error) {
	a, err := s.look(ctx, "chat", chatID(id))
	if err == nil {
		c, err = chatOf(a)
	}
	if err != nil {
		return sessions.Chat{}, fmt.Errorf("look up chat %s: %w", id.Peer, err)
	}
	return c, nil
}

// Move implements [sessions.Chats].
func (s *Store) Move(ctx context.Context, id sessions.ChatID, to string, at time.Time) (c sessions.Chat, err error) {
	if id.Peer == "" || to == "" {
		return sessions.Chat{}, errors.New("move a chat: an id is missing")
	}
	a, err := s.record(ctx, "move", nil, struct {
		chatID
		To string `json:"to"`
		At int64  `json:"at"`
	}{chatID(id), to, micros(at)})
	if err == nil {
		c, err = chatOf(a)
	}
	if err != nil {
		return sessions.Chat{}, fmt.Errorf("move chat %s to %s: %w", id.Peer, to, err)
	}
	return c, nil
}

// Reopen implements [sessions.Chats].
func (s *Store) Reopen(ctx context.Context, id sessions.ChatID, at time.Time) error {
	_, err := s.record(ctx, "reopen", nil, struct {
		chatID
		At int64 `json:"at"`
	}{chatID(id), micros(at)})
	if err != nil {
		return fmt.Errorf("open chat %s: %w", id.Peer, err)
	}
	return nil
}

// closedProblem is noted on parts that are not sent because their chat is shut.
const closedProblem = "the chat is closed to the bot"

// Shut implements [sessions.Chats].
func (s *Store) Shut(ctx context.Context, q sessions.Shutting) (sessions.Closing, bool, error) {
	if q.ID == "" || q.Chat.Peer == "" {
		return sessions.Closing{}, false, errors.New("shut a chat: an id is missing")
	}
	a, err := s.record(ctx, "shut", nil, struct {
		chatID
		ID      string `json:"id"`
		At      int64  `json:"at"`
		Problem string `json:"problem"`
	}{chatID(q.Chat), q.ID, micros(q.At), closedProblem})
	var dropped int64
	if err == nil {
		dropped, err = a.int(1)
	}
	if err != nil {
		return sessions.Closing{}, false, fmt.Errorf("shut chat %s: %w", q.Chat.Peer, err)
	}
	return sessions.Closing{Dropped: int(dropped), Mailboxes: a.texts(2)}, a.yes(0), nil
}
