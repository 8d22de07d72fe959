package telegram

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
)

// target finds the chat of a call and checks that the bot may act there. The
// caller holds the lock.
func (s *Server) target(c *call) (*room, *refusal) {
	raw := c.args["chat_id"]
	if raw == "" {
		return nil, badRequest("chat_id is empty")
	}
	var r *room
	if id, err := strconv.ParseInt(raw, 10, 64); err == nil {
		r = s.rooms[id]
	} else if strings.HasPrefix(raw, "@") {
		for _, candidate := range s.rooms {
			if candidate.chat.Kind != Private && candidate.chat.Username != "" && fold(candidate.chat.Username) == fold(raw[1:]) {
				r = candidate
			}
		}
	}
	if r == nil || r.chat.Kind == Private && r.histories[c.account.bot.ID] == nil {
		return nil, badRequest("chat not found")
	}
	c.chat = r.chat.ID
	refused := r.checkPresent(c.account.bot.ID)
	if refused == nil && r.standing[c.account.bot.ID] == "restricted" {
		switch c.method {
		case "sendMessage":
			refused = badRequest("not enough rights to send text messages to the chat")
		case "sendDocument":
			refused = badRequest("not enough rights to send documents to the chat")
		case "sendPhoto":
			refused = badRequest("not enough rights to send photos to the chat")
		}
	}
	return r, refused
}

// topicOf checks message_thread_id. The General topic is addressed by leaving
// it out; only chat actions may name it as 1.
func topicOf(r *room, a *account, c *call, action bool) (int64, *refusal) {
	id := c.args.number("message_thread_id")
	switch {
	case id == 0 || action && id == 1 && r.chat.Kind == Forum:
		return 0, nil
	case r.chat.Kind != Forum && (r.chat.Kind != Private || !a.bot.HasTopics):
		return 0, badRequest("message thread not found")
	}
	t := r.topics[id]
	switch {
	case t == nil || t.deleted:
		return 0, badRequest("message thread not found")
	case t.closed && r.standing[a.bot.ID] != "administrator":
		return 0, badRequest("TOPIC_CLOSED")
	}
	return id, nil
}

type replyParameters struct {
	MessageID                int64  `json:"message_id"`
	ChatID                   any    `json:"chat_id"`
	AllowSendingWithoutReply bool   `json:"allow_sending_without_reply"`
	Quote                    string `json:"quote"`
}

// replyOf finds what a message answers. A message of another topic than the
// named one cannot be answered, whatever allow_sending_without_reply says.
func replyOf(h *history, thread int64, c *call) (*wireMessage, *wireQuote, *refusal) {
	var rp replyParameters
	if raw := c.args["reply_parameters"]; raw != "" {
		if err := json.Unmarshal([]byte(raw), &rp); err != nil {
			return nil, nil, badRequest("can't parse reply parameters JSON object")
		}
	} else {
		rp.MessageID = c.args.number("reply_to_message_id")
		rp.AllowSendingWithoutReply = c.args.bool("allow_sending_without_reply")
	}
	if rp.MessageID == 0 {
		return nil, nil, nil
	}
	st := h.messages[rp.MessageID]
	switch {
	case st == nil && (rp.AllowSendingWithoutReply || h.isForgotten(rp.MessageID)):
		return nil, nil, nil
	case st == nil, thread != 0 && st.message.MessageThreadID != thread:
		return nil, nil, badRequest("message to be replied not found")
	case rp.Quote == "":
		return st.message, nil, nil
	}
	i := strings.Index(st.message.Text+st.message.Caption, rp.Quote)
	if i < 0 || utf16Len(rp.Quote) > 1024 {
		return nil, nil, badRequest("QUOTE_TEXT_INVALID")
	}
	return st.message, &wireQuote{Text: rp.Quote, Position: utf16Len((st.message.Text + st.message.Caption)[:i]), IsManual: true}, nil
}

type inlineKeyboard struct {
	Rows [][]struct {
		Text         string  `json:"text"`
		CallbackData *string `json:"callback_data"`
	} `json:"inline_keyboard"`
}

// markupOf checks reply_markup and returns what the message shows of it.
func markupOf(c *call) (json.RawMessage, *refusal) {
	raw := c.args["reply_markup"]
	if raw == "" {
		return nil, nil
	}
	var k inlineKeyboard
	if err := json.Unmarshal([]byte(raw), &k); err != nil {
		return nil, badRequest("can't parse reply keyboard markup JSON object")
	}
	if len(k.Rows) == 0 {
		return nil, nil
	}
	for _, row := range k.Rows {
		for _, b := range row {
			if b.Text == "" {
				return nil, badRequest("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
			}
			if b.CallbackData != nil && (*b.CallbackData == "" || len(*b.CallbackData) > 64) {
				return nil, badRequest("BUTTON_DATA_INVALID")
			}
		}
	}
	return json.RawMessage(raw), nil
}

func (s *Server) sendMessage(_ context.Context, c *call) (any, *refusal) {
	said, refused := format(c.args)
	if refused != nil {
		return nil, refused
	}
	markup, refused := markupOf(c)
	if refused != nil {
		return nil, refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.target(c)
	switch {
	case refused != nil:
		return nil, refused
	case said.text == "":
		return nil, badRequest("message text is empty")
	case utf16Len(said.text) > maxText:
		return nil, badRequest("message is too long")
	}
	return s.placeAndPost(c, r, &wireMessage{Text: said.text, Entities: said.entities, ReplyMarkup: markup}, nil)
}

// placeAndPost finds the place of a bot's message in its chat and posts it there. The caller
// holds the lock.
func (s *Server) placeAndPost(c *call, r *room, m *wireMessage, d *DocumentEntry) (any, *refusal) {
	thread, refused := topicOf(r, c.account, c, false)
	if refused != nil {
		return nil, refused
	}
	h := s.historyOf(r, c.account.bot.ID)
	reply, quote, refused := replyOf(h, thread, c)
	if refused != nil {
		return nil, refused
	}
	if reply != nil && reply.IsTopicMessage {
		thread = reply.MessageThreadID // an answer goes where the question stands
		if t := r.topics[thread]; t != nil && t.closed && r.standing[c.account.bot.ID] != "administrator" {
			return nil, badRequest("TOPIC_CLOSED")
		}
	}
	if refused := s.checkRate(c, r.chat.ID, r.chat.Kind); refused != nil {
		return nil, refused
	}
	m.MessageThreadID, m.IsTopicMessage, m.ReplyTo, m.Quote = thread, thread != 0, reply, quote
	return s.post(c, r, h, m, d), nil
}

// post puts a bot's message into the chat and the books.
func (s *Server) post(c *call, r *room, h *history, m *wireMessage, d *DocumentEntry) *wireMessage {
	now := s.opts.Now()
	text, entities := m.Text, m.Entities
	if d != nil {
		text, entities = m.Caption, m.CaptionEntities
	}
	h.last++
	m.MessageID, m.Date, m.Chat, m.From = h.last, now.Unix(), r.wire, &c.account.self
	e := MessageEntry{
		Bot: c.account.bot.Username, ChatID: r.chat.ID, MessageID: m.MessageID, ThreadID: m.MessageThreadID,
		Document: d,
		Versions: []Version{{Text: text, Entities: entities, Markup: string(m.ReplyMarkup), At: now, Client: c.client}},
	}
	if m.ReplyTo != nil {
		e.ReplyTo = m.ReplyTo.MessageID
		m.ReplyTo = withoutReply(m.ReplyTo)
	}
	c.message = s.books.messages.Add(e)
	s.books.totals.Sent++
	h.add(m, c.account.bot.ID, c.message)
	s.show(Happening{
		Kind: "sent", Bot: e.Bot, ChatID: e.ChatID, ThreadID: e.ThreadID, MessageID: e.MessageID,
		ReplyTo: e.ReplyTo, Text: text, Entities: entities, Document: d, At: now,
	})
	if r.chat.Kind != Private {
		s.publish(r, "message", m, c.account.bot.ID)
	}
	s.books.Notify()
	return m
}
