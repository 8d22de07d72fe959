package slack

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"parley/simulators/internal/stage"
)

// stampShape is what names a message.
var stampShape = regexp.MustCompile(`^[0-9]{10}\.[0-9]{6}$`)

// isSubscribed tells whether the app gets events of the type.
func (a *app) isSubscribed(kind, place string) bool {
	return len(a.Events) == 0 || slices.Contains(a.Events, kind) || place != "" && slices.Contains(a.Events, kind+"."+place)
}

// tell makes the events of a new message: message, and app_mention for each app
// that it mentions. told collects what was made.
func (s *rooms) tell(r *room, m *wireMessage, told *ActionResult) {
	kind := "message"
	if m.Subtype != "" {
		kind += "/" + m.Subtype
	}
	for _, a := range s.apps {
		if !s.isMember(r, a) {
			continue
		}
		e := EventEntry{Kind: kind, Channel: r.channel.ID, TS: m.TS, ThreadTS: m.ThreadTS, User: m.User, Text: m.Text, Bot: s.botOf(m)}
		s.tellApp(a, r, m, m.event(r.channel, m.TS), e, told)
	}
}

// tellApp makes the events of a post as it is now for one app: the message, and app_mention if it
// mentions the app.
func (s *rooms) tellApp(a *app, r *room, m, message *wireMessage, e EventEntry, told *ActionResult) {
	var makes []func() *EventEntry
	if a.isSubscribed("message", r.channel.Kind.plural()) {
		makes = append(makes, func() *EventEntry { return s.publish(a, r, message, e) })
	}
	if r.channel.Kind != IM && m.BotID != a.BotID && mentionsUser(m, a.UserID) && a.isSubscribed("app_mention", "") {
		mention := *m.event(r.channel, m.TS)
		mention.Type, mention.Subtype, mention.ChannelType = "app_mention", "", ""
		// It may come without the files of the post, which the message has:
		// https://github.com/ColeMurray/background-agents/pull/1693
		mention.Files, mention.Upload, mention.DisplayAsBot = nil, nil, nil
		e := e
		e.Kind = "app_mention"
		makes = append(makes, func() *EventEntry { return s.publish(a, r, &mention, e) })
	}
	if len(makes) == 2 && s.draw(faultSubject{app: a.Name, method: mentions, channel: r.channel.ID}) != nil {
		slices.Reverse(makes)
	}
	for _, make := range makes {
		told.note(make())
	}
}

// botOf names the app whose message it is.
func (s *events) botOf(m *wireMessage) string {
	for _, a := range s.apps {
		if m.BotID != "" && m.BotID == a.BotID {
			return a.Name
		}
	}
	return ""
}

// mentionsUser tells whether a message mentions the user, in its text or blocks.
func mentionsUser(m *wireMessage, user string) bool {
	if strings.Contains(m.Text, "<@"+user+">") || strings.Contains(m.Text, "<@"+user+"|") {
		return true
	}
	return m.BotID != "" && strings.Contains(string(m.Blocks), "<@"+user+">")
}

// publishChange tells the apps that a message is another now.
func (s *rooms) publishChange(r *room, now, before *wireMessage, told *ActionResult) {
	ts := s.stamp()
	e := (&wireMessage{
		Type: "message", Subtype: "message_changed", Hidden: true, TS: ts, Message: now.bare(), Previous: before.bare(),
	}).event(r.channel, ts)
	entry := EventEntry{
		Kind: "message/message_changed", Channel: r.channel.ID, TS: now.TS, ThreadTS: now.ThreadTS, User: now.User, Text: now.Text, Bot: s.botOf(now),
	}
	if now.Edited == nil || before.Edited != nil && before.Edited.TS == now.Edited.TS && before.Text == now.Text { // nobody edited it
		s.spread(r, e, entry, told)
		return
	}
	// Of an edit with a mention there is an app_mention too, also when the post had one before:
	// https://github.com/slack-go/slack/pull/1256
	for _, a := range s.apps {
		if s.isMember(r, a) {
			s.tellApp(a, r, now, e, entry, told)
		}
	}
}

// spread publishes an event about messages to every app in the room.
func (s *rooms) spread(r *room, inner *wireMessage, e EventEntry, told *ActionResult) {
	e.Channel = r.channel.ID
	for _, a := range s.apps {
		if s.isMember(r, a) && a.isSubscribed("message", r.channel.Kind.plural()) {
			told.note(s.publish(a, r, inner, e))
		}
	}
}

// announce makes an event of a kind for an app that is subscribed to it. told collects
// what was made.
func (s *rooms) announce(a *app, r *room, kind string, inner map[string]any, e EventEntry, told *ActionResult) {
	if a.isSubscribed(kind, "") {
		inner["type"], inner["event_ts"] = kind, s.stamp()
		e.Kind, e.Channel = kind, r.channel.ID
		told.note(s.publish(a, r, inner, e))
	}
}

// announceAll makes an event of a kind for every app in the room.
func (s *rooms) announceAll(r *room, kind string, inner map[string]any, e EventEntry, told *ActionResult) {
	for _, a := range s.apps {
		if s.isMember(r, a) {
			s.announce(a, r, kind, maps.Clone(inner), e, told)
		}
	}
}

// Inject delivers any inner event to the app: a type that nobody knows, or a
// known one with odd fields. It is delivered and repeated as others are.
func (s *events) Inject(app string, inner json.RawMessage) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "inject")()
	a := s.installed(app)
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
	said = ActionResult{Channel: head.Channel, TS: head.TS}
	said.note(s.publish(a, nil, inner, EventEntry{Kind: head.Type, Channel: head.Channel, TS: head.TS, User: head.User, Text: head.Text}))
	return said, nil
}

// InjectFrame writes any text as one frame on one of the app's connections,
// which no book holds.
func (s *sockets) InjectFrame(app, frame string) (err error) {
	defer stage.Act(&s.mu, &err, "injectframe")()
	a := s.installed(app)
	c := s.choose(a)
	if c == nil {
		return errNoConnection
	}
	c.write([]byte(frame))
	return nil
}
