package slack

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// stream is a message that grows.
type stream struct {
	until time.Time
	state string // streaming, completed, expired or stopped
	text  string
	tasks []json.RawMessage // chunks that are no text
	end   json.RawMessage   // blocks below the text
}

// isLive tells whether the stream takes more. It notices that time has passed.
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

func readPiece(c *call) (piece, *refusal) {
	p := piece{text: c.args["markdown_text"]}
	if raw := c.args["chunks"]; raw != "" {
		if p.text != "" {
			return p, refuse("markdown_text_conflict")
		}
		var list []json.RawMessage
		if json.Unmarshal([]byte(raw), &list) != nil {
			return p, refuse("invalid_chunks")
		}
		for _, one := range list {
			var k struct {
				Type   string          `json:"type"`
				Text   string          `json:"text"`
				ID     string          `json:"id"`
				Blocks json.RawMessage `json:"blocks"`
			}
			if json.Unmarshal(one, &k) != nil {
				return p, refuse("invalid_chunks")
			}
			switch k.Type {
			case "markdown_text":
				p.text += k.Text
			case "task_update", "plan_update":
				p.tasks = append(p.tasks, one)
			case "blocks":
				if _, refused := readBlocks(k.Blocks); refused != nil {
					return p, refused
				}
				p.tasks = append(p.tasks, one)
			default:
				return p, refuse("invalid_chunks")
			}
		}
	}
	if utf8.RuneCountInString(p.text) > maxMarkdown {
		return p, refuse("msg_too_long")
	}
	return p, nil
}

func (s *Server) startStream(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.target(c, true)
	if refused != nil {
		return nil, refused
	}
	switch {
	case c.args["thread_ts"] == "":
		return nil, refuse("invalid_thread_ts")
	case r.channel.Kind != IM && c.args["recipient_team_id"] == "":
		return nil, refuse("missing_recipient_team_id")
	case r.channel.Kind != IM && c.args["recipient_user_id"] == "":
		return nil, refuse("missing_recipient_user_id")
	}
	to, refused := s.recipient(c, r)
	if refused != nil {
		return nil, refused
	}
	piece, refused := readPiece(c)
	if refused != nil {
		return nil, refused
	}
	p := post{text: piece.text, shown: piece.text, pings: pingedUsers(piece.text)}
	m, refused := s.compose(c, r, p)
	if refused != nil {
		return nil, refused
	}
	st := &stream{until: s.opts.Now().Add(s.opts.StreamLife), state: "streaming", text: piece.text, tasks: piece.tasks}
	m.Blocks = st.blocks()
	p.blocks = m.Blocks
	s.put(c, r, m, p, st)
	c.message.StreamTo = to
	s.session(c.app, r, m.ThreadTS, processing)
	return map[string]any{"channel": r.channel.ID, "ts": m.TS}, nil
}

// recipient is to whom alone a stream in a channel is shown while it grows, T0/U0; ""
// in a direct message. Who is not of the team that is named is not found in it. That
// nobody else sees it grow is not documented, but reported:
// https://github.com/agentconnect-md/agentconnect/issues/1494
func (s *Server) recipient(c *call, r *room) (string, *refusal) {
	user, team := c.args["recipient_user_id"], c.args["recipient_team_id"]
	if p, ok := s.people[user]; user != "" && (!ok || s.teamOf(p) != team) {
		return "", refuse("user_not_found")
	}
	if r.channel.Kind == IM {
		return "", nil
	}
	return team + "/" + user, nil
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
func (s *Server) streamOf(c *call) (*room, *storedMessage, *refusal) {
	r, refused := s.target(c, true)
	if refused != nil {
		return nil, nil, refused
	}
	st, refused := r.ownMessage(c, "message_not_owned_by_app")
	if refused != nil {
		return nil, nil, refused
	}
	if !st.stream.isLive(s.opts.Now()) {
		if st.stream != nil {
			st.entry.Stream = st.stream.state
		}
		return nil, nil, refuse("message_not_in_streaming_state")
	}
	return r, st, nil
}

func (s *Server) appendStream(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, st, refused := s.streamOf(c)
	if refused != nil {
		return nil, refused
	}
	p, refused := readPiece(c)
	if refused != nil {
		return nil, refused
	}
	if p.text == "" && len(p.tasks) == 0 {
		return nil, refuse("no_text")
	}
	if refused := s.grow(c, r, st, p); refused != nil {
		return nil, refused
	}
	s.books.totals.Streamed++
	return map[string]any{"channel": r.channel.ID, "ts": st.message.TS}, nil
}

// grow adds a piece to a stream and shows it.
func (s *Server) grow(c *call, r *room, st *storedMessage, p piece) *refusal {
	if utf8.RuneCountInString(st.stream.text)+utf8.RuneCountInString(p.text) > maxMarkdown {
		return refuse("msg_too_long")
	}
	st.stream.text += p.text
	st.stream.tasks = append(st.stream.tasks, p.tasks...)
	w := *st.message
	w.Text, w.Blocks = st.stream.text, st.stream.blocks()
	st.message = &w
	shown, _ := readBlocks(w.Blocks) // of own making
	if shown == "" {
		shown = w.Text
	}
	st.entry.Versions = append(st.entry.Versions, s.version(c, post{text: w.Text, shown: shown, blocks: w.Blocks, pings: pingedUsers(w.Text)}))
	_, alone, _ := strings.Cut(st.entry.StreamTo, "/")
	s.show(Happening{
		Kind: "streamed", App: c.app.Name, Channel: r.channel.ID, ThreadTS: w.ThreadTS, TS: w.TS, User: alone, Text: shown, Blocks: w.Blocks, At: s.opts.Now(),
	})
	s.books.Notify()
	return nil
}

func (s *Server) stopStream(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, st, refused := s.streamOf(c)
	if refused != nil {
		return nil, refused
	}
	p, refused := readPiece(c)
	if refused != nil {
		return nil, refused
	}
	metadata, refused := readMetadata(c.args["metadata"])
	if refused != nil {
		return nil, refused
	}
	if raw := c.args["blocks"]; raw != "" && raw != "[]" {
		if _, refused := readBlocks(json.RawMessage(raw)); refused != nil {
			return nil, refused
		}
		st.stream.end = json.RawMessage(raw)
	}
	status := cmp.Or(c.args["session_status"], active)
	if !slices.Contains(sessionStates, status) {
		return nil, refuse("invalid_arguments", "[ERROR] must be one of: active, processing, suspended, closed [json-pointer:/session_status]")
	}
	before := st.message
	if refused := s.grow(c, r, st, p); refused != nil {
		return nil, refused
	}
	if metadata != nil {
		w := *st.message
		w.Metadata = metadata
		st.message, st.entry.Metadata = &w, metadata
	}
	st.stream.state, st.entry.Stream = "completed", "completed"
	s.session(c.app, r, st.message.ThreadTS, status)
	s.publishChange(r, st.message, before, nil)
	return map[string]any{"channel": r.channel.ID, "ts": st.message.TS, "message": st.message.bare()}, nil
}

// endStream ends the stream that a call is about, as a fault does.
func (s *Server) endStream(c *call, how Trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rooms[c.channel()]
	if r == nil {
		return
	}
	st := r.messages[c.args["ts"]]
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
