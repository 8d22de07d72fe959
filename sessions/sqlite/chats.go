package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/sessions"
)

// mostIDs bounds how many ids of one chat are followed.
const mostIDs = 16

// Chat implements [sessions.Chats]. Until the first chat moved or was shut
// nothing is read.
func (s *Store) Chat(ctx context.Context, id sessions.ChatID) (c sessions.Chat, err error) {
	if !s.chats.Load() {
		return sessions.Chat{IDs: []string{id.Peer}}, nil
	}
	err = s.read(ctx, func(v *view) (err error) {
		c, err = loadChat(v, id)
		return err
	})
	if err != nil {
		return sessions.Chat{}, fmt.Errorf("look up chat %s: %w", id.Peer, err)
	}
	return c, nil
}

func loadChat(s source, id sessions.ChatID) (sessions.Chat, error) {
	c := sessions.Chat{IDs: []string{id.Peer}}
	for len(c.IDs) < mostIDs {
		var before string
		found, err := s.one("SELECT old FROM moves WHERE channel = ? AND account = ? AND new = ?", args(id.Channel, id.Account, c.IDs[0]), &before)
		if err != nil {
			return sessions.Chat{}, err
		}
		if !found {
			break
		}
		c.IDs = slices.Insert(c.IDs, 0, before)
	}
	for len(c.IDs) < mostIDs {
		var after string
		var at int64
		found, err := s.one("SELECT new, at FROM moves WHERE channel = ? AND account = ? AND old = ?", args(id.Channel, id.Account, c.Current()), &after, &at)
		if err != nil {
			return sessions.Chat{}, err
		}
		if !found {
			break
		}
		c.IDs = append(c.IDs, after)
	}
	if len(c.IDs) > 1 {
		var at int64
		if _, err := s.one("SELECT at FROM moves WHERE channel = ? AND account = ? AND new = ?", args(id.Channel, id.Account, c.Current()), &at); err != nil {
			return sessions.Chat{}, err
		}
		c.MovedAt = instant(at)
	}
	for _, peer := range c.IDs {
		var open bool
		found, err := s.one("SELECT open FROM shut WHERE channel = ? AND account = ? AND peer = ?", args(id.Channel, id.Account, peer), &open)
		if err != nil {
			return sessions.Chat{}, err
		}
		c.Shut = c.Shut || found && !open
	}
	return c, nil
}

// Move implements [sessions.Chats].
func (s *Store) Move(ctx context.Context, id sessions.ChatID, to string, at time.Time) (sessions.Chat, error) {
	if id.Peer == "" || to == "" {
		return sessions.Chat{}, errors.New("move a chat: an id is missing")
	}
	s.chats.Store(true)
	c, err := write(ctx, s, func(x *tx) (sessions.Chat, error) {
		c, err := loadChat(x, id)
		if err != nil || slices.Contains(c.IDs, to) || len(c.IDs) == mostIDs {
			return c, err
		}
		// What is known of the new id already comes behind it.
		target := id
		target.Peer = to
		other, err := loadChat(x, target)
		if err != nil || other.Canonical() != to {
			return c, err
		}
		if err := x.do("INSERT INTO moves (channel, account, old, new, at) VALUES (?, ?, ?, ?, ?)",
			id.Channel, id.Account, c.Current(), to, micros(at)); err != nil {
			return c, err
		}
		return loadChat(x, id)
	})
	if err != nil {
		return sessions.Chat{}, fmt.Errorf("move chat %s to %s: %w", id.Peer, to, err)
	}
	return c, nil
}

// Reopen implements [sessions.Chats].
func (s *Store) Reopen(ctx context.Context, id sessions.ChatID, at time.Time) error {
	s.chats.Store(true)
	_, err := write(ctx, s, func(x *tx) (struct{}, error) {
		c, err := loadChat(x, id)
		if err != nil {
			return struct{}{}, err
		}
		for _, peer := range c.IDs {
			if err := x.do("UPDATE shut SET open = 1, opened_at = max(opened_at, ?) WHERE channel = ? AND account = ? AND peer = ?",
				micros(at), id.Channel, id.Account, peer); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	if err != nil {
		return fmt.Errorf("open chat %s: %w", id.Peer, err)
	}
	return nil
}
