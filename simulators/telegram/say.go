package telegram

import (
	"errors"
	"strings"

	"parley/simulators/internal/stage"
)

// What people cannot do.
var (
	errNoBot     = errors.New("no such bot")
	errNoChat    = errors.New("no such chat")
	errNoMessage = errors.New("no such message")
	errNoTopic   = errors.New("no such topic")
	errChat      = errors.New("chat is not usable like this")
)

// Say lets p write into c. Chats and people are known from their first
// appearance on. A private message to a bot that was blocked unblocks it, as
// pressing Start does.
func (s *chats) Say(c Chat, p Person, text string, o SayOptions) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "say in chat %d", c.ID)()
	return s.say(c, p, text, o), nil
}

func (s *chats) say(c Chat, p Person, text string, o SayOptions) ActionResult {
	if c.ID == 0 || c.Kind == "" || c.Kind == Private && c.ID != p.ID {
		panic(stage.Forbid("%w: it needs an id and a kind, a private one the id of its person", errChat))
	}
	to := s.known(o.Bot)
	s.people[p.ID] = p
	r := s.open(c)
	if r.migrated != 0 {
		panic(stage.Forbid("%w: it became %d", errNoChat, r.migrated))
	}
	if r.chat.Kind == Private && r.standing[to.bot.ID] == "kicked" {
		s.changeStanding(r, p, to, "member")
	}
	h := s.historyOf(r, to.bot.ID)
	m := &wireMessage{Chat: r.wire, Date: s.opts.Now().Unix()}
	s.place(r, h, to, m, o)
	s.setAuthor(r, m, p, o)
	s.fill(m, text, o)
	h.last++
	m.MessageID = h.last
	h.add(m, 0, nil)
	return s.deliver(r, to, "message", m)
}

// deliver makes the updates of a message of a person: one for the bot to of a private
// chat, elsewhere one for each that may see it.
func (s *chats) deliver(r *room, to *account, kind string, m *wireMessage) ActionResult {
	switch r.chat.Kind {
	case Private:
		return s.actionResult(m, s.put(to, kind, m, entryOf(m)))
	case Channel:
		kind = strings.Replace(kind, "message", "channel_post", 1)
	}
	return s.actionResult(m, s.publish(r, kind, m, 0))
}

// publish makes an update for every bot that may see m.
func (s *chats) publish(r *room, kind string, m *wireMessage, author int64) []Ref {
	var refs []Ref
	for _, a := range s.audience(r, m, author) {
		refs = append(refs, s.put(a, kind, m, entryOf(m))...)
	}
	return refs
}

func (s *chats) actionResult(m *wireMessage, refs []Ref) ActionResult {
	return ActionResult{ChatID: m.Chat.ID, MessageID: m.MessageID, Updates: refs}
}

func entryOf(m *wireMessage) UpdateEntry {
	e := UpdateEntry{ChatID: m.Chat.ID, MessageID: m.MessageID, ThreadID: m.MessageThreadID, Text: m.Text + m.Caption}
	if m.From != nil {
		e.FromID = m.From.ID
	}
	return e
}

// place sets topic, reply and quote.
func (s *chats) place(r *room, h *history, to *account, m *wireMessage, o SayOptions) {
	threads := r.chat.Kind == Forum || r.chat.Kind == Private && to.bot.HasTopics
	if threads && o.Thread > 1 {
		t := r.topics[o.Thread]
		if t == nil || t.deleted {
			panic(stage.Forbid("%w: %d", errNoTopic, o.Thread))
		}
		m.MessageThreadID, m.IsTopicMessage = o.Thread, true
		// Clients link every message of a topic to its first one.
		if root := h.messages[t.root]; root != nil && o.ReplyTo == 0 {
			m.ReplyTo = withoutReply(root.message)
		}
	} else if o.Thread > 1 {
		m.MessageThreadID = o.Thread
	}
	if o.ReplyTo == 0 {
		return
	}
	st := h.messages[o.ReplyTo]
	if st == nil {
		panic(stage.Forbid("%w: %d", errNoMessage, o.ReplyTo))
	}
	m.ReplyTo = withoutReply(st.message)
	if i := strings.Index(st.message.Text, o.Quote); o.Quote != "" && i >= 0 {
		m.Quote = &wireQuote{Text: o.Quote, Position: utf16Len(st.message.Text[:i]), IsManual: true}
	}
}

// withoutReply returns a message without the one it answers: replies nest one level only.
func withoutReply(m *wireMessage) *wireMessage {
	if m.ReplyTo == nil {
		return m
	}
	b := *m
	b.ReplyTo = nil
	return &b
}

// setAuthor sets the author as others see them.
func (s *chats) setAuthor(r *room, m *wireMessage, p Person, o SayOptions) {
	from := p.wire()
	m.From = &from
	switch o.As {
	case AsAnonymousAdmin:
		w := r.wire
		m.From, m.SenderChat = &groupAnonymousBot, &w
	case AsChannel, AsAutoForward:
		ch := Chat{ID: -1009990000001, Kind: Channel, Title: "Channel"}
		if o.Channel != nil {
			ch = *o.Channel
		}
		w := ch.wire()
		m.From, m.SenderChat = &channelBot, &w
		if o.As == AsAutoForward {
			m.From, m.IsAutomaticForward = &serviceAccount, true
			m.ForwardOrigin = &wireOrigin{Type: "channel", Date: m.Date, Chat: &w, MessageID: s.id()}
		}
	}
	if r.chat.Kind == Channel {
		w := r.wire
		m.From, m.SenderChat = nil, &w
	}
	if o.ForwardedFrom != nil {
		u := o.ForwardedFrom.wire()
		m.ForwardOrigin = &wireOrigin{Type: "user", Date: m.Date, SenderUser: &u}
	}
}

// fill sets the text or the caption, its entities, and the media.
func (s *chats) fill(m *wireMessage, text string, o SayOptions) {
	es := merge(append(mentionsOf(text, o.Mentions), o.Entities...), detect(text))
	m.MediaGroupID = o.MediaGroup
	if o.Media == "" {
		m.Text, m.Entities = text, es
		return
	}
	m.Caption, m.CaptionEntities = text, es
	s.attach(m, o)
}

// Edit lets the author change a message of theirs; bots get edited_message.
// bot names the bot of a private chat, empty being the first. Passing the
// text it already has gives the update that link previews and keyboards also
// cause: edited without a change.
func (s *chats) Edit(chatID, messageID int64, text string, o SayOptions) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "edit message %d", messageID)()
	r, to, st := s.find(chatID, messageID, o.Bot)
	m := *st.message
	m.EditDate = s.opts.Now().Unix()
	es := merge(append(mentionsOf(text, o.Mentions), o.Entities...), detect(text))
	if m.Caption != "" || m.Text == "" {
		m.Caption, m.CaptionEntities = text, es
	} else {
		m.Text, m.Entities = text, es
	}
	st.message = &m
	return s.deliver(r, to, "edited_message", &m), nil
}

func (s *chats) find(chatID, messageID int64, bot string) (*room, *account, *storedMessage) {
	r := s.rooms[chatID]
	if r == nil {
		panic(stage.Forbid("%w: %d", errNoChat, chatID))
	}
	to := s.known(bot)
	st := s.historyOf(r, to.bot.ID).messages[messageID]
	if st == nil {
		panic(stage.Forbid("%w: %d in chat %d", errNoMessage, messageID, chatID))
	}
	return r, to, st
}
