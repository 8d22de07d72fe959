package signal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/sessionkeys"
)

var (
	errNoEnvelope = errors.New("the event has no envelope")
	errNoSender   = errors.New("the event names no sender")
	errNoTime     = errors.New("the event has no timestamp")
	errGroupID    = errors.New("the id of the group is none of Signal's")
	errBinary     = errors.New("output of signal-cli is not JSON, or cut off")
	errTooLong    = errors.New("the event is longer than one may be")
)

// event is a line of signal-cli, as offered, with what is known of people by now.
type event struct {
	message channels.Message
	// raw and problem are what it was made of; aci and number are how raw names the
	// sender.
	raw         []byte
	problem     error
	aci, number string
	// skipReason: it is nobody's doing, or our own, and is not offered.
	skipReason string
	// longText is the file that holds the whole text, of which message has the
	// beginning.
	longText     string
	mentions     []mention // of longText
	description  string    // what the message has beside its text
	receipt      bool      // it can be confirmed as read
	groupChanged bool      // a group changed: perhaps it was an invitation
	files        []string  // all that it names and signal-cli has stored
}

// translate gives the event in a line. It never fails: what cannot be read
// becomes an Unreadable event.
func (r *receiver) translate(raw []byte, problem error) event {
	e := event{message: channels.Message{Kind: channels.Unhandled, Channel: r.o.Name, ReceivedAt: r.o.Now()}, raw: raw, problem: problem}
	err := problem
	if err == nil {
		e.files = referencedFiles(raw)
		err = r.fill(&e, raw)
	}
	if err != nil {
		id := e.message.Event
		if id == "" {
			id = hashID(raw)
		}
		return event{files: e.files, message: channels.Message{
			Event: id, Kind: channels.Unreadable, Channel: r.o.Name, ReceivedAt: e.message.ReceivedAt, Sender: r.senderOf(raw),
			Problem: markup.Brief(err.Error()), Raw: asJSON(raw),
		}}
	}
	return e
}

// senderOf returns who sent what cannot be read otherwise, as far as its envelope
// says.
func (r *receiver) senderOf(raw []byte) channels.Sender {
	var t struct {
		Envelope struct {
			Source string `json:"source"`
			Number string `json:"sourceNumber"`
			UUID   string `json:"sourceUuid"`
		} `json:"envelope"`
	}
	_ = json.Unmarshal(raw, &t) // what cannot be read stays empty
	v := t.Envelope
	aci, number := strings.ToLower(cmp.Or(aciOf(v.UUID), aciOf(v.Source))), cmp.Or(numberOf(v.Number), numberOf(v.Source))
	if aci == "" && number == "" {
		return channels.Sender{}
	}
	id, alias := r.people.resolve(aci, number)
	return channels.Sender{ID: id, Alias: alias}
}

func (r *receiver) fill(e *event, raw []byte) error {
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return errBinary
	}
	var t journalEntry
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("read the event: %w", err)
	}
	v := t.Envelope
	if v == nil {
		if t.Exception != nil {
			return r.reportException(&t)
		}
		return errNoEnvelope
	}
	aci, number := strings.ToLower(cmp.Or(aciOf(v.SourceUUID), aciOf(v.Source))), cmp.Or(numberOf(v.SourceNumber), numberOf(v.Source))
	// The event is named by what the line says and by nothing that is known beside
	// it, so that it has the same name when it is read again by who knows more.
	source := cmp.Or(aci, number)
	if t.Exception != nil {
		if source != "" && v.Timestamp > 0 {
			e.message.Event = eventID(source, v.SourceDevice, v.Timestamp, "exception")
		}
		return r.reportException(&t)
	}
	if r.o.NoteToSelf {
		note, ok := r.extractNote(v)
		if !ok {
			e.skipReason = "no note to oneself"
			return nil
		}
		v = &note
	} else if reason := r.skipReason(v, aci, number); reason != "" {
		e.skipReason = reason
		return nil
	}
	data, kind, target := v.Data, "message", int64(0)
	if v.Edit != nil {
		data, kind, target = v.Edit.Data, "edit", v.Edit.Target
	}
	if data == nil {
		e.skipReason = "an event without a message"
		return nil
	}
	at := cmp.Or(data.Timestamp, v.Timestamp)
	switch {
	case source == "":
		return errNoSender
	case at <= 0 || kind == "edit" && target <= 0:
		return errNoTime
	}
	r.people.note(aci, number)
	e.aci, e.number = aci, number
	id, alias := r.people.resolve(aci, number)
	m := &e.message
	m.Event = eventID(source, v.SourceDevice, at, kind)
	m.Sender = channels.Sender{ID: id, Name: markup.Name(v.SourceName), Alias: alias}
	m.SentAt = timeOf(at)
	m.Address = sessionkeys.Address{Channel: Network, Account: r.o.Account, Kind: sessionkeys.DM, Peer: id}
	if g := data.Group; g != nil {
		if CheckGroup(g.ID) != nil {
			return errGroupID
		}
		m.Address.Kind, m.Address.Peer = sessionkeys.Group, g.ID
	}
	m.MessageID = messageID(at, id)
	if kind == "edit" {
		m.MessageID = r.messages.noteEdit(messageID(at, id), messageID(target, id))
	}
	r.fillContents(e, data)
	if m.Kind == channels.Said && kind == "edit" {
		m.Kind = channels.Edited
	}
	return nil
}

// skipReason returns why an event is no message to the bot; "" if it is one.
func (r *receiver) skipReason(v *envelope, aci, number string) string {
	switch {
	case hasKey(v.Sync):
		return "what another device of the account did"
	case r.me.matches(aci, number):
		return "what the account itself wrote"
	case hasValue(v.Receipt):
		return "a receipt"
	case hasValue(v.Typing):
		return "a sign of typing"
	case hasValue(v.Story):
		return "a story"
	case hasValue(v.Call):
		return "a call"
	}
	return ""
}

// reportException tells the operator of what signal-cli could not read.
func (r *receiver) reportException(t *journalEntry) error {
	x := t.Exception
	who := "somebody"
	if t.Envelope != nil {
		who = cmp.Or(t.Envelope.SourceUUID, t.Envelope.Source, who)
	}
	log := r.o.Log.With("person", markup.Brief(who), "type", markup.Brief(x.Type), "problem", markup.Brief(x.Message))
	if strings.Contains(x.Type, "UntrustedIdentity") {
		log.Error("message held back by signal-cli: the sender's identity key changed; verify the safety number and run parley signal trust, then the message arrives")
	} else {
		log.Error("message not decrypted by signal-cli; its sender may have to send it again")
	}
	return fmt.Errorf("signal-cli could not read it: %s: %s", markup.Brief(x.Type), markup.Brief(x.Message)) // for the operator
}

// fillContents fills in what a message says, or why it is not used.
func (r *receiver) fillContents(e *event, d *dataMessage) {
	m := &e.message
	switch {
	case d.Group != nil && d.Group.Type != "" && d.Group.Type != "DELIVER":
		m.Problem, e.groupChanged = "a change of a group", true
	case hasValue(d.Reaction):
		m.Problem = "a reaction"
	case d.Delete != nil || d.AdminDelete != nil:
		r.fillDeletion(m, d)
	case d.Timer:
		m.Problem = "a change of the timer"
	}
	if m.Problem != "" {
		return
	}
	text := ""
	if d.Message != nil {
		text = *d.Message
	}
	words, mentions := d.describe(), d.Mentions
	if d.ViewOnce {
		text, mentions, d.Attachments = "", nil, nil
	}
	for _, a := range d.Attachments {
		if a.ContentType == longTextType && a.ID != "" {
			e.longText = a.ID
			continue
		}
		if f, ok := toAttachment(a); ok {
			m.Attachments = append(m.Attachments, f)
		}
	}
	if text == "" && words == "" && e.longText == "" && len(m.Attachments) == 0 {
		m.Problem = "a message without text or file"
		return
	}
	m.Kind = channels.Said
	m.ExpiresAfter = time.Duration(min(max(0, d.Expires), maxFades)) * time.Second
	r.fillText(e, text, mentions)
	m.Text = markup.JoinNonEmpty("\n", m.Text, words)
	toUs := r.fillReply(m, d.Quote)
	if m.Address.Kind == sessionkeys.DM {
		m.Mentioned = true
		e.receipt = true
	}
	m.Mentioned = m.Mentioned || toUs
	e.mentions, e.description = mentions, words
}

// maxFades bounds what Signal says of how long a message stays, in seconds: its own
// clients offer up to four weeks.
const maxFades = 1 << 30

// fillDeletion fills in which message was taken back, by its author or an admin.
func (r *receiver) fillDeletion(m *channels.Message, d *dataMessage) {
	m.Problem = "a message was deleted"
	x, author := d.Delete, m.Sender.ID
	if x == nil {
		x = d.AdminDelete
		author, _ = r.people.resolve(strings.ToLower(aciOf(x.AuthorUUID)), numberOf(x.AuthorNumber))
	}
	target := cmp.Or(x.Timestamp, x.Target, x.TargetSent)
	if target > 0 && author != "" {
		m.Kind, m.MessageID = channels.Deleted, r.messages.firstVersion(messageID(target, author))
	}
}

// fillText fills in the text.
func (r *receiver) fillText(e *event, text string, mentions []mention) {
	a := resolveMentions(text, mentions, func(m mention) bool { return r.me.matches(m.UUID, m.Number) })
	e.message.Text = a.text
	e.message.Mentioned = e.message.Mentioned || a.mentioned
}

// fillReply fills ReplyTo and says whether the message answers one of ours.
func (r *receiver) fillReply(m *channels.Message, q *quote) bool {
	if q == nil || q.ID <= 0 {
		return false
	}
	aci, number := cmp.Or(q.AuthorUUID, aciOf(q.Author)), cmp.Or(q.AuthorNumber, numberOf(q.Author))
	ours := r.me.matches(aci, number) && !r.isNoteQuote(q.ID)
	author, alias := r.people.resolve(aci, number)
	if ours {
		author = r.o.Account
	}
	if author == "" {
		return false
	}
	text := resolveMentions(q.Text, q.Mentions, func(mention) bool { return false }).text
	m.ReplyTo = &channels.Quote{MessageID: messageID(q.ID, author), Text: text, FromBot: ours, Author: channels.Sender{ID: author, Alias: alias}}
	return ours
}

// voiceTypes are the types in which Signal's own clients record voice notes: signal-cli
// does not say which attachment is one. Android sends AAC, iOS M4A, the desktop MP3.
var voiceTypes = map[string]bool{"audio/aac": true, "audio/mp4": true, "audio/x-m4a": true, "audio/m4a": true, "audio/mp3": true}

// toAttachment returns an attachment by reference.
func toAttachment(a attachment) (channels.Attachment, bool) {
	if a.ID == "" {
		return channels.Attachment{}, false // signal-cli could not fetch it
	}
	kind, _, _ := strings.Cut(a.ContentType, "/")
	switch kind {
	case "image":
		kind = "photo"
	case "audio":
		if voiceTypes[markup.Brief(a.ContentType)] {
			kind = channels.Voice
		}
	case "video":
	default:
		kind = "document"
	}
	return channels.Attachment{
		Kind: kind, Name: markup.Name(a.Filename), MIME: markup.Brief(a.ContentType), Size: max(0, a.Size), Ref: a.ID,
	}, true
}

// aciOf and numberOf read a source that may be either.
func aciOf(s string) string {
	if aciForm.MatchString(s) {
		return s
	}
	return ""
}

func numberOf(s string) string {
	if numberForm.MatchString(s) {
		return s
	}
	return ""
}

// timeOf reads a timestamp in milliseconds.
func timeOf(ms int64) time.Time {
	if ms <= 0 || ms > 1<<50 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
