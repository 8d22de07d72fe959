package slack

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
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

func readPost(c *call, limit int) post {
	p := post{text: c.args["text"]}
	if raw := c.args["blocks"]; raw != "" && raw != "[]" {
		p.blocks = json.RawMessage(raw)
	}
	if raw := c.args["attachments"]; raw != "" && raw != "[]" {
		if !json.Valid([]byte(raw)) {
			panic(refuse("invalid_attachments"))
		}
		p.attached = json.RawMessage(raw)
	}
	if md := c.args["markdown_text"]; md != "" {
		if p.text != "" || p.blocks != nil {
			panic(refuse("markdown_text_conflict"))
		}
		if utf8.RuneCountInString(md) > maxMarkdown {
			panic(refuse("msg_too_long"))
		}
		p.text, p.blocks = md, mustJSON([]map[string]string{{"type": "markdown", "text": md}})
	}
	if p.text == "" && p.blocks == nil && p.attached == nil {
		panic(refuse("no_text"))
	}
	if limit > 0 && len(p.text) > limit { // bytes: https://github.com/openclaw/openclaw/pull/115027
		panic(refuse("msg_too_long"))
	}
	if r := []rune(p.text); len(r) > maxText {
		p.text = string(r[:maxText])
	}
	p.metadata = readMetadata(c.args["metadata"])
	p.shown = p.text
	if p.shown == "" {
		p.shown = fallback(p.attached)
	}
	if p.blocks != nil {
		p.shown = readBlocks(p.blocks)
	}
	p.pings = pingedUsers(p.text, p.shown)
	if parse := cmp.Or(c.args["parse"], parses[c.method]); parse == "full" || parse == "client" {
		p.pings = append(p.pings, typedNames(p.text)...)
	}
	return p
}

// fallback returns what people read in attachments.
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
func readMetadata(raw string) json.RawMessage {
	if raw == "" {
		return nil
	}
	var m struct {
		EventType    string         `json:"event_type"`
		EventPayload map[string]any `json:"event_payload"`
	}
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		panic(refuse("invalid_metadata_format"))
	}
	if m.EventType == "" && m.EventPayload == nil {
		return nil // what a client sends that has none to send
	}
	if m.EventType == "" || m.EventPayload == nil {
		panic(refuse("invalid_metadata_schema"))
	}
	return mustJSON(m)
}

// version is a message's next version in the books.
func (p post) version(c *call) Version {
	return Version{
		Text: p.text, Shown: p.shown, Blocks: p.blocks, Pings: p.pings, Unfurls: p.unfurls, Method: c.method, Remote: c.request.RemoteAddr, At: c.opts.Now(),
	}
}

func (c *call) postMessage() any {
	r := c.target(true)
	p := readPost(c, 0)
	p.unfurls = unfurledLinks(c.args, p.shown)
	m := c.compose(r, p)
	c.put(r, m, p, nil)
	return map[string]any{"channel": r.channel.ID, "ts": m.TS, "message": m.bare()}
}

// compose makes the message of an app.
func (c *call) compose(r *room, p post) *wireMessage {
	a := c.app
	m := &wireMessage{
		Type: "message", Text: p.text, User: a.UserID, BotID: a.BotID, AppID: a.ID, Team: c.opts.Team.ID,
		Blocks: p.blocks, Attachments: p.attached, Metadata: p.metadata,
		BotProfile: &wireProfile{ID: a.BotID, AppID: a.ID, Name: a.Name, Icons: map[string]string{}, TeamID: c.opts.Team.ID},
	}
	if name := c.args["username"]; name != "" {
		m.Subtype, m.Username, m.User = "bot_message", name, ""
	}
	if ts := c.args["thread_ts"]; ts != "" {
		root := r.messages[ts]
		switch {
		case root == nil && !stampShape.MatchString(ts):
			panic(refuse("invalid_thread_ts"))
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
	m.TS = c.stamp()
	return m
}

// put stores a message of an app, books it, shows it, and tells the apps.
func (c *call) put(r *room, m *wireMessage, p post, st *stream) {
	e := c.books.messages.Add(MessageEntry{
		App: c.app.Name, Channel: r.channel.ID, TS: m.TS, ThreadTS: m.ThreadTS, Metadata: m.Metadata, Versions: []Version{p.version(c)},
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
	c.books.totals.Posted++
	c.show(Happening{
		Kind: "posted", App: c.app.Name, Channel: r.channel.ID, ThreadTS: m.ThreadTS, TS: m.TS, Text: p.shown, Blocks: p.blocks, At: c.opts.Now(),
	})
	c.tell(r, m, nil)
	c.books.Notify()
}

// reply counts a message in the thread that it belongs to.
func (r *room) reply(m *wireMessage) {
	root := r.messages[m.ThreadTS]
	if m.ThreadTS == "" || m.ThreadTS == m.TS || root == nil {
		return
	}
	w := *root.message
	w.ThreadTS, w.LatestReply, w.IsLocked, w.Subscribed = w.TS, m.TS, new(false), new(true)
	w.ReplyCount++
	if !slices.Contains(w.ReplyUsers, m.User) {
		w.ReplyUsers = append(slices.Clone(w.ReplyUsers), m.User)
		w.ReplyUsersN = len(w.ReplyUsers)
	}
	root.message = &w
}

func (c *call) update() any {
	r := c.target(true)
	st := r.ownMessage(c, "cant_update_message")
	if st.stream.isLive(c.opts.Now()) {
		panic(refuse("streaming_state_conflict"))
	}
	p := readPost(c, maxUpdate)
	c.rewrite(r, st, p)
	return map[string]any{"channel": r.channel.ID, "ts": st.message.TS, "text": p.text, "message": st.message.bare()}
}

// rewrite gives a message of an app its next version.
func (c *call) rewrite(r *room, st *storedMessage, p post) {
	before := st.message
	w := *before
	w.Text, w.Blocks, w.Attachments = p.text, p.blocks, p.attached
	if p.metadata != nil {
		w.Metadata = p.metadata
		st.entry.Metadata = p.metadata
	}
	w.Edited = &wireEdited{User: c.app.UserID, TS: c.whole()}
	st.message = &w
	st.entry.Versions = append(st.entry.Versions, p.version(c))
	c.books.totals.Edited++
	c.show(Happening{
		Kind: "edited", App: c.app.Name, Channel: r.channel.ID, ThreadTS: w.ThreadTS, TS: w.TS, Text: p.shown, Blocks: p.blocks, At: c.opts.Now(),
	})
	c.publishChange(r, st.message, before, nil)
	c.books.Notify()
}

func (c *call) delete() any {
	r := c.target(true)
	st := r.ownMessage(c, "cant_delete_message")
	c.erase(r, st)
	return map[string]any{"channel": r.channel.ID, "ts": st.message.TS}
}

// erase takes a message away.
func (s *rooms) erase(r *room, st *storedMessage) {
	delete(r.messages, st.message.TS)
	r.order = slices.DeleteFunc(r.order, func(ts string) bool { return ts == st.message.TS })
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
