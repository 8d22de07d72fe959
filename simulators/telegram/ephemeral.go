package telegram

import (
	"encoding/json"
	"fmt"
	"time"

	"parley/simulators/internal/stage"
)

// Ephemeral messages are seen by one person of a group (Bot API 10.3, "Ephemeral messages and
// commands"): a bot that is an administrator may send one to any member at any time, another one for
// 15 seconds after a button was pressed, to who pressed it. Their message_id is 0.

// ephemeralWindow is how long a bot that is no administrator may answer what a person did.
const ephemeralWindow = 15 * time.Second

// ephemeralParameters name the only person who sees a message.
type ephemeralParameters struct {
	Receiver int64  `json:"receiver_user_id"`
	Query    string `json:"callback_query_id"`
}

// receiverOf returns who alone is to see a message; 0: everybody. The caller holds the lock.
func (c *call) receiverOf(r *room) int64 {
	raw := c.args["ephemeral_message_parameters"]
	if raw == "" || c.opts.NoEphemeral {
		return 0 // an older server does not know the parameter, and passes it over
	}
	var p ephemeralParameters
	if err := json.Unmarshal([]byte(raw), &p); err != nil || p.Receiver == 0 {
		panic(badRequest("can't parse ephemeral message parameters JSON object"))
	}
	switch {
	case r.chat.Kind == Private || r.chat.Kind == Channel:
		panic(badRequest("ephemeral messages can be sent only to groups and supergroups"))
	case r.standing[c.account.bot.ID] == "administrator":
	case p.Query == "" || c.opts.Now().Sub(c.pressed[p.Query]) > ephemeralWindow:
		panic(badRequest("not enough rights to send ephemeral messages to the chat"))
	}
	if _, known := c.people[p.Receiver]; !known {
		panic(badRequest("USER_NOT_PARTICIPANT"))
	}
	return p.Receiver
}

// whisper posts a message that one person sees. The caller holds the lock.
func (c *call) whisper(r *room, to int64, m *wireMessage) *wireMessage {
	m.MessageThreadID = topicOf(r, c.account, c, false)
	m.IsTopicMessage = m.MessageThreadID != 0
	c.checkRate(r.chat.ID, r.chat.Kind)
	now, receiver := c.opts.Now(), c.people[to].wire()
	m.EphemeralID, m.Receiver = c.id(), &receiver
	m.Date, m.Chat, m.From = now.Unix(), r.wire, &c.account.self
	e := c.books.messages.Add(MessageEntry{
		Bot: c.account.bot.Username, ChatID: r.chat.ID, ThreadID: m.MessageThreadID, EphemeralID: m.EphemeralID, Receiver: to,
		Versions: []Version{{Text: m.Text, Entities: m.Entities, Markup: string(m.ReplyMarkup), At: now, Client: c.client}},
	})
	c.message = e
	c.books.totals.Sent++
	r.whispers[m.EphemeralID] = &storedMessage{message: m, author: c.account.bot.ID, entry: e}
	c.show(e.happening("sent", now))
	c.books.Notify()
	return m
}

// editEphemeralMessageText changes a message that one person sees. That they see the change is not
// promised.
func (c *call) editEphemeralMessageText() any {
	said, markup := format(c.args), markupOf(c)
	r := c.target()
	st := r.whispers[c.args.number("ephemeral_message_id")]
	switch {
	case st == nil || st.author != c.account.bot.ID || st.message.Receiver.ID != c.args.number("receiver_user_id"):
		panic(badRequest("message to edit not found"))
	case said.text == "":
		panic(badRequest("message text is empty"))
	case utf16Len(said.text) > maxText:
		panic(badRequest("MESSAGE_TOO_LONG"))
	}
	c.change(r, st, said, markup)
	return true
}

// PressEphemeral lets p press a button with data under a message that they alone see.
func (s *chats) PressEphemeral(p Person, chatID, ephemeralID int64, data string) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "press button")()
	r := s.rooms[chatID]
	if r == nil || r.whispers[ephemeralID] == nil || r.whispers[ephemeralID].message.Receiver.ID != p.ID {
		return said, fmt.Errorf("person %d sees no message %d in chat %d", p.ID, ephemeralID, chatID)
	}
	st := r.whispers[ephemeralID]
	q := wireCallback{ID: s.query(p), From: p.wire(), Message: st.message, ChatInstance: fmt.Sprint(chatID), Data: data}
	e := entryOf(st.message)
	e.FromID, e.Text = p.ID, data
	for _, a := range s.accounts {
		if a.bot.ID == st.author {
			return s.actionResult(st.message, s.put(a, "callback_query", q, e)), nil
		}
	}
	return said, fmt.Errorf("the bot that sent message %d to chat %d is not known any more", ephemeralID, chatID)
}

// query returns the id of a press, which may be answered from now on. The caller holds the lock.
func (s *chats) query(p Person) string {
	id := fmt.Sprintf("%d%09d", p.ID, s.id())
	s.queries[id], s.pressed[id] = true, s.opts.Now()
	return id
}
