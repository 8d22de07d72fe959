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

// at is the id of the same account's chat with another peer.
func at(id sessions.ChatID, peer string) sessions.ChatID {
	id.Peer = peer
	return id
}

// chatOf returns what is known of a chat under any of its ids.
func chatOf(tx *Tx, id sessions.ChatID) (sessions.Chat, error) {
	c := sessions.Chat{IDs: []string{id.Peer}}
	link := func(peer string) (Chat, error) {
		row, _, err := get[Chat](tx, ChatKey(at(id, peer)))
		return row, err
	}
	asked, err := link(id.Peer)
	if err != nil {
		return sessions.Chat{}, err
	}
	for row := asked; row.Before != "" && len(c.IDs) < maxIDs; {
		c.IDs = slices.Insert(c.IDs, 0, row.Before)
		if row, err = link(row.Before); err != nil {
			return sessions.Chat{}, err
		}
	}
	last := asked
	for last.After != "" && len(c.IDs) < maxIDs {
		c.IDs = append(c.IDs, last.After)
		if last, err = link(last.After); err != nil {
			return sessions.Chat{}, err
		}
	}
	c.MovedAt = last.MovedAt
	for _, peer := range c.IDs {
		row, err := link(peer)
		if err != nil {
			return sessions.Chat{}, err
		}
		c.Shut = c.Shut || row.Shut.closed()
	}
	return c, nil
}

// Chat implements [sessions.Chats].
func (s Operations) Chat(ctx context.Context, id sessions.ChatID) (sessions.Chat, error) {
	c, err := view(ctx, s, func(tx *Tx) (sessions.Chat, error) { return chatOf(tx, id) })
	return c, While(err, "look up chat %s", id.Peer)
}

// Move implements [sessions.Chats].
func (s Operations) Move(ctx context.Context, id sessions.ChatID, to string, when time.Time) (sessions.Chat, error) {
	if id.Peer == "" || to == "" {
		return sessions.Chat{}, errors.New("move a chat: an id is missing")
	}
	c, err := update(ctx, s, sessions.Fence{}, func(tx *Tx) (sessions.Chat, error) {
		c, err := chatOf(tx, id)
		if err != nil || slices.Contains(c.IDs, to) || len(c.IDs) == maxIDs {
			return c, err
		}
		// What is known of the new id already comes behind it.
		other, err := chatOf(tx, at(id, to))
		if err != nil || other.Canonical() != to {
			return c, err
		}
		from, _, err := get[Chat](tx, ChatKey(at(id, c.Current())))
		if err != nil {
			return c, err
		}
		next, _, err := get[Chat](tx, ChatKey(at(id, to)))
		if err != nil {
			return c, err
		}
		from.ID, from.After = at(id, c.Current()), to
		next.ID, next.Before, next.MovedAt = at(id, to), c.Current(), stamp(when)
		tx.put(from)
		tx.put(next)
		return chatOf(tx, id)
	})
	return c, While(err, "move chat %s to %s", id.Peer, to)
}

// Reopen implements [sessions.Chats].
func (s Operations) Reopen(ctx context.Context, id sessions.ChatID, when time.Time) error {
	err := s.Driver.Update(ctx, sessions.Fence{}, func(tx *Tx) error {
		c, err := chatOf(tx, id)
		if err != nil {
			return err
		}
		for _, peer := range c.IDs {
			row, _, err := get[Chat](tx, ChatKey(at(id, peer)))
			if err != nil {
				return err
			}
			if row.Shut.Cause == "" {
				continue
			}
			row.Shut.Open = true
			if when := stamp(when); when.After(row.Shut.OpenedAt) {
				row.Shut.OpenedAt = when
			}
			tx.put(row)
		}
		return nil
	})
	return While(err, "open chat %s", id.Peer)
}

// closedProblem is noted on parts that are not sent because their chat is shut.
const closedProblem = "the chat is closed to the bot"

// shutting is the answer of Shut.
type shutting struct {
	c    sessions.Closing
	shut bool
}

// Shut implements [sessions.Chats].
func (s Operations) Shut(ctx context.Context, q sessions.Shutting) (sessions.Closing, bool, error) {
	if q.ID == "" || q.Chat.Peer == "" {
		return sessions.Closing{}, false, errors.New("shut a chat: an id is missing")
	}
	r, err := update(ctx, s, sessions.Fence{}, func(tx *Tx) (shutting, error) { return shut(tx, q) })
	return r.c, r.shut, While(err, "shut chat %s", q.Chat.Peer)
}

func shut(tx *Tx, q sessions.Shutting) (r shutting, err error) {
	chat, err := chatOf(tx, q.Chat)
	if err != nil {
		return r, err
	}
	id := at(q.Chat, chat.Canonical())
	row, _, err := get[Chat](tx, ChatKey(id))
	switch {
	case err != nil:
		return r, err
	case row.Shut.Cause != "" && row.Shut.Open && !stamp(q.At).After(row.Shut.OpenedAt):
		return r, nil
	case chat.Shut && row.Shut.Cause == q.ID: // its answer was lost
		tokens, err := shutMailboxes(tx, id)
		return shutting{sessions.Closing{Dropped: row.Shut.Dropped, Mailboxes: tokens}, true}, err
	case chat.Shut:
		return shutting{shut: true}, nil
	}
	var chats []sessions.ChatID
	for _, peer := range chat.IDs {
		chats = append(chats, at(id, peer))
	}
	r.shut = true
	if r.c.Dropped, err = dropQueued(tx, chats, q.At); err != nil {
		return r, err
	}
	if r.c.Mailboxes, err = stopMailboxes(tx, id, chats, q); err != nil {
		return r, err
	}
	row.ID = id
	row.Shut = Shut{Cause: q.ID, Dropped: r.c.Dropped, OpenedAt: row.Shut.OpenedAt}
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
				p.State, p.Problem, p.At = sessions.Failed, closedProblem, stamp(when)
			}
		}
		a.Done = true
		tx.put(a)
	}
	return len(queued), nil
}

// shutEvent marks the control requests that a shutting makes.
func shutEvent(chat sessions.ChatID) sessions.InboxID {
	return sessions.InboxID{Channel: chat.Channel, Account: chat.Account, Chat: chat.Peer}
}

// stopMailboxes asks for a stop of all that the chat's mailboxes are owed.
func stopMailboxes(tx *Tx, id sessions.ChatID, chats []sessions.ChatID, q sessions.Shutting) (tokens []string, err error) {
	boxes, err := rowsOf[Mailbox](tx, ChatMailboxes{chats}, 0)
	if err != nil {
		return nil, err
	}
	for _, m := range boxes {
		if m.Touched <= m.Read && m.OpenTurn == "" {
			continue
		}
		tokens = append(tokens, m.Token)
		_, err = request(tx, m, sessions.Control{
			ID: "shut-" + m.Token + "-" + q.ID, Event: shutEvent(id), Token: m.Token, Key: m.Mailbox.Key, Kind: sessions.KindShut,
			Through: m.Touched, From: m.Mailbox.Key.Address(), At: q.At,
		})
		if err != nil {
			return nil, err
		}
	}
	return tokens, nil
}

// shutMailboxes returns those that were asked to stop and have not yet.
func shutMailboxes(tx *Tx, id sessions.ChatID) (tokens []string, err error) {
	asked, err := rowsOf[Control](tx, ShutControls{id}, 0)
	for _, c := range asked {
		if !slices.Contains(tokens, c.Token) {
			tokens = append(tokens, c.Token)
		}
	}
	return tokens, err
}
