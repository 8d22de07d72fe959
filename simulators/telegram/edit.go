package telegram

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// ownMessage finds the message that a bot wants to change.
func (c *call) ownMessage(what string) (*room, *storedMessage) {
	r := c.target()
	h := c.historyOf(r, c.account.bot.ID)
	id := c.args.number("message_id")
	st := h.messages[id]
	switch {
	case st == nil && h.isForgotten(id):
		panic(badRequest("message can't be %sed", what))
	case st == nil:
		panic(badRequest("message to %s not found", what))
	}
	return r, st
}

func (c *call) editMessageText() any {
	said := format(c.args)
	markup := markupOf(c)
	r, st := c.ownMessage("edit")
	switch {
	case said.text == "":
		panic(badRequest("message text is empty"))
	case utf16Len(said.text) > maxText:
		panic(badRequest("MESSAGE_TOO_LONG"))
	}
	return c.change(r, st, said, markup)
}

// change makes a new version of a bot's message.
func (c *call) change(r *room, st *storedMessage, said formattedText, markup json.RawMessage) any {
	if st.author != c.account.bot.ID {
		panic(badRequest("message can't be edited"))
	}
	old := st.message
	if old.Document != nil || old.Photo != nil {
		panic(badRequest("there is no text in the message to edit"))
	}
	if old.Text == said.text && sameEntities(old.Entities, said.entities) && bytes.Equal(old.ReplyMarkup, markup) {
		panic(badRequest(textUnmodified))
	}
	c.checkRate(r.chat.ID, r.chat.Kind)
	now := c.opts.Now()
	m := *old
	m.Text, m.Entities, m.ReplyMarkup, m.EditDate = said.text, said.entities, markup, now.Unix()
	st.message = &m
	st.entry.Versions = append(st.entry.Versions, Version{Text: m.Text, Entities: m.Entities, Markup: string(markup), At: now, Client: c.client})
	c.message = st.entry
	c.books.totals.Edited++
	c.show(st.entry.happening("edited", now))
	c.books.Notify()
	return &m
}

func sameEntities(a, b []Entity) bool {
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}

func (c *call) deleteMessage() any {
	r, st := c.ownMessage("delete")
	admin := r.standing[c.account.bot.ID] == "administrator"
	if st.author != c.account.bot.ID && r.chat.Kind != Private && !admin {
		panic(badRequest("message can't be deleted"))
	}
	now := c.opts.Now()
	delete(c.historyOf(r, c.account.bot.ID).messages, st.message.MessageID)
	if st.entry != nil {
		st.entry.Deleted = now
	}
	c.books.totals.Deleted++
	c.show(Happening{
		Kind: "deleted", Bot: c.account.bot.Username, ChatID: r.chat.ID,
		ThreadID: st.message.MessageThreadID, MessageID: st.message.MessageID, At: now,
	})
	c.books.Notify()
	return true
}
