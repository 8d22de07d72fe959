package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
)

// ownMessage finds the message that a bot wants to change.
func (s *Server) ownMessage(c *call, what string) (*room, *storedMessage, *refusal) {
	r, refused := s.target(c)
	if refused != nil {
		return nil, nil, refused
	}
	h := s.historyOf(r, c.account.bot.ID)
	id := c.args.number("message_id")
	st := h.messages[id]
	switch {
	case st == nil && h.isForgotten(id):
		return nil, nil, badRequest("message can't be %sed", what)
	case st == nil:
		return nil, nil, badRequest("message to %s not found", what)
	}
	return r, st, nil
}

func (s *Server) editMessageText(_ context.Context, c *call) (any, *refusal) {
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
	r, st, refused := s.ownMessage(c, "edit")
	switch {
	case refused != nil:
		return nil, refused
	case said.text == "":
		return nil, badRequest("message text is empty")
	case utf16Len(said.text) > maxText:
		return nil, badRequest("MESSAGE_TOO_LONG")
	}
	return s.change(c, r, st, said, markup)
}

// change makes a new version of a bot's message.
func (s *Server) change(c *call, r *room, st *storedMessage, said formattedText, markup json.RawMessage) (any, *refusal) {
	if st.author != c.account.bot.ID {
		return nil, badRequest("message can't be edited")
	}
	old := st.message
	if old.Document != nil || old.Photo != nil {
		return nil, badRequest("there is no text in the message to edit")
	}
	if old.Text == said.text && sameEntities(old.Entities, said.entities) && bytes.Equal(old.ReplyMarkup, markup) {
		return nil, badRequest(textUnmodified)
	}
	if refused := s.checkRate(c, r.chat.ID, r.chat.Kind); refused != nil {
		return nil, refused
	}
	now := s.opts.Now()
	m := *old
	m.Text, m.Entities, m.ReplyMarkup, m.EditDate = said.text, said.entities, markup, now.Unix()
	st.message = &m
	st.entry.Versions = append(st.entry.Versions, Version{Text: m.Text, Entities: m.Entities, Markup: string(markup), At: now, Client: c.client})
	c.message = st.entry
	s.books.totals.Edited++
	s.show(Happening{
		Kind: "edited", Bot: c.account.bot.Username, ChatID: r.chat.ID, ThreadID: m.MessageThreadID,
		MessageID: m.MessageID, ReplyTo: st.entry.ReplyTo, Text: m.Text, Entities: m.Entities, At: now,
	})
	s.books.Notify()
	return &m, nil
}

func sameEntities(a, b []Entity) bool {
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}

func (s *Server) deleteMessage(_ context.Context, c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, st, refused := s.ownMessage(c, "delete")
	if refused != nil {
		return nil, refused
	}
	admin := r.standing[c.account.bot.ID] == "administrator"
	if st.author != c.account.bot.ID && r.chat.Kind != Private && !admin {
		return nil, badRequest("message can't be deleted")
	}
	now := s.opts.Now()
	delete(s.historyOf(r, c.account.bot.ID).messages, st.message.MessageID)
	if st.entry != nil {
		st.entry.Deleted = now
	}
	s.books.totals.Deleted++
	s.show(Happening{
		Kind: "deleted", Bot: c.account.bot.Username, ChatID: r.chat.ID,
		ThreadID: st.message.MessageThreadID, MessageID: st.message.MessageID, At: now,
	})
	s.books.Notify()
	return true, nil
}
