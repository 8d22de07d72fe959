package telegram

import (
	"slices"
	"time"
)

// chats are where people and bots write: the people, the rooms, and who sees what in
// them.
type chats struct {
	*world
	*inboxes
	*fileStore
	rooms   map[int64]*room
	people  map[int64]Person
	queries map[string]bool // callback queries that may be answered
	pressed map[string]time.Time
}

// room is a chat as the platform keeps it.
type room struct {
	chat      Chat
	wire      wireChat
	migrated  int64 // id of the supergroup it became
	topics    map[int64]*topic
	standing  map[int64]string // bot id to status; absent: member
	histories map[int64]*history
	whispers  map[int64]*storedMessage // that one person sees, by ephemeral_message_id
	reactions []string                 // that its admins allow; nil: all
}

type topic struct {
	name            string
	closed, deleted bool
	root            int64 // message id of its creation
}

// history is the messages of a chat. Groups have one; a private chat has one
// per bot, because it is a different chat for each of them.
type history struct {
	last     int64
	messages map[int64]*storedMessage
	order    []int64
	keep     int
}

type storedMessage struct {
	message   *wireMessage // replaced, never changed: an update may hold it
	author    int64        // bot id, 0 for people
	entry     *MessageEntry
	reactions map[int64]string // of bots, by their id
}

func (h *history) add(m *wireMessage, author int64, e *MessageEntry) {
	h.messages[m.MessageID] = &storedMessage{message: m, author: author, entry: e}
	h.order = append(h.order, m.MessageID)
	if len(h.order) > h.keep {
		delete(h.messages, h.order[0])
		h.order = h.order[1:]
	}
}

// isForgotten reports whether id is a message that fell out of the history.
func (h *history) isForgotten(id int64) bool {
	return id > 0 && len(h.order) > 0 && id < h.order[0] && len(h.order) >= h.keep
}

// room finds or opens a chat. The caller holds the lock.
func (s *chats) open(c Chat) *room {
	r, ok := s.rooms[c.ID]
	if !ok {
		r = &room{
			chat: c, topics: map[int64]*topic{}, standing: map[int64]string{},
			histories: map[int64]*history{}, whispers: map[int64]*storedMessage{},
		}
		s.rooms[c.ID] = r
		r.wire = c.wire()
		if c.Kind == Private {
			p := s.people[c.ID].wire()
			r.wire.Username, r.wire.FirstName, r.wire.LastName = p.Username, p.FirstName, p.LastName
		}
		return r
	}
	if c.Title != "" && c.Title != r.chat.Title {
		r.chat.Title, r.wire.Title = c.Title, c.Title
	}
	return r
}

func (s *chats) historyOf(r *room, bot int64) *history {
	if r.chat.Kind != Private {
		bot = 0
	}
	h, ok := r.histories[bot]
	if !ok {
		h = &history{messages: map[int64]*storedMessage{}, keep: s.opts.History}
		if bot == 0 {
			h.last = 1 // the message that says the chat was created
		}
		r.histories[bot] = h
	}
	return h
}

// isPresent reports whether the bot can read and write in the chat.
func (r *room) isPresent(bot int64) bool {
	return r.standing[bot] != "kicked" && r.standing[bot] != "left"
}

// checkPresent refuses a bot that is not present.
func (r *room) checkPresent(bot int64) {
	if r.migrated != 0 {
		panic(migrated(r.migrated))
	}
	kind := r.wire.Type
	switch status := r.standing[bot]; {
	case r.chat.Kind == Private && status == "kicked":
		panic(forbidden("bot was blocked by the user"))
	case status == "kicked":
		panic(forbidden("bot was kicked from the " + kind + " chat"))
	case status == "left":
		panic(forbidden("bot is not a member of the " + kind + " chat"))
	}
}

// audience lists the bots that may see m, sent by a person or by the bot
// author (0 for people). The caller holds the lock.
func (s *chats) audience(r *room, m *wireMessage, author int64) []*account {
	var out []*account
	for _, a := range s.accounts {
		if a.bot.ID == author || !r.isPresent(a.bot.ID) {
			continue
		}
		if m.From != nil && m.From.IsBot && m.SenderChat == nil && !a.bot.HearsBots {
			continue
		}
		if r.chat.Kind == Channel || a.bot.CanReadAllGroupMessages || r.standing[a.bot.ID] == "administrator" || a.isAddressed(m) {
			out = append(out, a)
		}
	}
	return out
}

// isAddressed is privacy mode: service messages, commands, mentions and replies
// come through.
func (a *account) isAddressed(m *wireMessage) bool {
	if m.isService() {
		return true
	}
	if m.ReplyTo != nil && m.ReplyTo.From != nil && m.ReplyTo.From.ID == a.bot.ID {
		return true
	}
	text, es := m.Text, m.Entities
	if text == "" {
		text, es = m.Caption, m.CaptionEntities
	}
	return slices.ContainsFunc(es, func(e Entity) bool { return a.meant(text, e) })
}

func (a *account) meant(text string, e Entity) bool {
	switch e.Type {
	case "text_mention":
		return e.User != nil && e.User.ID == a.bot.ID
	case "mention":
		return fold(textUnder(text, e.Offset, e.Length)) == "@"+fold(a.bot.Username)
	case "bot_command":
		command := textUnder(text, e.Offset, e.Length)
		for i := range len(command) {
			if command[i] == '@' {
				return fold(command[i+1:]) == fold(a.bot.Username)
			}
		}
		return true
	}
	return false
}

// member returns the bot's own standing in a chat.
func (a *account) member(r *room) wireMember {
	status := r.standing[a.bot.ID]
	if status == "" {
		status = "member"
	}
	m := wireMember{User: a.self, Status: status}
	switch status {
	case "kicked":
		m.UntilDate = new(int64)
	case "restricted":
		m.UntilDate, m.IsMember, m.CanSend = new(int64), new(true), new(false)
	}
	return m
}
