package slack

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/simulators/internal/stage"
)

// streamLife is how long a message can be appended to.
const streamLife = 5 * time.Minute

// stream is a message that grows.
type stream struct {
	until time.Time
	state string // streaming, completed, expired or stopped
	text  string
	tasks []json.RawMessage // chunks that are no text
	end   json.RawMessage   // blocks below the text
}

// isLive reports whether the stream takes more. It notices that time has passed.
func (st *stream) isLive(now time.Time) bool {
	if st == nil {
		return false
	}
	if st.state == "streaming" && !st.until.After(now) {
		st.state = "expired"
	}
	return st.state == "streaming"
}

// piece is what a call adds to a stream.
type piece struct {
	text  string
	tasks []json.RawMessage
}

func readPiece(c *call) piece {
	p := piece{text: c.args["markdown_text"]}
	if raw := c.args["chunks"]; raw != "" {
		if p.text != "" {
			panic(refuse("markdown_text_conflict"))
		}
		var list []json.RawMessage
		if json.Unmarshal([]byte(raw), &list) != nil {
			panic(refuse("invalid_chunks"))
		}
		for _, one := range list {
			var k struct {
				Type   string          `json:"type"`
				Text   string          `json:"text"`
				ID     string          `json:"id"`
				Blocks json.RawMessage `json:"blocks"`
			}
			if json.Unmarshal(one, &k) != nil {
				panic(refuse("invalid_chunks"))
			}
			switch k.Type {
			case "markdown_text":
				p.text += k.Text
			case "task_update", "plan_update":
				p.tasks = append(p.tasks, one)
			case "blocks":
				readBlocks(k.Blocks)
				p.tasks = append(p.tasks, one)
			default:
				panic(refuse("invalid_chunks"))
			}
		}
	}
	if utf8.RuneCountInString(p.text) > maxMarkdown {
		panic(refuse("msg_too_long"))
	}
	return p
}

func (c *call) startStream() any {
	r := c.target(true)
	switch {
	case c.args["thread_ts"] == "":
		panic(refuse("invalid_thread_ts"))
	case r.channel.Kind != IM && c.args["recipient_team_id"] == "":
		panic(refuse("missing_recipient_team_id"))
	case r.channel.Kind != IM && c.args["recipient_user_id"] == "":
		panic(refuse("missing_recipient_user_id"))
	}
	to := c.recipient(r, c.args["recipient_user_id"], c.args["recipient_team_id"])
	piece := readPiece(c)
	p := post{text: piece.text, shown: piece.text, pings: pingedUsers(piece.text)}
	m := c.compose(r, p)
	st := &stream{until: c.opts.Now().Add(streamLife), state: "streaming", text: piece.text, tasks: piece.tasks}
	m.Blocks = st.blocks()
	p.blocks = m.Blocks
	c.put(r, m, p, st)
	c.message.StreamTo = to
	c.session(c.app, r, m.ThreadTS, processing)
	return map[string]any{"channel": r.channel.ID, "ts": m.TS}
}

// recipient is to whom alone a stream in a channel is shown while it grows, T0/U0; ""
// in a direct message. Who is not of the team that is named is not found in it. That
// nobody else sees it grow is not documented, but reported:
// https://github.com/agentconnect-md/agentconnect/issues/1494
func (s *people) recipient(r *room, user, team string) string {
	if p, ok := s.known[user]; user != "" && (!ok || s.teamOf(p) != team) {
		panic(refuse("user_not_found"))
	}
	if r.channel.Kind == IM {
		return ""
	}
	return team + "/" + user
}

// blocks of what the stream says so far.
func (st *stream) blocks() json.RawMessage {
	var out []any
	if st.text != "" {
		out = append(out, map[string]string{"type": "markdown", "text": st.text})
	}
	var end []json.RawMessage
	if st.end != nil {
		_ = json.Unmarshal(st.end, &end) // was checked
	}
	for _, b := range end {
		out = append(out, b)
	}
	if len(out) == 0 {
		return nil
	}
	return mustJSON(out)
}

// streamOf is the stream that a call is about.
func (c *call) streamOf() (*room, *storedMessage) {
	r := c.target(true)
	st := r.ownMessage(c, "message_not_owned_by_app")
	if !st.stream.isLive(c.opts.Now()) {
		if st.stream != nil {
			st.entry.Stream = st.stream.state
		}
		panic(refuse("message_not_in_streaming_state"))
	}
	return r, st
}

func (c *call) appendStream() any {
	r, st := c.streamOf()
	p := readPiece(c)
	if p.text == "" && len(p.tasks) == 0 {
		panic(refuse("no_text"))
	}
	c.grow(r, st, p)
	c.books.totals.Streamed++
	return map[string]any{"channel": r.channel.ID, "ts": st.message.TS}
}

// grow adds a piece to a stream and shows it.
func (c *call) grow(r *room, st *storedMessage, p piece) {
	if utf8.RuneCountInString(st.stream.text)+utf8.RuneCountInString(p.text) > maxMarkdown {
		panic(refuse("msg_too_long"))
	}
	st.stream.text += p.text
	st.stream.tasks = append(st.stream.tasks, p.tasks...)
	w := *st.message
	w.Text, w.Blocks = st.stream.text, st.stream.blocks()
	st.message = &w
	shown := w.Text
	stage.Refused[refusal](func() { shown = cmp.Or(readBlocks(w.Blocks), shown) }) // its parts were checked
	st.entry.Versions = append(st.entry.Versions, post{text: w.Text, shown: shown, blocks: w.Blocks, pings: pingedUsers(w.Text)}.version(c))
	_, alone, _ := strings.Cut(st.entry.StreamTo, "/")
	c.show(Happening{
		Kind: "streamed", App: c.app.Name, Channel: r.channel.ID, ThreadTS: w.ThreadTS, TS: w.TS, User: alone, Text: shown, Blocks: w.Blocks, At: c.opts.Now(),
	})
	c.books.Notify()
}

func (c *call) stopStream() any {
	r, st := c.streamOf()
	p := readPiece(c)
	metadata := readMetadata(c.args["metadata"])
	if raw := c.args["blocks"]; raw != "" && raw != "[]" {
		readBlocks(json.RawMessage(raw))
		st.stream.end = json.RawMessage(raw)
	}
	status := cmp.Or(c.args["session_status"], active)
	if !slices.Contains(sessionStates, status) {
		panic(refuse("invalid_arguments", "[ERROR] must be one of: active, processing, suspended, closed [json-pointer:/session_status]"))
	}
	before := st.message
	c.grow(r, st, p)
	if metadata != nil {
		w := *st.message
		w.Metadata = metadata
		st.message, st.entry.Metadata = &w, metadata
	}
	st.stream.state, st.entry.Stream = "completed", "completed"
	c.session(c.app, r, st.message.ThreadTS, status)
	c.publishChange(r, st.message, before, nil)
	return map[string]any{"channel": r.channel.ID, "ts": st.message.TS, "message": st.message.bare()}
}

// endStream ends the stream that a call is about, as a fault does.
func (s *rooms) endStream(channel, ts string, how Trouble) {
	r := s.open[channel]
	if r == nil {
		return
	}
	st := r.messages[ts]
	if st == nil || !st.stream.isLive(s.opts.Now()) {
		return
	}
	st.stream.state = "expired"
	if how == StreamStopped {
		st.stream.state = "stopped"
	}
	st.entry.Stream = st.stream.state
	s.books.Notify()
}
