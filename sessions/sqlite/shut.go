package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/sessions"
)

// closedProblem is noted on parts that are not sent because their chat is shut.
const closedProblem = "the chat is closed to the bot"

// Shut implements [sessions.Chats].
func (s *Store) Shut(ctx context.Context, q sessions.Shutting) (sessions.Closing, bool, error) {
	type result struct {
		c    sessions.Closing
		shut bool
	}
	if q.ID == "" || q.Chat.Peer == "" {
		return sessions.Closing{}, false, errors.New("shut a chat: an id is missing")
	}
	s.chats.Store(true)
	r, err := write(ctx, s, func(x *tx) (r result, err error) {
		r.c, r.shut, err = shut(x, q)
		return r, err
	})
	if err != nil {
		return sessions.Closing{}, false, fmt.Errorf("shut chat %s: %w", q.Chat.Peer, err)
	}
	return r.c, r.shut, nil
}

func shut(x *tx, q sessions.Shutting) (sessions.Closing, bool, error) {
	chat, err := loadChat(x, q.Chat)
	if err != nil {
		return sessions.Closing{}, false, err
	}
	id := sessions.InboxID{Channel: q.Chat.Channel, Account: q.Chat.Account, Chat: chat.Canonical()}
	var cause string
	var dropped int
	var open bool
	var openedAt int64
	known, err := x.one("SELECT cause, dropped, open, opened_at FROM shut WHERE channel = ? AND account = ? AND peer = ?",
		args(id.Channel, id.Account, id.Chat), &cause, &dropped, &open, &openedAt)
	switch {
	case err != nil:
		return sessions.Closing{}, false, err
	case known && open && micros(q.At) <= openedAt:
		return sessions.Closing{}, false, nil
	case chat.Shut && cause == q.ID: // its answer was lost
		tokens, err := shutMailboxes(x, id)
		return sessions.Closing{Dropped: dropped, Mailboxes: tokens}, true, err
	case chat.Shut:
		return sessions.Closing{}, true, nil
	}
	c := sessions.Closing{}
	if c.Dropped, err = dropQueued(x, id, chat.IDs, q.At); err != nil {
		return sessions.Closing{}, false, err
	}
	if c.Mailboxes, err = stopMailboxes(x, id, chat.IDs, q); err != nil {
		return sessions.Closing{}, false, err
	}
	return c, true, x.do(`INSERT INTO shut (channel, account, peer, cause, dropped) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET cause = excluded.cause, dropped = excluded.dropped, open = 0`,
		id.Channel, id.Account, id.Chat, q.ID, c.Dropped)
}

// dropQueued ends what waits to be sent to the chat.
func dropQueued(x *tx, chat sessions.InboxID, ids []string, at time.Time) (int, error) {
	type waiting struct {
		no int64
		id string
	}
	var found []waiting
	err := x.each(`SELECT no, id, json_extract(target, '$.peer') FROM outbox WHERE done = 0
		AND json_extract(target, '$.channel') = ? AND json_extract(target, '$.account') = ? ORDER BY no`,
		args(chat.Channel, chat.Account), func(r scanner) error {
			var w waiting
			var peer string
			err := r.Scan(&w.no, &w.id, &peer)
			if err == nil && slices.Contains(ids, peer) {
				found = append(found, w)
			}
			return err
		})
	if err != nil {
		return 0, fmt.Errorf("find what waits for it: %w", err)
	}
	for _, w := range found {
		err := x.do("UPDATE outbox_parts SET state = ?, problem = ?, at = ? WHERE outbox = ? AND state NOT IN (?, ?)",
			sessions.Failed, closedProblem, micros(at), w.no, sessions.Sent, sessions.Failed)
		if err == nil {
			err = x.do("UPDATE outbox SET done = 1 WHERE no = ?", w.no)
		}
		if err != nil {
			return 0, fmt.Errorf("drop answer %s: %w", w.id, err)
		}
		x.outbox.drop(w.id)
	}
	return len(found), nil
}

// stopMailboxes asks for a stop of all that the chat's mailboxes are owed.
func stopMailboxes(x *tx, chat sessions.InboxID, ids []string, q sessions.Shutting) (tokens []string, err error) {
	if err := x.flush(); err != nil {
		return nil, err
	}
	err = x.each("SELECT "+boxColumns+" FROM mailboxes AS m WHERE hot ORDER BY token", nil, func(r scanner) error {
		b, err := scanBox(r)
		if err != nil {
			return err
		}
		a := b.Key.Address()
		if a.Channel == chat.Channel && a.Account == chat.Account && slices.Contains(ids, a.Peer) && (b.Touched > b.Read || b.turn != "") {
			tokens = append(tokens, b.Token)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find its mailboxes: %w", err)
	}
	event, err := text(chat)
	if err != nil {
		return nil, err
	}
	for _, token := range tokens {
		b, _, err := x.box(token)
		if err != nil {
			return nil, err
		}
		from, err := text(b.Key.Address())
		if err != nil {
			return nil, err
		}
		n, err := x.change(`INSERT INTO controls (id, token, key, event, kind, through, channel, origin, reply_to, sender, at)
			VALUES (?, ?, ?, ?, ?, ?, '', ?, '', '', ?) ON CONFLICT (id) DO NOTHING`,
			"shut-"+token+"-"+q.ID, token, b.Key.String(), event, sessions.KindShut, int64(b.Touched), from, micros(q.At))
		if err != nil {
			return nil, fmt.Errorf("stop mailbox %s: %w", token, err)
		}
		if n == 1 {
			b.Controls++
			b.save(x)
		}
	}
	return tokens, nil
}

// shutMailboxes are those that were asked to stop and have not yet.
func shutMailboxes(x *tx, chat sessions.InboxID) (tokens []string, err error) {
	event, err := text(chat)
	if err != nil {
		return nil, err
	}
	err = x.each("SELECT DISTINCT token FROM controls WHERE done = 0 AND kind = ? AND event = ? ORDER BY token",
		args(sessions.KindShut, event), func(r scanner) error {
			var token string
			err := r.Scan(&token)
			tokens = append(tokens, token)
			return err
		})
	return tokens, err
}
