package slack

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// stampShape is what names a message.
var stampShape = regexp.MustCompile(`^[0-9]{10}\.[0-9]{6}$`)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// isSubscribed tells whether the app gets events of the type.
func (a *app) isSubscribed(kind, place string) bool {
	return len(a.Events) == 0 || slices.Contains(a.Events, kind) || place != "" && slices.Contains(a.Events, kind+"."+place)
}

// tell makes the events of a new message: message, and app_mention for each app
// that it mentions. told collects what was made.
func (s *Server) tell(r *room, m *wireMessage, told *ActionResult) {
	kind := "message"
	if m.Subtype != "" {
		kind += "/" + m.Subtype
	}
	for _, a := range s.apps {
		if !s.isMember(r, a) {
			continue
		}
		e := EventEntry{Kind: kind, Channel: r.channel.ID, TS: m.TS, ThreadTS: m.ThreadTS, User: m.User, Text: m.Text, Bot: s.botOf(m)}
		inner := m.event(r.channel, m.TS)
		var makes []func()
		if a.isSubscribed("message", r.channel.Kind.plural()) {
			makes = append(makes, func() { s.publish(a, r, inner, e) })
		}
		if r.channel.Kind != IM && m.BotID != a.BotID && mentionsUser(m, a.UserID) && a.isSubscribed("app_mention", "") {
			mention := *inner
			mention.Type, mention.Subtype, mention.ChannelType = "app_mention", "", ""
			// It may come without the files of the post, which the message has:
			// https://github.com/ColeMurray/background-agents/pull/1693
			mention.Files, mention.Upload, mention.DisplayAsBot = nil, nil, nil
			e := e
			e.Kind = "app_mention"
			makes = append(makes, func() { s.publish(a, r, &mention, e) })
		}
		if len(makes) == 2 && s.draw(faultSubject{app: a.Name, method: mentions, channel: r.channel.ID}) != nil {
			slices.Reverse(makes)
		}
		for _, make := range makes {
			make()
			told.note(s.newestEvent())
		}
	}
}

// botOf names the app whose message it is.
func (s *Server) botOf(m *wireMessage) string {
	for _, a := range s.apps {
		if m.BotID != "" && m.BotID == a.BotID {
			return a.Name
		}
	}
	return ""
}

func (s *Server) newestEvent() *EventEntry {
	if all := s.books.events.Items(); len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// mentionsUser tells whether a message mentions the user, in its text or blocks.
func mentionsUser(m *wireMessage, user string) bool {
	if strings.Contains(m.Text, "<@"+user+">") || strings.Contains(m.Text, "<@"+user+"|") {
		return true
	}
	return m.BotID != "" && strings.Contains(string(m.Blocks), "<@"+user+">")
}

// publishChange tells the apps that a message is another now.
func (s *Server) publishChange(r *room, now, before *wireMessage, told *ActionResult) {
	ts := s.stamp()
	e := (&wireMessage{
		Type: "message", Subtype: "message_changed", Hidden: true, TS: ts, Message: now.bare(), Previous: before.bare(),
	}).event(r.channel, ts)
	s.spread(r, e, EventEntry{
		Kind: "message/message_changed", TS: now.TS, ThreadTS: now.ThreadTS, User: now.User, Text: now.Text, Bot: s.botOf(now),
	}, told)
}

// spread publishes an event about messages to every app in the room.
func (s *Server) spread(r *room, inner *wireMessage, e EventEntry, told *ActionResult) {
	e.Channel = r.channel.ID
	for _, a := range s.apps {
		if s.isMember(r, a) && a.isSubscribed("message", r.channel.Kind.plural()) {
			s.publish(a, r, inner, e)
			told.note(s.newestEvent())
		}
	}
}

// Inject delivers any inner event to the app: a type that nobody knows, or a
// known one with odd fields. It is delivered and repeated as others are.
func (s *Server) Inject(app string, inner json.RawMessage) (ActionResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.app(app)
	if a == nil {
		return ActionResult{}, errNoApp
	}
	var head struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
		Channel string `json:"channel"`
		TS      string `json:"ts"`
		User    string `json:"user"`
		Text    string `json:"text"`
	}
	// Odd fields are what Inject is for; what cannot be read is not booked.
	_ = json.Unmarshal(inner, &head)
	if !json.Valid(inner) {
		return ActionResult{}, errRaw
	}
	if head.Subtype != "" {
		head.Type += "/" + head.Subtype
	}
	s.publish(a, nil, inner, EventEntry{Kind: head.Type, Channel: head.Channel, TS: head.TS, User: head.User, Text: head.Text})
	said := ActionResult{Channel: head.Channel, TS: head.TS}
	said.note(s.newestEvent())
	return said, nil
}

// InjectFrame writes any text as one frame on one of the app's connections,
// which no book holds.
func (s *Server) InjectFrame(app, frame string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.app(app)
	if a == nil {
		return errNoApp
	}
	c := s.choose(a)
	if c == nil {
		return errNoConnection
	}
	c.write([]byte(frame))
	return nil
}
