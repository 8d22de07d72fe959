package sqlite

import (
	"context"
	"fmt"

	"parley/sessions"
	"parley/sessions/rules"
)

// Chat implements [sessions.Chats]. Until the first chat moved or was shut
// nothing is read.
func (s *Store) Chat(ctx context.Context, id sessions.ChatID) (sessions.Chat, error) {
	if !s.chats.Load() {
		return sessions.Chat{IDs: []string{id.Peer}}, nil
	}
	return s.Operations.Chat(ctx, id)
}

// loadChat reads one id of a chat: where it moved from and to, and whether it is
// shut.
func loadChat(s source, id sessions.ChatID) (c rules.Chat, found bool, err error) {
	c.ID = id
	moved, err := s.queryRow("SELECT old, at FROM moves WHERE channel = ? AND account = ? AND new = ?", args(id.Channel, id.Account, id.Peer), &c.Before, &c.MovedAt)
	if err != nil {
		return c, false, err
	}
	moves, err := s.queryRow("SELECT new FROM moves WHERE channel = ? AND account = ? AND old = ?", args(id.Channel, id.Account, id.Peer), &c.After)
	if err != nil {
		return c, false, err
	}
	shut, err := s.queryRow("SELECT cause, dropped, open, opened_at FROM shut WHERE channel = ? AND account = ? AND peer = ?",
		args(id.Channel, id.Account, id.Peer), &c.Closed.Cause, &c.Closed.Dropped, &c.Closed.Open, &c.Closed.OpenedAt)
	return c, moved || moves || shut, err
}

// putChat writes the move that led to the id, and whether it is shut. The move that
// led away from it is written with the id that it led to.
func (t *tx) putChat(c rules.Chat) error {
	t.chats.Store(true)
	if c.Before != "" {
		err := t.exec("INSERT INTO moves (channel, account, old, new, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			c.ID.Channel, c.ID.Account, c.Before, c.ID.Peer, c.MovedAt)
		if err != nil {
			return fmt.Errorf("note where chat %s moved: %w", c.Before, err)
		}
	}
	if c.Closed.Cause == "" {
		return nil
	}
	err := t.exec(`INSERT INTO shut (channel, account, peer, cause, dropped, open, opened_at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET cause = excluded.cause, dropped = excluded.dropped, open = excluded.open, opened_at = excluded.opened_at`,
		c.ID.Channel, c.ID.Account, c.ID.Peer, c.Closed.Cause, c.Closed.Dropped, c.Closed.Open, c.Closed.OpenedAt)
	return rules.While(err, "note that chat %s is shut", c.ID.Peer)
}
