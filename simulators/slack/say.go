package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"parley/simulators/internal/stage"
)

// What people cannot do.
var (
	errNoApp        = errors.New("no such app")
	errNoChannel    = errors.New("no such conversation")
	errNoMessage    = errors.New("no such message")
	errChannel      = errors.New("conversation is not usable like this")
	errNoConnection = errors.New("the app has no connection")
	errRaw          = errors.New("the event is not JSON")
)

// people are those who write, and all that they do.
type people struct {
	*world
	*rooms
	*fileStore
	known     map[string]Person
	responses map[string]*response // by the path of their URL
}

// SayOptions are what else there is to a message.
type SayOptions struct {
	// ThreadTS is the thread that it belongs to; Broadcast shows it in the
	// channel too.
	ThreadTS  string `json:"thread_ts,omitempty"`
	Broadcast bool   `json:"broadcast,omitempty"`
	// Raw takes the text as Slack's markup (<@U…>, &amp;). Otherwise it is what
	// somebody typed: @name of a known app or person and links are marked up, and
	// the rest is escaped.
	Raw bool `json:"raw,omitempty"`
	// Subtype of the message, such as me_message, bot_message or huddle_thread.
	// Files and Broadcast bring their own.
	Subtype string `json:"subtype,omitempty"`
	// Files that are shared with it.
	Files []File `json:"files,omitempty"`
	// Bare leaves out the blocks, as some clients do.
	Bare bool `json:"bare,omitempty"`
	// AppContext is what the person looks at, on the agent surface.
	AppContext json.RawMessage `json:"app_context,omitempty"`
}

// Ref names an event of an app.
type Ref struct {
	App     string `json:"app"`
	EventID string `json:"event_id,omitempty"`
	Kind    string `json:"kind"`
}

// ActionResult describes what came of something that people did.
type ActionResult struct {
	Channel  string `json:"channel"`
	TS       string `json:"ts,omitempty"`
	ThreadTS string `json:"thread_ts,omitempty"`
	// Events are what the apps are told, in order.
	Events []Ref `json:"events,omitempty"`
}

// note adds an event; it does nothing without somebody to tell.
func (x *ActionResult) note(e *EventEntry) {
	if x != nil && e != nil {
		x.Events = append(x.Events, Ref{App: e.App, EventID: e.EventID, Kind: e.Kind})
	}
}

// Say lets p write into c. Conversations and people are known from their first
// appearance on.
func (s *people) Say(c Channel, p Person, text string, o SayOptions) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "say in %q", c.ID)()
	if c.ID == "" || c.Kind == "" || p.ID == "" {
		panic(stage.Forbid("%w: it needs an id, a kind and a person with an id", errChannel))
	}
	s.installed(c.App)
	s.known[p.ID] = p
	r := s.enter(c)
	r.people[p.ID] = true
	if r.archived {
		panic(stage.Forbid("%w: it is archived", errChannel))
	}
	m := s.written(r, p, text, o)
	r.add(&storedMessage{message: m})
	r.reply(m)
	said = ActionResult{Channel: c.ID, TS: m.TS, ThreadTS: m.ThreadTS}
	s.tell(r, m, &said)
	// Slack names an assistant thread when somebody writes in it first.
	if root := r.messages[m.ThreadTS]; root != nil && root.message.Subtype == assistantRoot && root.message.Text == newThread {
		s.retitle(r, root, "Chats from "+s.opts.Now().UTC().Format("2006-01-02T15:04:05.000Z"), &said)
	}
	return said, nil
}

// written makes the message of a person.
func (s *people) written(r *room, p Person, text string, o SayOptions) *wireMessage {
	if !o.Raw {
		text = s.markUp(text)
	}
	m := &wireMessage{Type: "message", Subtype: o.Subtype, Text: text, User: p.ID, Team: s.teamOf(p), AppContext: o.AppContext}
	if p.Team != "" && p.Team != s.opts.Team.ID {
		m.UserTeam, m.SourceTeam = p.Team, p.Team
	}
	if !o.Bare && text != "" {
		m.Blocks = richText(text, s.makeID(""))
	}
	if o.ThreadTS != "" {
		root := r.messages[o.ThreadTS]
		if root == nil {
			panic(stage.Forbid("%w: thread %s", errNoMessage, o.ThreadTS))
		}
		m.ThreadTS, m.ParentUserID = o.ThreadTS, root.message.User
		if o.Broadcast {
			m.Subtype, m.Root = "thread_broadcast", root.message.bare()
		}
	}
	switch {
	case o.Subtype == "bot_message":
		m.Username, m.BotID, m.User = p.Name, "B"+idSuffix(p.ID), ""
	case p.IsBot:
		m.BotID, m.AppID = "B"+idSuffix(p.ID), "A"+idSuffix(p.ID)
		m.BotProfile = &wireProfile{ID: m.BotID, AppID: m.AppID, Name: p.Name, Icons: map[string]string{}, TeamID: s.teamOf(p)}
	}
	if len(o.Files) > 0 {
		m.Subtype, m.Upload, m.DisplayAsBot = "file_share", new(false), new(false)
		for _, f := range o.Files {
			m.Files = append(m.Files, s.share(r, p, f))
		}
	}
	m.TS = s.stamp()
	if m.Subtype == "" && m.BotID == "" {
		m.ClientMsgID = s.uuid()
	}
	return m
}

// at finds a message.
func (s *rooms) at(channel, ts string) (*room, *storedMessage) {
	r := s.open[channel]
	if r == nil {
		panic(stage.Forbid("%w: %q", errNoChannel, channel))
	}
	st := r.messages[ts]
	if st == nil {
		panic(stage.Forbid("%w: %s in %s", errNoMessage, ts, channel))
	}
	return r, st
}

// Edit lets the author change a message of theirs: apps get message_changed.
func (s *people) Edit(channel, ts, text string, o SayOptions) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "edit")()
	r, st := s.at(channel, ts)
	if !o.Raw {
		text = s.markUp(text)
	}
	w := *st.message
	w.Text, w.Edited = text, &wireEdited{User: w.User, TS: s.whole()}
	if !o.Bare {
		w.Blocks = richText(text, s.makeID(""))
	}
	return s.storeVersion(r, st, &w), nil
}

// storeVersion stores a message's next version and tells the apps.
func (s *rooms) storeVersion(r *room, st *storedMessage, now *wireMessage) ActionResult {
	before := st.message
	st.message = now
	said := ActionResult{Channel: r.channel.ID, TS: now.TS, ThreadTS: now.ThreadTS}
	s.publishChange(r, now, before, &said)
	return said
}

// Unfurl attaches a preview of a link to a message: message_changed without an
// edit.
func (s *people) Unfurl(channel, ts, link string) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "unfurl")()
	r, st := s.at(channel, ts)
	w := *st.message
	w.Attachments = mustJSON([]map[string]any{{
		"id": 1, "from_url": link, "original_url": link, "fallback": "A page", "title": "A page", "title_link": link, "service_name": "example",
	}})
	return s.storeVersion(r, st, &w), nil
}

// Delete takes a message away: apps get message_deleted.
func (s *people) Delete(channel, ts string) (err error) {
	defer stage.Act(&s.mu, &err, "delete")()
	r, st := s.at(channel, ts)
	s.erase(r, st)
	return nil
}

// Join makes p a member of c: apps get member_joined_channel.
func (s *people) Join(c Channel, p Person) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "join %q", c.ID)()
	if c.Kind == IM || c.ID == "" {
		panic(stage.Forbid("%w", errChannel))
	}
	s.known[p.ID] = p
	r := s.enter(c)
	r.people[p.ID] = true
	return s.publishMembership(r, p.ID), nil
}

// publishMembership publishes that a user came.
func (s *rooms) publishMembership(r *room, user string) ActionResult {
	said := ActionResult{Channel: r.channel.ID}
	letter := map[Kind]string{Public: "C", Private: "G", Group: "G"}[r.channel.Kind]
	s.announceAll(r, "member_joined_channel", map[string]any{
		"user": user, "channel": r.channel.ID, "channel_type": letter, "team": s.opts.Team.ID,
	}, EventEntry{User: user}, &said)
	return said
}

// SetMember puts the app into a conversation or takes it out of it. The app is
// told by member_joined_channel or channel_left.
func (s *people) SetMember(c Channel, app string, member bool) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "set member")()
	a := s.installed(app)
	if c.Kind == IM || c.ID == "" {
		return ActionResult{}, fmt.Errorf("set member of %q: %w", c.ID, errChannel)
	}
	r := s.enter(c)
	if member {
		delete(r.absent, a.Name)
		return s.publishMembership(r, a.UserID), nil
	}
	said = ActionResult{Channel: c.ID}
	kind := "channel_left"
	if c.Kind != Public {
		kind = "group_left"
	}
	if !r.absent[a.Name] {
		s.announce(a, r, kind, map[string]any{"channel": c.ID, "actor_id": "U0ADMIN"}, EventEntry{User: a.UserID}, &said)
	}
	r.absent[a.Name] = true
	return said, nil
}

// Archive closes a channel: nobody writes there any more.
func (s *people) Archive(c Channel) (err error) {
	defer stage.Act(&s.mu, &err, "archive %q", c.ID)()
	if c.Kind == IM || c.ID == "" {
		panic(stage.Forbid("%w", errChannel))
	}
	r := s.enter(c)
	r.archived = true
	kind := "channel_archive"
	if c.Kind != Public {
		kind = "group_archive"
	}
	s.announceAll(r, kind, map[string]any{"channel": c.ID, "user": "U0ADMIN"}, EventEntry{}, nil)
	return nil
}

// React lets p put an emoji on a message, or take it away again.
func (s *people) React(p Person, channel, ts, name string, remove bool) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "react")()
	r, st := s.at(channel, ts)
	s.known[p.ID], r.people[p.ID] = p, true
	if !st.react(name, p.ID, remove) {
		panic(stage.Forbid("%w: nothing changes", errNoMessage))
	}
	return s.publishReaction(r, st, p.ID, name, remove), nil
}

// react changes a message's reactions; false when there is nothing to change.
func (st *storedMessage) react(name, user string, remove bool) bool {
	w := *st.message
	w.Reactions = nil
	found := false
	for _, x := range st.message.Reactions {
		if x.Name == name {
			found = slices.Contains(x.Users, user)
			users := slices.DeleteFunc(slices.Clone(x.Users), func(u string) bool { return u == user })
			if !remove {
				users = append(users, user)
			}
			x = wireReaction{Name: name, Users: users, Count: len(users)}
			if len(users) > 0 {
				w.Reactions = append(w.Reactions, x)
			}
			continue
		}
		w.Reactions = append(w.Reactions, x)
	}
	if found != remove {
		return false
	}
	if !remove && !slices.ContainsFunc(w.Reactions, func(x wireReaction) bool { return x.Name == name }) {
		w.Reactions = append(w.Reactions, wireReaction{Name: name, Users: []string{user}, Count: 1})
	}
	st.message = &w
	return true
}

// publishReaction publishes a reaction.
func (s *rooms) publishReaction(r *room, st *storedMessage, user, name string, removed bool) ActionResult {
	kind := "reaction_added"
	if removed {
		kind = "reaction_removed"
	}
	said := ActionResult{Channel: r.channel.ID, TS: st.message.TS}
	s.announceAll(r, kind, map[string]any{
		"user": user, "reaction": name, "item_user": st.message.User,
		"item": map[string]string{"type": "message", "channel": r.channel.ID, "ts": st.message.TS},
	}, EventEntry{TS: st.message.TS, User: user, Text: name}, &said)
	return said
}
