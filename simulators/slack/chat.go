package slack

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

// post reads what a message says from the arguments.
type post struct {
	text     string
	blocks   json.RawMessage
	attached json.RawMessage
	metadata json.RawMessage
	shown    string
	pings    []string
	unfurls  []string
}

// maxText is where Slack cuts a text, maxUpdate what chat.update takes.
const (
	maxText     = 40_000
	maxUpdate   = 4000
	maxMarkdown = 12_000
)

// parses is how a method treats a text if it is not said: chat.update takes names that
// stand in it for mentions, "unlike chat.postMessage"
// (https://docs.slack.dev/reference/methods/chat.update).
var parses = map[string]string{"chat.update": "client"}

func readPost(c *call, limit int) (post, *refusal) {
	p := post{text: c.args["text"]}
	if raw := c.args["blocks"]; raw != "" && raw != "[]" {
		p.blocks = json.RawMessage(raw)
	}
	if raw := c.args["attachments"]; raw != "" && raw != "[]" {
		if !json.Valid([]byte(raw)) {
			return p, refuse("invalid_attachments")
		}
		p.attached = json.RawMessage(raw)
	}
	if md := c.args["markdown_text"]; md != "" {
		if p.text != "" || p.blocks != nil {
			return p, refuse("markdown_text_conflict")
		}
		if utf8.RuneCountInString(md) > maxMarkdown {
			return p, refuse("msg_too_long")
		}
		p.text, p.blocks = md, mustJSON([]map[string]string{{"type": "markdown", "text": md}})
	}
	if p.text == "" && p.blocks == nil && p.attached == nil {
		return p, refuse("no_text")
	}
	if limit > 0 && utf8.RuneCountInString(p.text) > limit {
		return p, refuse("msg_too_long")
	}
	if r := []rune(p.text); len(r) > maxText {
		p.text = string(r[:maxText])
	}
	var refused *refusal
	if p.metadata, refused = readMetadata(c.args["metadata"]); refused != nil {
		return p, refused
	}
	p.shown = p.text
	if p.shown == "" {
		p.shown = fallback(p.attached)
	}
	if p.blocks != nil {
		if p.shown, refused = readBlocks(p.blocks); refused != nil {
			return p, refused
		}
	}
	p.pings = pingedUsers(p.text, p.shown)
	if parse := cmp.Or(c.args["parse"], parses[c.method]); parse == "full" || parse == "client" {
		p.pings = append(p.pings, typedNames(p.text)...)
	}
	return p, nil
}

// fallback is what people read in attachments.
func fallback(raw json.RawMessage) string {
	var list []struct {
		Text     string `json:"text"`
		Fallback string `json:"fallback"`
	}
	_ = json.Unmarshal(raw, &list) // attachments of another shape say nothing
	var lines []string
	for _, a := range list {
		lines = append(lines, cmp.Or(a.Text, a.Fallback))
	}
	return strings.Join(lines, "\n")
}

// readMetadata takes what apps attach to a message for themselves.
func readMetadata(raw string) (json.RawMessage, *refusal) {
	if raw == "" {
		return nil, nil
	}
	var m struct {
		EventType    string         `json:"event_type"`
		EventPayload map[string]any `json:"event_payload"`
	}
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		return nil, refuse("invalid_metadata_format")
	}
	if m.EventType == "" && m.EventPayload == nil {
		return nil, nil // what a client sends that has none to send
	}
	if m.EventType == "" || m.EventPayload == nil {
		return nil, refuse("invalid_metadata_schema")
	}
	return mustJSON(m), nil
}

// version is a message's next version in the books.
func (s *Server) version(c *call, p post) Version {
	return Version{
		Text: p.text, Shown: p.shown, Blocks: p.blocks, Pings: p.pings, Unfurls: p.unfurls, Method: c.method, Remote: c.remote, At: s.opts.Now(),
	}
}

func (s *Server) postMessage(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.target(c, true)
	if refused != nil {
		return nil, refused
	}
	p, refused := readPost(c, 0)
	if refused != nil {
		return nil, refused
	}
	p.unfurls = unfurledLinks(c.args, p.shown)
	m, refused := s.compose(c, r, p)
	if refused != nil {
		return nil, refused
	}
	s.put(c, r, m, p, nil)
	return map[string]any{"channel": r.channel.ID, "ts": m.TS, "message": m.bare()}, nil
}

// compose makes the message of an app.
func (s *Server) compose(c *call, r *room, p post) (*wireMessage, *refusal) {
	a := c.app
	m := &wireMessage{
		Type: "message", Text: p.text, User: a.UserID, BotID: a.BotID, AppID: a.ID, Team: s.opts.Team.ID,
		Blocks: p.blocks, Attachments: p.attached, Metadata: p.metadata,
		BotProfile: &wireProfile{ID: a.BotID, AppID: a.ID, Name: a.Name, Icons: map[string]string{}, TeamID: s.opts.Team.ID},
	}
	if name := c.args["username"]; name != "" {
		m.Subtype, m.Username, m.User = "bot_message", name, ""
	}
	if ts := c.args["thread_ts"]; ts != "" {
		root := r.messages[ts]
		switch {
		case root == nil && !stampShape.MatchString(ts):
			return nil, refuse("invalid_thread_ts")
		case root == nil:
			// Slack lets a message hang on a thread that is gone.
			m.ThreadTS = ts
		default:
			m.ThreadTS = ts
			if root.message.ThreadTS != "" {
				m.ThreadTS = root.message.ThreadTS
			}
			m.ParentUserID = root.message.User
		}
		if c.args["reply_broadcast"] != "" && c.args.bool("reply_broadcast") {
			m.Subtype = "thread_broadcast"
			if root != nil {
				m.Root = root.message.bare()
			}
		}
	}
	m.TS = s.stamp()
	return m, nil
}

// put stores a message of an app, books it, shows it, and tells the apps.
func (s *Server) put(c *call, r *room, m *wireMessage, p post, st *stream) {
	e := s.books.messages.Add(MessageEntry{
		App: c.app.Name, Channel: r.channel.ID, TS: m.TS, ThreadTS: m.ThreadTS, Metadata: m.Metadata, Versions: []Version{s.version(c, p)},
	})
	for _, f := range m.Files {
		e.Files = append(e.Files, f.ID)
	}
	if st != nil {
		e.Stream = "streaming"
	}
	c.message, c.ts = e, m.TS
	r.add(&storedMessage{message: m, author: c.app, entry: e, stream: st})
	r.reply(m)
	s.books.totals.Posted++
	s.show(Happening{
		Kind: "posted", App: c.app.Name, Channel: r.channel.ID, ThreadTS: m.ThreadTS, TS: m.TS, Text: p.shown, Blocks: p.blocks, At: s.opts.Now(),
	})
	s.tell(r, m, nil)
	s.books.Notify()
}

// reply counts a message in the thread that it belongs to.
func (r *room) reply(m *wireMessage) {
	root := r.messages[m.ThreadTS]
	if m.ThreadTS == "" || m.ThreadTS == m.TS || root == nil {
		return
	}
	w := *root.message
	w.ThreadTS, w.LatestReply, w.IsLocked, w.Subscribed = w.TS, m.TS, boolPtr(false), boolPtr(true)
	w.ReplyCount++
	seen := false
	for _, u := range w.ReplyUsers {
		seen = seen || u == m.User
	}
	if !seen {
		w.ReplyUsers = append(append([]string(nil), w.ReplyUsers...), m.User)
		w.ReplyUsersN = len(w.ReplyUsers)
	}
	root.message = &w
}

func (s *Server) postEphemeral(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.target(c, true)
	if refused != nil {
		return nil, refused
	}
	if !s.isKnownUser(c.args["user"]) {
		return nil, refuse("user_not_in_channel")
	}
	p, refused := readPost(c, 0)
	if refused != nil {
		return nil, refused
	}
	ts := s.stamp()
	s.whisper(c, r, c.args["user"], ts, c.args["thread_ts"], p)
	return map[string]any{"message_ts": ts}, nil
}

// whisper shows a message to one person. It is in no history.
func (s *Server) whisper(c *call, r *room, user, ts, thread string, p post) {
	c.ts = ts
	c.message = s.books.messages.Add(MessageEntry{
		App: c.app.Name, Channel: r.channel.ID, TS: ts, ThreadTS: thread, Ephemeral: user, Versions: []Version{s.version(c, p)},
	})
	s.books.totals.Posted++
	s.show(Happening{
		Kind: "posted", App: c.app.Name, Channel: r.channel.ID, ThreadTS: thread, TS: ts, Text: p.shown, Blocks: p.blocks, User: user, At: s.opts.Now(),
	})
	s.books.Notify()
}

func (s *Server) update(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.target(c, true)
	if refused != nil {
		return nil, refused
	}
	st, refused := r.ownMessage(c, "cant_update_message")
	if refused != nil {
		return nil, refused
	}
	if st.stream.isLive(s.opts.Now()) {
		return nil, refuse("streaming_state_conflict")
	}
	p, refused := readPost(c, maxUpdate)
	if refused != nil {
		return nil, refused
	}
	s.rewrite(c, r, st, p)
	return map[string]any{"channel": r.channel.ID, "ts": st.message.TS, "text": p.text, "message": st.message.bare()}, nil
}

// rewrite gives a message of an app its next version.
func (s *Server) rewrite(c *call, r *room, st *storedMessage, p post) {
	before := st.message
	w := *before
	w.Text, w.Blocks, w.Attachments = p.text, p.blocks, p.attached
	if p.metadata != nil {
		w.Metadata = p.metadata
		st.entry.Metadata = p.metadata
	}
	w.Edited = &wireEdited{User: c.app.UserID, TS: s.whole()}
	st.message = &w
	st.entry.Versions = append(st.entry.Versions, s.version(c, p))
	s.books.totals.Edited++
	s.show(Happening{
		Kind: "edited", App: c.app.Name, Channel: r.channel.ID, ThreadTS: w.ThreadTS, TS: w.TS, Text: p.shown, Blocks: p.blocks, At: s.opts.Now(),
	})
	s.publishChange(r, st.message, before, nil)
	s.books.Notify()
}

// whole is a timestamp in whole seconds, as edits have.
func (s *Server) whole() string { return unix(s.opts.Now()) + ".000000" }

func (s *Server) delete(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.target(c, true)
	if refused != nil {
		return nil, refused
	}
	st, refused := r.ownMessage(c, "cant_delete_message")
	if refused != nil {
		return nil, refused
	}
	s.erase(r, st)
	return map[string]any{"channel": r.channel.ID, "ts": st.message.TS}, nil
}

// erase takes a message away.
func (s *Server) erase(r *room, st *storedMessage) {
	delete(r.messages, st.message.TS)
	for i, ts := range r.order {
		if ts == st.message.TS {
			r.order = append(r.order[:i:i], r.order[i+1:]...)
			break
		}
	}
	if st.entry != nil {
		st.entry.Deleted = s.opts.Now()
		s.books.totals.Deleted++
		s.show(Happening{
			Kind: "deleted", App: st.author.Name, Channel: r.channel.ID, ThreadTS: st.message.ThreadTS, TS: st.message.TS, At: s.opts.Now(),
		})
	}
	ts := s.stamp()
	e := (&wireMessage{
		Type: "message", Subtype: "message_deleted", Hidden: true, TS: ts, DeletedTS: st.message.TS, Previous: st.message.bare(),
	}).event(r.channel, ts)
	s.spread(r, e, EventEntry{Kind: "message/message_deleted", TS: st.message.TS, ThreadTS: st.message.ThreadTS, User: st.message.User}, nil)
	s.books.Notify()
}

func unix(t time.Time) string { return itoa(t.Unix()) }
