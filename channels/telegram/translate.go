package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/sessionkeys"
)

// Telegram's own accounts, which stand where a person is not known.
const (
	anonymousAdmin = 1087968824 // GroupAnonymousBot
	channelAuthor  = 136817688  // Channel_Bot
	serviceAccount = 777000     // forwards from a linked channel
)

var (
	errNoID      = errors.New("the update has no usable id")
	errGarbled   = errors.New("update from Telegram is not JSON, or too long")
	errNoChat    = errors.New("the update names no chat")
	errNoMessage = errors.New("the update names no message")
)

// translate gives the event in a raw update and, for a pressed button, how
// the press is answered. It never fails: what cannot be read becomes
// an Unreadable event.
func (r *receiver) translate(raw json.RawMessage, id int64, known bool) (channels.Message, press) {
	m := channels.Message{
		Event: eventID(raw, id, known), Kind: channels.Unhandled, Channel: r.o.Name, ReceivedAt: r.o.Now(),
	}
	p, err := r.fill(&m, raw, known)
	if err != nil {
		m = channels.Message{
			Event: m.Event, Kind: channels.Unreadable, Channel: m.Channel, ReceivedAt: m.ReceivedAt,
			Problem: markup.Brief(err.Error()), Raw: raw, Sender: senderOf(raw),
		}
	}
	return m, p
}

// senderOf returns who caused an update that cannot be read otherwise, as far as it
// says.
func senderOf(raw json.RawMessage) channels.Sender {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields) // what cannot be read stays empty
	var inner map[string]json.RawMessage
	_ = json.Unmarshal(fields[updateKind(fields)], &inner)
	var from struct {
		ID  int64 `json:"id"`
		Bot bool  `json:"is_bot"`
	}
	if json.Unmarshal(inner["from"], &from) != nil || from.ID == 0 {
		return channels.Sender{}
	}
	return channels.Sender{ID: strconv.FormatInt(from.ID, 10), Bot: from.Bot}
}

func (r *receiver) fill(m *channels.Message, raw json.RawMessage, known bool) (p press, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return p, err
	}
	if _, ok := fields["garbled"]; ok {
		return p, errGarbled
	}
	if !known {
		return p, errNoID
	}
	kind := updateKind(fields)
	switch kind {
	case "message", "edited_message":
		var t message
		if err := json.Unmarshal(fields[kind], &t); err != nil {
			return p, err
		}
		t.raw = fields[kind]
		return p, r.fillMessage(m, &t, kind == "edited_message")
	case "callback_query":
		var t callbackQuery
		if err := json.Unmarshal(fields[kind], &t); err != nil {
			return p, err
		}
		return pressOf(&t), r.fillButtonPress(m, &t)
	case "my_chat_member":
		var t memberUpdated
		if err := json.Unmarshal(fields[kind], &t); err != nil {
			return p, err
		}
		return p, r.fillMembership(m, &t)
	}
	m.Problem = markup.Brief("an update of kind " + strconv.Quote(kind))
	return p, nil
}

func (r *receiver) fillMessage(m *channels.Message, t *message, edited bool) error {
	if err := r.fillAddress(m, &t.Chat, t); err != nil {
		return err
	}
	if t.MessageID == 0 && t.EphemeralID == 0 {
		return errNoMessage
	}
	m.MessageID = idOf(t, t.From)
	m.SentAt = timeOf(max(t.Date, t.EditDate))
	m.Sender, m.Album = sender(t), t.Album
	switch {
	case t.MigrateTo != 0:
		m.Kind, m.MovedTo = channels.Migrated, strconv.FormatInt(t.MigrateTo, 10)
		return nil
	case t.MigrateFrom != 0:
		// The same move, told in the new group.
		m.Kind, m.MovedTo = channels.Migrated, m.Address.Peer
		m.Address.Peer, m.Address.Thread = strconv.FormatInt(t.MigrateFrom, 10), ""
		return nil
	case m.Address.Kind == sessionkeys.Channel:
		m.Problem = "a post in a channel"
		return nil
	case t.Chat.ToAChannel: // all who write share this chat, and one session would mix their conversations
		m.Problem = "a direct message to a channel"
		return nil
	case edited && isMoving(t.raw): // Telegram brings each movement so, for up to eight hours
		m.Problem = "a location that has moved"
		return nil
	}
	text, entities := t.Text, t.Entities
	if text == "" {
		text, entities = t.Caption, t.CaptionEntities
	}
	m.Attachments = attachments(t)
	if text == "" {
		text = describe(t.raw)
	}
	if text == "" && len(m.Attachments) == 0 {
		m.Problem = "a message without text or file"
		return nil
	}
	if t.Origin != nil { // nobody who passes a message on says what it says
		m.Forwarded, text, entities = r.forwarded(t.Origin, text), "", nil
	}
	a := resolveMentions(text, entities, r.me)
	m.Text = a.text
	toUs := r.fillReply(m, t)
	m.Mentioned = m.Address.Kind == sessionkeys.DM || a.mentioned || toUs && !a.foreign
	if a.foreign && !m.Mentioned {
		m.Problem = "a command for another bot"
		return nil
	}
	m.Kind = channels.Said
	if edited {
		m.Kind = channels.Edited
	}
	return nil
}

// fillAddress fills the address. Telegram Bot API: message_thread_id names a topic
// only when is_topic_message is set; elsewhere it numbers the replies to a
// message. A forum's other messages stand in its General topic, number 1.
func (r *receiver) fillAddress(m *channels.Message, c *chat, t *message) error {
	if c.ID == 0 {
		return errNoChat
	}
	m.Address = sessionkeys.Address{
		Channel: Network, Account: strconv.FormatInt(r.me.ID, 10),
		Kind: sessionkeys.Group, Peer: strconv.FormatInt(c.ID, 10),
	}
	topics := c.IsForum
	switch c.Type {
	case "private":
		m.Address.Kind, topics = sessionkeys.DM, r.me.HasTopics
	case "group", "supergroup":
	case "channel":
		m.Address.Kind, topics = sessionkeys.Channel, false
	default:
		return fmt.Errorf("the chat is of an unknown type %s", strconv.QuoteToASCII(markup.Brief(c.Type)))
	}
	switch {
	case topics && t != nil && t.IsTopic && t.ThreadID != 0:
		m.Address.Thread = strconv.FormatInt(t.ThreadID, 10)
	case topics && m.Address.Kind == sessionkeys.Group:
		m.Address.Thread = generalTopic
	}
	return nil
}

func (r *receiver) fillButtonPress(m *channels.Message, t *callbackQuery) error {
	if t.Message == nil {
		m.Problem = "a button on a message that is in no chat of ours"
		return nil
	}
	if err := r.fillAddress(m, &t.Message.Chat, t.Message); err != nil {
		return err
	}
	if t.From.ID == 0 {
		return errors.New("button press without a person")
	}
	m.Kind, m.Mentioned = channels.Pressed, true
	m.MessageID = idOf(t.Message, &t.From)
	m.Text = t.Data
	m.Sender = sender(&message{From: &t.From})
	return nil
}

func (r *receiver) fillMembership(m *channels.Message, t *memberUpdated) error {
	if err := r.fillAddress(m, &t.Chat, nil); err != nil {
		return err
	}
	m.Kind, m.Mentioned = channels.Membership, m.Address.Kind == sessionkeys.DM
	m.Text, m.Closed = t.New.Status, t.New.isClosed()
	m.SentAt = timeOf(t.Date)
	m.Sender = sender(&message{From: &t.From})
	return nil
}

// sender returns who is behind a message. Where Telegram hides the person, the id
// is that of the chat or account that stands in, and Anonymous says so.
func sender(t *message) channels.Sender {
	s := channels.Sender{Anonymous: true}
	if u := t.From; u != nil && u.ID != 0 {
		s = channels.Sender{
			ID: strconv.FormatInt(u.ID, 10), Name: markup.Name(u.FirstName+" "+u.LastName, u.Username), Bot: u.IsBot,
			Anonymous: u.ID == anonymousAdmin || u.ID == channelAuthor || u.ID == serviceAccount,
		}
	}
	if c := t.SenderChat; c != nil {
		s.ID, s.Name, s.Anonymous = strconv.FormatInt(c.ID, 10), markup.Name(c.Title, ""), true
	}
	s.Anonymous = s.Anonymous || t.Forwarded
	return s
}

func timeOf(unix int64) time.Time {
	if unix <= 0 || unix > 1<<40 {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}

// longestSound is a month, in seconds: no duration is longer.
const longestSound = 30 * 24 * 3600

// attachments lists the files of a message; of a photo's sizes the last, which
// is the largest.
func attachments(t *message) []channels.Attachment {
	var out []channels.Attachment
	add := func(kind string, f *file) {
		if f != nil && f.FileID != "" {
			out = append(out, channels.Attachment{
				Kind: kind, Name: markup.Name(f.FileName, ""), MIME: f.MimeType, Size: max(0, f.FileSize), Ref: f.FileID,
				Millis: 1000 * min(max(0, f.Duration), longestSound),
			})
		}
	}
	if n := len(t.Photo); n > 0 {
		add("photo", &t.Photo[n-1])
	}
	if t.Animation != nil {
		add("animation", t.Animation) // it comes as a document too
	} else {
		add("document", t.Document)
	}
	add("audio", t.Audio)
	add("video", t.Video)
	add("video_note", t.VideoNote)
	add(channels.Voice, t.Voice)
	add("sticker", t.Sticker)
	return out
}
