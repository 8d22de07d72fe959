package signal

import (
	"errors"
	"strings"
	"unicode/utf8"

	"parley/simulators/internal/stage"
)

// What people cannot do.
var (
	errNoAccount = errors.New("no such account")
	errNoMessage = errors.New("no such message")
	errNoName    = errors.New("the text does not hold the name that stands for somebody")
	errAbsent    = errors.New("not a member of the group")
)

// people are those who write, and all that they and their devices do.
type people struct {
	*world
	*chats
	*fileStore
}

// longText is how many bytes of a text travel in the message itself; a longer one
// is an attachment.
const longText = 2000

// longTextType is the content type of that attachment.
const longTextType = "text/x-signal-plain"

// Say lets p write into a chat. People and groups are known from their first
// appearance on; a new group has every account in it.
func (s *people) Say(chat Chat, p Person, text string, o SayOptions) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "say")()
	pl := s.placeOf(chat, p)
	at := o.Timestamp
	if at == 0 {
		at = s.stamp()
	}
	d, text, files := s.compose(pl, at, text, o)
	pl.chat.add(msgKey{p.ACI, at}, &storedMessage{text: text})
	return s.tell(pl, p, at, files, EnvelopeEntry{Kind: kindOf(d), Text: text}, func(e *wireEnvelope) {
		e.DataMessage = d
	}), nil
}

// kindOf names what a data message is.
func kindOf(d *wireData) string {
	if d.Sticker != nil {
		return "sticker"
	}
	return "message"
}

// compose makes the data message, and gives the text as it stands in it.
func (s *people) compose(pl place, at int64, text string, o SayOptions) (*wireData, string, []string) {
	d := s.data(pl, at)
	text, mentions := s.mention(text, o.Mentions)
	d.Mentions, d.TextStyles = mentions, o.Styles
	*d.ViewOnce = o.ViewOnce
	var files []string
	shown := text
	if len(text) > longText {
		// People's programs send the beginning, and the whole as a file.
		shown = truncate(text, longText)
		a, id := s.store(Attachment{ContentType: longTextType, Data: []byte(text)}, at)
		d.Attachments, files = append(d.Attachments, a), append(files, id)
	}
	if shown != "" {
		d.Message = &shown
	}
	for _, f := range o.Attachments {
		a, id := s.store(f, at)
		d.Attachments, files = append(d.Attachments, a), append(files, id)
	}
	for _, p := range o.Previews {
		d.Previews = append(d.Previews, wirePreview{URL: p.URL, Title: p.Title, Description: p.Description, Image: s.picture(p.Image, at, &files)})
	}
	s.cards(d, o, at, &files)
	if o.Sticker != "" {
		d.Sticker = &wireSticker{PackID: o.Sticker, StickerID: 1}
	}
	if q := o.Quote; q != nil {
		d.Quote = s.quote(pl.chat, *q)
		if small := s.picture(q.Thumbnail, at, &files); small != nil {
			d.Quote.Attachments = append(d.Quote.Attachments, wireQuoted{ContentType: small.ContentType, Filename: small.Filename, Thumbnail: small})
		}
	}
	if r := o.StoryReply; r != nil {
		a := s.addressOf(r.Author)
		d.StoryContext = &wireStoryContext{AuthorNumber: orNull(a.Number), AuthorUUID: orNull(a.ACI), SentTimestamp: r.Timestamp}
	}
	return d, text, files
}

// data is the data message that says nothing yet.
func (s *chats) data(pl place, at int64) *wireData {
	d := &wireData{Timestamp: at, ExpiresInSeconds: pl.chat.timer, ViewOnce: new(bool)}
	if s.opts.isAtLeast014() {
		d.IsExpirationUpdate = new(bool)
	}
	if pl.group != nil {
		d.GroupInfo = pl.group.wire("DELIVER")
	}
	return d
}

// truncate shortens a text to at most n bytes, between two characters.
func truncate(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// mention puts the replacement character in the place of each name.
func (s *people) mention(text string, ms []Mention) (string, []wireMention) {
	var out []wireMention
	for _, m := range ms {
		i := strings.Index(text, m.Name)
		if i < 0 || m.Name == "" {
			panic(stage.Forbid("%w: %q", errNoName, m.Name))
		}
		text = text[:i] + "\uFFFC" + text[i+len(m.Name):]
		// What stands behind it moves.
		shift, start := 1-utf16Len(m.Name), utf16Len(text[:i])
		for j := range out {
			if out[j].Start > start {
				out[j].Start += shift
			}
		}
		a := s.addressOf(m.ACI)
		out = append(out, wireMention{Name: a.legacy(), Number: orNull(a.Number), UUID: orNull(a.ACI), Start: start, Length: 1})
	}
	return text, out
}

func (s *chats) quote(c *conversation, q Quote) *wireQuote {
	text := q.Text
	if m := c.find(msgKey{q.Author, q.Timestamp}); m != nil && text == "" && !m.deleted {
		text = m.text
	}
	a := s.addressOf(q.Author)
	w := &wireQuote{ID: q.Timestamp, Author: a.legacy(), AuthorNumber: orNull(a.Number), AuthorUUID: orNull(a.ACI), Attachments: []wireQuoted{}}
	// A quote of what is gone has the empty text, not none.
	w.Text = &text
	return w
}

// Edit lets the author change a message; target is the timestamp of its first or
// its newest version. The edit has a timestamp of its own.
func (s *people) Edit(chat Chat, p Person, target int64, text string, o SayOptions) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "edit")()
	pl := s.placeOf(chat, p)
	m := pl.chat.find(msgKey{p.ACI, target})
	if m == nil {
		panic(stage.Forbid("%w: %d", errNoMessage, target))
	}
	at := o.Timestamp
	if at == 0 {
		at = s.stamp()
	}
	d, text, files := s.compose(pl, at, text, o)
	m.text, m.latest = text, at
	// The next edit may name this version.
	pl.chat.messages[msgKey{p.ACI, at}] = m
	return s.tell(pl, p, at, files, EnvelopeEntry{Kind: "edit", Text: text, Target: target}, func(e *wireEnvelope) {
		e.EditMessage = &wireEdit{TargetSentTimestamp: target, DataMessage: d}
	}), nil
}

// Delete lets the author delete a message for everybody.
func (s *people) Delete(chat Chat, p Person, target int64) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "delete")()
	pl := s.placeOf(chat, p)
	m := pl.chat.find(msgKey{p.ACI, target})
	if m == nil {
		panic(stage.Forbid("%w: %d", errNoMessage, target))
	}
	m.deleted = true
	at := s.stamp()
	d := s.data(pl, at)
	d.RemoteDelete = &wireDelete{Timestamp: target}
	return s.tell(pl, p, at, nil, EnvelopeEntry{Kind: "delete", Target: target}, func(e *wireEnvelope) { e.DataMessage = d }), nil
}

// tell puts an envelope from p into the queue of everybody in the place.
func (s *chats) tell(pl place, p Person, at int64, files []string, entry EnvelopeEntry, fill func(*wireEnvelope)) ActionResult {
	said := ActionResult{Timestamp: at, Author: p.ACI}
	for _, a := range pl.audience {
		e := s.envelope(p, at)
		fill(e)
		entry := entry
		entry.Timestamp, entry.Source = at, p.ACI
		if pl.group != nil {
			entry.Group = pl.group.id
		}
		said.Envelopes = append(said.Envelopes, s.put(a, wireEntry{Envelope: e, Account: a.ID()}, files, entry))
	}
	return said
}

// envelope is one from p that holds nothing yet.
func (s *chats) envelope(p Person, at int64) *wireEnvelope {
	a := p.address()
	device := max(p.Device, 1)
	return &wireEnvelope{
		Source: orNull(a.legacy()), SourceNumber: orNull(a.Number), SourceUUID: orNull(a.ACI),
		SourceName: &p.Name, SourceDevice: &device, Timestamp: at, ServerReceived: at,
	}
}
