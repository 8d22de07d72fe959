package telegram

import (
	"cmp"
	"fmt"

	"parley/simulators/internal/stage"
)

// Album lets p send n photos as one album: n messages with one media group,
// of which only the first carries the caption.
func (s *chats) Album(c Chat, p Person, caption string, n int, o SayOptions) (all []ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "send album")()
	o.Media = cmp.Or(o.Media, "photo")
	o.MediaGroup = cmp.Or(o.MediaGroup, fmt.Sprintf("1300%011d", s.id()))
	for range n {
		all = append(all, s.say(c, p, caption, o))
		caption, o.Entities, o.Mentions = "", nil, nil
	}
	return all, nil
}

// PressOptions shape a button press.
type PressOptions struct {
	// Bot of a private chat; empty: the first.
	Bot string `json:"bot,omitempty"`
	// Inaccessible hides the message from the bot, as for old ones.
	Inaccessible bool `json:"inaccessible,omitempty"`
	// Expired makes the query too old to be answered.
	Expired bool `json:"expired,omitempty"`
}

// Press lets p press a button with data under a message of a bot. The query
// goes to the message's author.
func (s *chats) Press(p Person, chatID, messageID int64, data string, o PressOptions) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "press button")()
	r, to, st := s.find(chatID, messageID, o.Bot)
	for _, a := range s.accounts {
		if a.bot.ID == st.author {
			to = a
		}
	}
	s.people[p.ID] = p
	id := s.query(p)
	s.queries[id] = !o.Expired
	q := wireCallback{ID: id, From: p.wire(), Message: st.message, ChatInstance: fmt.Sprint(chatID), Data: data}
	if o.Inaccessible {
		q.Message = wireInaccessible{Chat: r.wire, MessageID: messageID}
	}
	e := entryOf(st.message)
	e.FromID, e.Text = p.ID, data
	return s.actionResult(st.message, s.put(to, "callback_query", q, e)), nil
}

// SetStanding changes a bot's membership: member, administrator, restricted
// (it may not send), left or kicked. In a private chat kicked means that p
// blocked the bot. The bot gets my_chat_member.
func (s *chats) SetStanding(c Chat, by Person, bot, status string) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "set standing")()
	a := s.known(bot)
	s.people[by.ID] = by
	r := s.open(c)
	s.historyOf(r, a.bot.ID)
	return ActionResult{ChatID: c.ID, Updates: s.changeStanding(r, by, a, status)}, nil
}

// changeStanding changes a bot's membership and tells it. The caller holds the lock.
func (s *chats) changeStanding(r *room, by Person, a *account, status string) []Ref {
	u := wireMemberUpdated{Chat: r.wire, From: by.wire(), Date: s.opts.Now().Unix(), Old: a.member(r)}
	r.standing[a.bot.ID] = status
	u.New = a.member(r)
	return s.put(a, "my_chat_member", u, UpdateEntry{ChatID: r.chat.ID, FromID: by.ID, Text: status})
}

// Block is a person blocking the bot in their private chat.
func (s *chats) Block(p Person, bot string) (ActionResult, error) {
	return s.SetStanding(PrivateChat(p), p, bot, "kicked")
}

// Kick is a person removing the bot from a group.
func (s *chats) Kick(c Chat, by Person, bot string) (ActionResult, error) {
	return s.SetStanding(c, by, bot, "kicked")
}

// Migrate turns a group into a supergroup, which it returns: service messages
// in both, and 400 with migrate_to_chat_id for every later call to the old
// one.
func (s *chats) Migrate(group Chat, by Person) (Chat, []ActionResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.rooms[group.ID]
	if old == nil || old.chat.Kind != Group || old.migrated != 0 {
		return Chat{}, nil, fmt.Errorf("migrate chat %d: %w", group.ID, errChat)
	}
	c := Chat{ID: -1_002_000_000_000 - s.id(), Kind: Supergroup, Title: old.chat.Title}
	fresh := s.open(c)
	for bot, status := range old.standing {
		fresh.standing[bot] = status
	}
	from := s.service(old, by, func(m *wireMessage) { m.MigrateToChatID = c.ID })
	to := s.service(fresh, by, func(m *wireMessage) {
		w := fresh.wire
		m.From, m.SenderChat = &groupAnonymousBot, &w
		m.MigrateFromChatID = group.ID
	})
	old.migrated = c.ID
	return c, []ActionResult{from, to}, nil
}

// service posts a service message. The caller holds the lock.
func (s *chats) service(r *room, by Person, set func(*wireMessage)) ActionResult {
	h := s.historyOf(r, 0)
	from := by.wire()
	h.last++
	m := &wireMessage{MessageID: h.last, From: &from, Chat: r.wire, Date: s.opts.Now().Unix()}
	set(m)
	h.add(m, 0, nil)
	return s.actionResult(m, s.publish(r, "message", m, 0))
}

// CreateTopic opens a topic in a forum; its id is the id of its first message.
// With o.Bot a topic of that bot's private chat.
func (s *chats) CreateTopic(c Chat, by Person, name, bot string) (thread int64, err error) {
	defer stage.Act(&s.mu, &err, "create topic in chat %d", c.ID)()
	a := s.account(bot)
	if a == nil || c.Kind != Forum && (c.Kind != Private || !a.bot.HasTopics) {
		panic(stage.Forbid("%w", errChat))
	}
	s.people[by.ID] = by
	r := s.open(c)
	h := s.historyOf(r, a.bot.ID)
	from := by.wire()
	h.last++
	m := &wireMessage{
		MessageID: h.last, MessageThreadID: h.last, IsTopicMessage: true, From: &from, Chat: r.wire,
		Date: s.opts.Now().Unix(), TopicCreated: &wireTopic{Name: name, IconColor: 7322096},
	}
	h.add(m, 0, nil)
	r.topics[m.MessageID] = &topic{name: name, root: m.MessageID}
	s.deliver(r, a, "message", m)
	return m.MessageID, nil
}

// DeleteTopic removes a topic; sending to it is then refused.
func (s *chats) DeleteTopic(c Chat, thread int64) error {
	return s.setTopic(c, thread, func(t *topic) { t.deleted = true })
}

// CloseTopic lets only administrators write into a topic.
func (s *chats) CloseTopic(c Chat, thread int64, closed bool) error {
	return s.setTopic(c, thread, func(t *topic) { t.closed = closed })
}

func (s *chats) setTopic(c Chat, thread int64, set func(*topic)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rooms[c.ID]
	if r == nil || r.topics[thread] == nil {
		return fmt.Errorf("topic %d of chat %d: %w", thread, c.ID, errNoTopic)
	}
	set(r.topics[thread])
	return nil
}
