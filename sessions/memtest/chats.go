package memtest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"parley/sessions"
)

// chatBook is where chats are and which are shut.
type chatBook struct {
	moves []move
	shut  map[sessions.ChatID]*shutting // by the id that was oldest then
}

type move struct {
	from, to sessions.ChatID
	at       time.Time
}

type shutting struct {
	cause    string
	dropped  int
	open     bool
	openedAt time.Time
}

const mostIDs = 16

func (s *Store) chat(id sessions.ChatID) sessions.Chat {
	c := sessions.Chat{IDs: []string{id.Peer}}
	toOf := func(m move) sessions.ChatID { return m.to }
	fromOf := func(m move) sessions.ChatID { return m.from }
	find := func(key func(move) sessions.ChatID, peer string) (move, bool) {
		at := id
		at.Peer = peer
		for _, m := range s.chats.moves {
			if key(m) == at {
				return m, true
			}
		}
		return move{}, false
	}
	for len(c.IDs) < mostIDs {
		m, found := find(toOf, c.IDs[0])
		if !found {
			break
		}
		c.IDs = slices.Insert(c.IDs, 0, m.from.Peer)
	}
	for len(c.IDs) < mostIDs {
		m, found := find(fromOf, c.Current())
		if !found {
			break
		}
		c.IDs = append(c.IDs, m.to.Peer)
	}
	if m, found := find(toOf, c.Current()); found {
		c.MovedAt = m.at
	}
	for _, peer := range c.IDs {
		at := id
		at.Peer = peer
		if x := s.chats.shut[at]; x != nil && !x.open {
			c.Shut = true
		}
	}
	return c
}

// Chat implements [sessions.Chats].
func (s *Store) Chat(_ context.Context, id sessions.ChatID) (sessions.Chat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chat(id), nil
}

// Move implements [sessions.Chats].
func (s *Store) Move(_ context.Context, id sessions.ChatID, to string, at time.Time) (sessions.Chat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id.Peer == "" || to == "" {
		return sessions.Chat{}, errors.New("move a chat: an id is missing")
	}
	c, target := s.chat(id), id
	target.Peer = to
	if slices.Contains(c.IDs, to) || len(c.IDs) == mostIDs || s.chat(target).Canonical() != to {
		return c, nil
	}
	from := id
	from.Peer = c.Current()
	s.chats.moves = append(s.chats.moves, move{from, target, stamp(at)})
	return s.chat(id), nil
}

// Shut implements [sessions.Chats].
func (s *Store) Shut(_ context.Context, q sessions.Shutting) (sessions.Closing, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.ID == "" || q.Chat.Peer == "" {
		return sessions.Closing{}, false, errors.New("shut a chat: an id is missing")
	}
	c, first := s.chat(q.Chat), q.Chat
	first.Peer = c.Canonical()
	was := s.chats.shut[first]
	switch {
	case was != nil && was.open && !stamp(q.At).After(was.openedAt):
		return sessions.Closing{}, false, nil
	case c.Shut && was != nil && was.cause == q.ID: // its answer was lost
		return sessions.Closing{Dropped: was.dropped, Mailboxes: s.shutMailboxes(first)}, true, nil
	case c.Shut:
		return sessions.Closing{}, true, nil
	}
	now := &shutting{cause: q.ID}
	for _, d := range s.outbox {
		to := sessions.ChatID{Channel: d.To.Channel, Account: d.To.Account, Peer: first.Peer}
		if a := s.byID[d.ID]; !a.done && to == first && slices.Contains(c.IDs, d.To.Peer) {
			now.dropped++
			a.done = true
			for i := range d.Parts {
				if p := &d.Parts[i]; p.State != sessions.Sent && p.State != sessions.Failed {
					p.State, p.Problem, p.At = sessions.Failed, "the chat is closed to the bot", stamp(q.At)
				}
			}
		}
	}
	s.stopMailboxes(first, c.IDs, q)
	s.chats.shut[first] = now
	return sessions.Closing{Dropped: now.dropped, Mailboxes: s.shutMailboxes(first)}, true, nil
}

// shutEvent marks the requests that a shutting made.
func shutEvent(chat sessions.ChatID) sessions.InboxID {
	return sessions.InboxID{Channel: chat.Channel, Account: chat.Account, Chat: chat.Peer}
}

func (s *Store) stopMailboxes(first sessions.ChatID, ids []string, q sessions.Shutting) {
	for _, token := range slices.Sorted(maps.Keys(s.boxes)) {
		b := s.boxes[token]
		a := b.Key.Address()
		if a.Channel != first.Channel || a.Account != first.Account || !slices.Contains(ids, a.Peer) || b.Touched <= b.Read && b.turn == nil {
			continue
		}
		s.controls = append(s.controls, &control{Control: sessions.Control{
			ID: "shut-" + token + "-" + q.ID, Event: shutEvent(first), Token: token, Key: b.Key, Kind: sessions.KindShut,
			Through: b.Touched, From: a, At: stamp(q.At),
		}})
	}
}

// shutMailboxes are those that were asked to stop and have not yet.
func (s *Store) shutMailboxes(first sessions.ChatID) (tokens []string) {
	for _, c := range s.controls {
		if !c.done && c.Kind == sessions.KindShut && c.Event == shutEvent(first) && !slices.Contains(tokens, c.Token) {
			tokens = append(tokens, c.Token)
		}
	}
	slices.Sort(tokens)
	return tokens
}

// Reopen implements [sessions.Chats].
func (s *Store) Reopen(_ context.Context, id sessions.ChatID, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, peer := range s.chat(id).IDs {
		id.Peer = peer
		if x := s.chats.shut[id]; x != nil {
			x.open = true
			if at = stamp(at); at.After(x.openedAt) {
				x.openedAt = at
			}
		}
	}
	return nil
}
