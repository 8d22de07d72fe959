package telegram

import (
	"encoding/json"
	"strconv"

	"parley/channels"
	"parley/channels/internal/markup"
)

// fillReply fills ReplyTo and says whether the message answers one of ours. In a
// topic every message "answers" the one that opened the topic; that is none.
func (r *receiver) fillReply(m *channels.Message, t *message) (ours bool) {
	q, ok := r.replyTarget(t)
	if !ok {
		return false
	}
	if t.Quote != nil && t.Quote.Text != "" {
		q.Text, q.IsExcerpt = t.Quote.Text, t.Quote.Chosen
	}
	m.ReplyTo = &q
	return q.FromBot && q.MessageID != ""
}

// replyTarget returns the message that t answers, in this chat or another.
func (r *receiver) replyTarget(t *message) (channels.Quote, bool) {
	var x externalReply
	if len(t.External) > 0 && json.Unmarshal(t.External, &x) == nil && t.Quote != nil {
		author, ours := r.author(x.Origin)
		return channels.Quote{Author: author, FromBot: ours}, true
	}
	var q message
	if len(t.ReplyTo) == 0 || json.Unmarshal(t.ReplyTo, &q) != nil || q.MessageID == 0 {
		return channels.Quote{}, false
	}
	if t.IsTopic && q.MessageID == t.ThreadID {
		return channels.Quote{}, false
	}
	text := q.Text
	if text == "" {
		text = q.Caption
	}
	if text == "" {
		text = describe(t.ReplyTo)
	}
	said := channels.Quote{
		MessageID: strconv.FormatInt(q.MessageID, 10), Text: text, Author: sender(&q), FromBot: q.From != nil && q.From.ID == r.me.ID,
	}
	if q.Origin != nil { // whoever passed it on did not write it
		said.Author, _ = r.author(q.Origin)
	}
	return said, true
}

// forwarded is text that was first written at o.
func (r *receiver) forwarded(o *origin, text string) []channels.Quote {
	author, ours := r.author(o)
	return []channels.Quote{{Text: text, Author: author, FromBot: ours}}
}

// author returns who wrote what was first written at o. Whose name alone is shown may be
// anybody.
func (r *receiver) author(o *origin) (s channels.Sender, ours bool) {
	switch {
	case o == nil:
	case o.User != nil && o.User.ID != 0:
		return sender(&message{From: o.User}), o.User.ID == r.me.ID
	case o.Sender != nil:
		return sender(&message{SenderChat: o.Sender}), false
	case o.Chat != nil:
		return sender(&message{SenderChat: o.Chat}), false
	default:
		s = channels.Sender{Name: markup.Name(o.Name, o.Signature), Anonymous: true}
	}
	return s, false
}
