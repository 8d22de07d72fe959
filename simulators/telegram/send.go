package telegram

import (
	"encoding/json"
	"strconv"
	"strings"
)

// sendings are what a restricted bot has no right to send, by the method that does.
var sendings = map[string]string{"sendMessage": "text messages", "sendDocument": "documents", "sendPhoto": "photos"}

// target finds the chat of a call and checks that the bot may act there. The
// caller holds the lock.
func (c *call) target() *room {
	raw := c.args["chat_id"]
	if raw == "" {
		panic(badRequest("chat_id is empty"))
	}
	var r *room
	if id, err := strconv.ParseInt(raw, 10, 64); err == nil {
		r = c.rooms[id]
	} else if strings.HasPrefix(raw, "@") {
		for _, candidate := range c.rooms {
			if candidate.chat.Kind != Private && candidate.chat.Username != "" && fold(candidate.chat.Username) == fold(raw[1:]) {
				r = candidate
			}
		}
	}
	if r == nil || r.chat.Kind == Private && r.histories[c.account.bot.ID] == nil {
		panic(badRequest("chat not found"))
	}
	c.chat = r.chat.ID
	r.checkPresent(c.account.bot.ID)
	if what := sendings[c.method]; what != "" && r.standing[c.account.bot.ID] == "restricted" {
		panic(badRequest("not enough rights to send %s to the chat", what))
	}
	return r
}

// topicOf checks message_thread_id. The General topic is addressed by leaving
// it out; only chat actions may name it as 1.
func topicOf(r *room, a *account, c *call, action bool) int64 {
	id := c.args.number("message_thread_id")
	switch {
	case id == 0 || action && id == 1 && r.chat.Kind == Forum:
		return 0
	case r.chat.Kind != Forum && (r.chat.Kind != Private || !a.bot.HasTopics):
		panic(badRequest("message thread not found"))
	}
	t := r.topics[id]
	switch {
	case t == nil || t.deleted:
		panic(badRequest("message thread not found"))
	case t.closed && r.standing[a.bot.ID] != "administrator":
		panic(badRequest("TOPIC_CLOSED"))
	}
	return id
}

type replyParameters struct {
	MessageID                int64  `json:"message_id"`
	ChatID                   any    `json:"chat_id"`
	AllowSendingWithoutReply bool   `json:"allow_sending_without_reply"`
	Quote                    string `json:"quote"`
}

// replyOf finds what a message answers. A message of another topic than the
// named one cannot be answered, whatever allow_sending_without_reply says.
func replyOf(h *history, thread int64, c *call) (*wireMessage, *wireQuote) {
	var rp replyParameters
	if raw := c.args["reply_parameters"]; raw != "" {
		if err := json.Unmarshal([]byte(raw), &rp); err != nil {
			panic(badRequest("can't parse reply parameters JSON object"))
		}
	} else {
		rp.MessageID = c.args.number("reply_to_message_id")
		rp.AllowSendingWithoutReply = c.args.bool("allow_sending_without_reply")
	}
	if rp.MessageID == 0 {
		return nil, nil
	}
	st := h.messages[rp.MessageID]
	switch {
	case st == nil && (rp.AllowSendingWithoutReply || h.isForgotten(rp.MessageID)):
		return nil, nil
	case st == nil, thread != 0 && st.message.MessageThreadID != thread:
		panic(badRequest("message to be replied not found"))
	case rp.Quote == "":
		return st.message, nil
	}
	i := strings.Index(st.message.Text+st.message.Caption, rp.Quote)
	if i < 0 || utf16Len(rp.Quote) > 1024 {
		panic(badRequest("QUOTE_TEXT_INVALID"))
	}
	return st.message, &wireQuote{Text: rp.Quote, Position: utf16Len((st.message.Text + st.message.Caption)[:i]), IsManual: true}
}

type inlineKeyboard struct {
	Rows [][]struct {
		Text         string  `json:"text"`
		CallbackData *string `json:"callback_data"`
	} `json:"inline_keyboard"`
}

// markupOf checks reply_markup and returns what the message shows of it.
func markupOf(c *call) json.RawMessage {
	raw := c.args["reply_markup"]
	if raw == "" {
		return nil
	}
	var k inlineKeyboard
	if err := json.Unmarshal([]byte(raw), &k); err != nil {
		panic(badRequest("can't parse reply keyboard markup JSON object"))
	}
	if len(k.Rows) == 0 {
		return nil
	}
	for _, row := range k.Rows {
		for _, b := range row {
			if b.Text == "" {
				panic(badRequest("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"))
			}
			if b.CallbackData != nil && (*b.CallbackData == "" || len(*b.CallbackData) > 64) {
				panic(badRequest("BUTTON_DATA_INVALID"))
			}
		}
	}
	return json.RawMessage(raw)
}

func (c *call) sendMessage() any {
	said := format(c.args)
	markup := markupOf(c)
	r := c.target()
	switch {
	case said.text == "":
		panic(badRequest("message text is empty"))
	case utf16Len(said.text) > maxText:
		panic(badRequest("message is too long"))
	}
	m := &wireMessage{Text: said.text, Entities: said.entities, ReplyMarkup: markup}
	if to := c.receiverOf(r); to != 0 {
		return c.whisper(r, to, m)
	}
	return c.placeAndPost(r, m, nil)
}

// placeAndPost finds the place of a bot's message in its chat and posts it there. The caller
// holds the lock.
func (c *call) placeAndPost(r *room, m *wireMessage, d *DocumentEntry) any {
	thread := topicOf(r, c.account, c, false)
	h := c.historyOf(r, c.account.bot.ID)
	reply, quote := replyOf(h, thread, c)
	if reply != nil && reply.IsTopicMessage {
		thread = reply.MessageThreadID // an answer goes where the question stands
		if t := r.topics[thread]; t != nil && t.closed && r.standing[c.account.bot.ID] != "administrator" {
			panic(badRequest("TOPIC_CLOSED"))
		}
	}
	c.checkRate(r.chat.ID, r.chat.Kind)
	m.MessageThreadID, m.IsTopicMessage, m.ReplyTo, m.Quote = thread, thread != 0, reply, quote
	return c.post(r, h, m, d)
}

// post puts a bot's message into the chat and the books.
func (c *call) post(r *room, h *history, m *wireMessage, d *DocumentEntry) *wireMessage {
	now := c.opts.Now()
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
	c.message = c.books.messages.Add(e)
	c.books.totals.Sent++
	h.add(m, c.account.bot.ID, c.message)
	c.show(c.message.happening("sent", now))
	if r.chat.Kind != Private {
		c.publish(r, "message", m, c.account.bot.ID)
	}
	c.books.Notify()
	return m
}
