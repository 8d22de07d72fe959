package slack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// postEphemeral shows a message to one person, who has to be in the conversation. It is in no
// history, and no method changes it: only the URL in the payload of a press of its buttons does.
// https://docs.slack.dev/reference/methods/chat.postEphemeral
func (c *call) postEphemeral() any {
	r, user := c.target(true), c.args["user"]
	switch {
	case !c.isKnownUser(user):
		panic(refuse("user_not_found"))
	case r.channel.Kind != IM && !r.people[user]:
		panic(refuse("user_not_in_channel"))
	}
	p, thread := readPost(c, 0), c.args["thread_ts"]
	c.ts = c.stamp()
	e := c.books.messages.Add(MessageEntry{
		App: c.app.Name, Channel: r.channel.ID, TS: c.ts, ThreadTS: thread, Ephemeral: user, Versions: []Version{p.version(c)},
		Unseen: thread != "" && (r.messages[thread] == nil || r.messages[thread].message.ReplyCount == 0),
	})
	c.message = e
	if len(r.private) >= r.keep {
		clear(r.private)
	}
	r.private[c.ts] = &storedMessage{
		message: &wireMessage{Type: "message", TS: c.ts, ThreadTS: thread, Text: p.text, Blocks: p.blocks}, author: c.app, entry: e,
	}
	c.books.totals.Posted++
	c.show(Happening{
		Kind: "posted", App: c.app.Name, Channel: r.channel.ID, ThreadTS: thread, TS: c.ts, Text: p.shown, Blocks: p.blocks, User: user, At: c.opts.Now(),
	})
	c.books.Notify()
	return map[string]any{"message_ts": c.ts}
}

// findShown returns a message that somebody may see, also one that only one person does.
func (s *rooms) findShown(channel, ts string) (*room, *storedMessage) {
	if r := s.open[channel]; r != nil && r.private[ts] != nil {
		return r, r.private[ts]
	}
	return s.at(channel, ts)
}

// What a response URL is good for. (Slack: "These responses can be sent up to 5 times within 30
// minutes of receiving the payload.")
const (
	responseUses = 5
	responseTime = 30 * time.Minute
)

// response is what a URL in the payload of a press answers to.
type response struct {
	to   *storedMessage
	made time.Time
	uses int
}

// answerAt makes a response URL, by which the message to can be changed; nil: nothing is there.
func (s *people) answerAt(kind string, to *storedMessage) string {
	path := fmt.Sprintf("/%s/%s/%d/%s", kind, s.opts.Team.ID, s.rng.Uint64(), s.makeID(""))
	if to != nil && to.entry.Ephemeral != "" {
		if len(s.responses) >= s.opts.History {
			clear(s.responses)
		}
		s.responses[path] = &response{to: to, made: s.opts.Now()}
	}
	return s.URL() + path
}

// serveResponse takes what an app posts to a response URL. Of all that Slack takes there it knows
// what is the only way to change an ephemeral message: to replace it or to take it away.
func (s *Server) serveResponse(w http.ResponseWriter, q *http.Request) {
	var in struct {
		Text     string          `json:"text"`
		Blocks   json.RawMessage `json:"blocks"`
		Type     string          `json:"response_type"`
		Replace  bool            `json:"replace_original"`
		Delete   bool            `json:"delete_original"`
		ThreadTS string          `json:"thread_ts"`
	}
	body := json.NewDecoder(http.MaxBytesReader(w, q.Body, 1<<20))
	body.DisallowUnknownFields()
	decodeErr := body.Decode(&in)
	s.mu.Lock()
	defer s.mu.Unlock()
	refuse := func(status int, code string) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"ok":false,"error":%q}`, code) // a client that is gone
	}
	to := s.responses[q.URL.Path]
	switch {
	case q.Method != http.MethodPost || q.Header.Get("Content-Type") != "application/json" || decodeErr != nil:
		refuse(http.StatusBadRequest, "invalid_payload")
	case to == nil || s.opts.Now().Sub(to.made) > responseTime:
		refuse(http.StatusNotFound, "expired_url")
	case to.uses >= responseUses:
		refuse(http.StatusNotFound, "used_url")
	case !in.Replace && !in.Delete:
		refuse(http.StatusNotImplemented, "not_simulated")
	case !in.Delete && in.Text == "" && len(in.Blocks) == 0:
		refuse(http.StatusInternalServerError, "no_text")
	default:
		to.uses++
		s.replaceEphemeral(to.to, in.Delete, in.Text, in.Blocks, q.RemoteAddr)
		_, _ = w.Write([]byte("ok")) // as above
	}
}

// replaceEphemeral changes what one person sees. The caller holds the lock.
func (s *Server) replaceEphemeral(st *storedMessage, gone bool, text string, blocks json.RawMessage, remote string) {
	now := s.opts.Now()
	if gone {
		st.entry.Deleted = now
	} else {
		w := *st.message
		w.Text, w.Blocks = text, blocks
		st.message = &w
		st.entry.Versions = append(st.entry.Versions, Version{Text: text, Shown: text, Blocks: blocks, Method: "response_url", Remote: remote, At: now})
	}
	s.books.totals.Edited++
	s.show(Happening{
		Kind: "edited", App: st.entry.App, Channel: st.entry.Channel, ThreadTS: st.entry.ThreadTS, TS: st.entry.TS, Text: text, Blocks: blocks, User: st.entry.Ephemeral, At: now,
	})
	s.books.Notify()
}
