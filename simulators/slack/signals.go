package slack

import (
	"encoding/json"
	"strings"
)

// signal books and shows something that is not a message. The caller holds the
// lock.
func (s *Server) signal(e SignalEntry) {
	e.At = s.opts.Now()
	s.books.signals.Add(e)
	s.show(Happening{Kind: e.Kind, App: e.App, Channel: e.Channel, ThreadTS: e.ThreadTS, TS: e.TS, Text: e.Text, At: e.At})
	s.books.Notify()
}

func (s *Server) setStatus(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.target(c, true)
	switch {
	case refused != nil:
		return nil, refused
	case !stampShape.MatchString(c.args["thread_ts"]):
		return nil, refuse("invalid_thread_ts")
	}
	var loading []string
	if raw := c.args["loading_messages"]; raw != "" && json.Unmarshal([]byte(raw), &loading) != nil {
		loading = strings.Split(raw, ",")
	}
	if len(loading) > 10 {
		return nil, refuse("invalid_arguments", "[ERROR] no more than 10 items allowed [json-pointer:/loading_messages]")
	}
	// Apps that have not changed over to sessions have them all the same.
	state := processing
	if c.args["status"] == "" {
		state = active
	}
	s.session(c.app, r, c.args["thread_ts"], state)
	s.signal(SignalEntry{
		App: c.app.Name, Kind: "status", Channel: r.channel.ID, ThreadTS: c.args["thread_ts"], Text: c.args["status"],
	})
	return nil, nil
}

func (s *Server) setPrompts(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var prompts []struct {
		Title   string `json:"title"`
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(c.args["prompts"]), &prompts) != nil {
		return nil, refuse("invalid_arguments")
	}
	for _, p := range prompts {
		if p.Title == "" || p.Message == "" {
			return nil, refuse("invalid_arguments", "[ERROR] missing required field: message [json-pointer:/prompts]")
		}
	}
	if !c.app.AgentView && c.args["thread_ts"] == "" {
		return nil, refuse("not_agent_app")
	}
	if c.app.AgentView {
		r, refused := s.target(c, true)
		if refused != nil || c.args["thread_ts"] != "" { // with a thread it silently fails
			return nil, refused
		}
		s.signal(SignalEntry{App: c.app.Name, Kind: "prompts", Channel: r.channel.ID, Payload: mustJSON(prompts)})
		return nil, nil
	}
	r, root, refused := s.assistantThread(c)
	if refused != nil {
		return nil, refused
	}
	s.signal(SignalEntry{
		App: c.app.Name, Kind: "prompts", Channel: r.channel.ID, ThreadTS: root.message.TS, Text: c.args["title"], Payload: mustJSON(prompts),
	})
	return nil, nil
}

// assistantThread is the thread that a call is about.
func (s *Server) assistantThread(c *call) (*room, *storedMessage, *refusal) {
	r, refused := s.target(c, true)
	if refused != nil {
		return nil, nil, refused
	}
	root := r.messages[c.args["thread_ts"]]
	switch {
	case !stampShape.MatchString(c.args["thread_ts"]):
		return nil, nil, refuse("invalid_thread_ts")
	case root == nil || r.channel.Kind != IM:
		return nil, nil, refuse("channel_not_found")
	}
	return r, root, nil
}
