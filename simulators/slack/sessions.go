package slack

import (
	"slices"
	"time"
	"unicode/utf8"
)

// An agent's sessions: one for each thread in which it works.
// https://docs.slack.dev/ai/agent-sessions and
// https://docs.slack.dev/reference/methods/agents.sessions.setStatus
var sessionStates = []string{processing, active, "suspended", "closed"}

const (
	processing = "processing"
	active     = "active"
)

// SessionEntry is the session of an agent in a thread.
type SessionEntry struct {
	App      string `json:"app"`
	Channel  string `json:"channel"`
	ThreadTS string `json:"thread_ts"`
	Title    string `json:"title,omitempty"`
	// Status is processing, active, suspended or closed. While it is processing people
	// see that the agent works, and a button to stop it. Nothing but the app, and an
	// hour, ends that: not what it posts, and not the button.
	Status string `json:"status"`
	// Statuses are all that it has had, in order.
	Statuses []string  `json:"statuses"`
	At       time.Time `json:"at"` // of the last
}

type sessionKey struct{ app, channel, thread string }

// session gives a thread's session the status, and makes it if need be. Only what is
// declared as an agent has any.
func (s *rooms) session(a *app, r *room, thread, status string) *SessionEntry {
	if !a.AgentView || thread == "" {
		return nil
	}
	k := sessionKey{a.Name, r.channel.ID, thread}
	e := s.sessions[k]
	if e == nil {
		e = s.books.sessions.Add(SessionEntry{App: a.Name, Channel: r.channel.ID, ThreadTS: thread})
		s.sessions[k] = e
	}
	if e.Status != status {
		e.Status, e.At = status, s.opts.Now()
		e.Statuses = append(e.Statuses, status)
	}
	s.books.Notify()
	return e
}

func (c *call) setSession() any {
	r := c.target(true)
	title := c.args["title"]
	switch {
	case !c.app.AgentView:
		panic(refuse("not_authorized"))
	case !slices.Contains(sessionStates, c.args["status"]):
		panic(refuse("invalid_arguments", "[ERROR] must be one of: active, processing, suspended, closed [json-pointer:/status]"))
	case !stampShape.MatchString(c.args["thread_ts"]):
		panic(refuse("invalid_thread_ts"))
	case utf8.RuneCountInString(title) > 200:
		panic(refuse("invalid_arguments", "[ERROR] must be no more than 200 characters [json-pointer:/title]"))
	}
	e := c.session(c.app, r, c.args["thread_ts"], c.args["status"])
	if len(e.Statuses) == 1 && e.Title == "" { // of a session that this call made
		e.Title = title
	}
	out := map[string]any{"status": e.Status, "agent_status": e.Status, "title": e.Title}
	if !c.app.isSubscribed("agent_session_stopped", "") {
		out["warning"] = "missing_agent_session_stopped_event_subscription"
	}
	return out
}
