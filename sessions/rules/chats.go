package rules

import (
	"context"
	"errors"
	"slices"
	"time"

	"parley/sessions"
)

// maxIDs bounds how many ids of one chat are followed.
const maxIDs = 16

// chatAt returns the id of the same account's chat with another peer.
func chatAt(id sessions.ChatID, peer string) sessions.ChatID {
	id.Peer = peer
	return id
}

// chatRow returns what is known of one id of a chat.
func chatRow(tx *Tx, id sessions.ChatID, peer string) (Chat, error) {
	id = chatAt(id, peer)
	row, _, err := get[Chat](tx, ChatKey(id))
	row.ID = id
	return row, err
}

// chatOf returns what is known of a chat under any of its ids.
func chatOf(tx *Tx, id sessions.ChatID) (sessions.Chat, error) {
	c := sessions.Chat{IDs: []string{id.Peer}}
	asked, err := chatRow(tx, id, id.Peer)
	if err != nil {
		return sessions.Chat{}, err
	}
	for row := asked; row.Before != "" && len(c.IDs) < maxIDs; {
		c.IDs = slices.Insert(c.IDs, 0, row.Before)
		if row, err = chatRow(tx, id, row.Before); err != nil {
			return sessions.Chat{}, err
		}
	}
	last := asked
	for last.After != "" && len(c.IDs) < maxIDs {
		c.IDs = append(c.IDs, last.After)
		if last, err = chatRow(tx, id, last.After); err != nil {
			return sessions.Chat{}, err
		}
	}
	c.MovedAt = last.MovedAt
	for _, peer := range c.IDs {
		row, err := chatRow(tx, id, peer)
		if err != nil {
			return sessions.Chat{}, err
		}
		c.Closed = c.Closed || row.Closed.isClosed()
	}
	return c, nil
}

// Chat implements [sessions.Chats].
func (s Chats) Chat(ctx context.Context, id sessions.ChatID) (sessions.Chat, error) {
	c, err := view(ctx, s.db, func(tx *Tx) (sessions.Chat, error) { return chatOf(tx, id) })
	return c, While(err, "look up chat %s", id.Peer)
}

// Move implements [sessions.Chats].
func (s Chats) Move(ctx context.Context, id sessions.ChatID, to string, when time.Time) (sessions.Chat, error) {
	if id.Peer == "" || to == "" {
		return sessions.Chat{}, errors.New("move a chat: an id is missing")
	}
	c, err := update(ctx, s.db, sessions.Fence{}, func(tx *Tx) (sessions.Chat, error) {
		c, err := chatOf(tx, id)
		if err != nil || slices.Contains(c.IDs, to) || len(c.IDs) == maxIDs {
			return c, err
		}
		// What is known of the new id already comes behind it.
		other, err := chatOf(tx, chatAt(id, to))
		if err != nil || other.Canonical() != to {
			return c, err
		}
		from, err := chatRow(tx, id, c.Current())
		if err != nil {
			return c, err
		}
		next, err := chatRow(tx, id, to)
		if err != nil {
			return c, err
		}
		from.After, next.Before, next.MovedAt = to, c.Current(), normaliseTime(when)
		tx.put(from)
		tx.put(next)
		return chatOf(tx, id)
	})
	return c, While(err, "move chat %s to %s", id.Peer, to)
}

// Reopen implements [sessions.Chats].
func (s Chats) Reopen(ctx context.Context, id sessions.ChatID, when time.Time) error {
	err := s.db.Update(ctx, sessions.Fence{}, func(tx *Tx) error {
		c, err := chatOf(tx, id)
		if err != nil {
			return err
		}
		for _, peer := range c.IDs {
			row, err := chatRow(tx, id, peer)
			if err != nil {
				return err
			}
			if row.Closed.Cause == "" {
				continue
			}
			row.Closed.Open = true
			if when := normaliseTime(when); when.After(row.Closed.OpenedAt) {
				row.Closed.OpenedAt = when
			}
			tx.put(row)
		}
		return nil
	})
	return While(err, "open chat %s", id.Peer)
}

// closedProblem is noted on parts that are not sent because their chat is shut.
const closedProblem = "the chat is closed to the bot"

// CloseChat implements [sessions.Chats].
func (s Chats) CloseChat(ctx context.Context, q sessions.CloseRequest) (sessions.CloseResult, bool, error) {
	if q.ID == "" || q.Chat.Peer == "" {
		return sessions.CloseResult{}, false, errors.New("shut a chat: an id is missing")
	}
	r, err := update(ctx, s.db, sessions.Fence{}, func(tx *Tx) (outcome[sessions.CloseResult], error) { return closeChat(tx, q) })
	return r.of, r.yes, While(err, "shut chat %s", q.Chat.Peer)
}

func closeChat(tx *Tx, q sessions.CloseRequest) (r outcome[sessions.CloseResult], err error) {
	chat, err := chatOf(tx, q.Chat)
	if err != nil {
		return r, err
	}
	id := chatAt(q.Chat, chat.Canonical())
	row, err := chatRow(tx, id, id.Peer)
	switch {
	case err != nil:
		return r, err
	case row.Closed.Cause != "" && row.Closed.Open && !normaliseTime(q.At).After(row.Closed.OpenedAt):
		return r, nil
	case row.Closed.Open && row.Closed.Cause == q.ID: // heard of once more
		return r, nil
	case chat.Closed && row.Closed.Cause == q.ID: // its answer was lost
		tokens, err := closingMailboxes(tx, id)
		return outcome[sessions.CloseResult]{sessions.CloseResult{Dropped: row.Closed.Dropped, Mailboxes: tokens}, true}, err
	case chat.Closed:
		r.yes = true
		return r, nil
	}
	var chats []sessions.ChatID
	for _, peer := range chat.IDs {
		chats = append(chats, chatAt(id, peer))
	}
	r.yes = true
	if r.of.Dropped, err = dropQueued(tx, chats, q.At); err != nil {
		return r, err
	}
	if r.of.Mailboxes, err = stopMailboxes(tx, id, chats, q); err != nil {
		return r, err
	}
	row.Closed = Closure{Cause: q.ID, Dropped: r.of.Dropped, OpenedAt: row.Closed.OpenedAt}
	tx.put(row)
	return r, nil
}

// dropQueued ends what waits to be sent to the chat.
func dropQueued(tx *Tx, chats []sessions.ChatID, when time.Time) (dropped int, err error) {
	queued, err := rowsOf[Answer](tx, QueuedAnswers{chats}, 0)
	if err != nil {
		return 0, err
	}
	for _, a := range queued {
		a.Parts = slices.Clone(a.Parts)
		for i := range a.Parts {
			if p := &a.Parts[i]; p.State != sessions.Sent && p.State != sessions.Failed {
				p.State, p.Problem, p.At = sessions.Failed, closedProblem, normaliseTime(when)
			}
		}
		a.Done = true
		tx.put(a)
	}
	return len(queued), nil
}

// closeEvent marks the control requests that a shutting makes.
func closeEvent(chat sessions.ChatID) sessions.InboxID {
	return sessions.InboxID{Channel: chat.Channel, Account: chat.Account, Chat: chat.Peer}
}

// stopMailboxes asks for a stop of all that the chat's mailboxes are owed.
func stopMailboxes(tx *Tx, id sessions.ChatID, chats []sessions.ChatID, q sessions.CloseRequest) (tokens []string, err error) {
	boxes, err := rowsOf[Mailbox](tx, ChatMailboxes{chats}, 0)
	if err != nil {
		return nil, err
	}
	for _, m := range boxes {
		if m.LastSeen <= m.LastRead && m.OpenTurn == "" {
			continue
		}
		tokens = append(tokens, m.Token)
		_, err = addControl(tx, m, sessions.Control{
			ID: "shut-" + m.Token + "-" + q.ID, Event: closeEvent(id), Token: m.Token, Key: m.Mailbox.Key, Kind: sessions.KindShut,
			Through: m.LastSeen, From: m.Mailbox.Key.Address(), At: q.At,
		})
		if err != nil {
			return nil, err
		}
	}
	return tokens, nil
}

// closingMailboxes returns those that were asked to stop and have not yet.
func closingMailboxes(tx *Tx, id sessions.ChatID) (tokens []string, err error) {
	asked, err := rowsOf[Control](tx, CloseControls{id}, 0)
	for _, c := range asked {
		if !slices.Contains(tokens, c.Token) {
			tokens = append(tokens, c.Token)
		}
	}
	return tokens, err
}
