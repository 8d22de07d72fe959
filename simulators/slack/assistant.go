package slack

import (
	"encoding/json"

	"parley/simulators/internal/stage"
)

// Context is the channel that somebody looks at beside an assistant thread.
type Context struct {
	ChannelID    string `json:"channel_id,omitempty"`
	TeamID       string `json:"team_id,omitempty"`
	EnterpriseID string `json:"enterprise_id,omitempty"`
}

// OpenAssistant lets p open a new thread with the app's assistant: the app gets
// assistant_thread_started, or on the agent surface app_home_opened. What p says
// then goes into the thread ActionResult.ThreadTS.
func (s *people) OpenAssistant(app string, p Person, at Context) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "open assistant")()
	a := s.installed(app)
	s.known[p.ID] = p
	r := s.dm(p.ID, a)
	said = ActionResult{Channel: r.channel.ID}
	if a.AgentView {
		s.announce(a, r, "app_home_opened", map[string]any{"user": p.ID, "channel": r.channel.ID, "tab": "messages"}, EventEntry{User: p.ID}, &said)
		return said, nil
	}
	ts := s.stamp()
	// Its author is the person who opened it, not the app:
	// https://docs.slack.dev/reference/events/message/assistant_app_thread
	r.add(&storedMessage{message: &wireMessage{
		Type: "message", Subtype: assistantRoot, Text: newThread, User: p.ID, TS: ts, ThreadTS: ts, Team: s.teamOf(p),
		Assistant: &wireAssistant{Title: newThread, TitleBlocks: json.RawMessage("[]"), Artifacts: []string{}},
	}})
	said.TS, said.ThreadTS = ts, ts
	s.assist(a, r, p, ts, at, "assistant_thread_started", &said)
	return said, nil
}

// ChangeContext lets p look at something else beside an assistant thread.
func (s *people) ChangeContext(app string, p Person, thread string, at Context) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "change context")()
	a := s.installed(app)
	r := s.dm(p.ID, a)
	said = ActionResult{Channel: r.channel.ID, ThreadTS: thread}
	if a.AgentView {
		s.announce(a, r, "app_context_changed", map[string]any{
			"user": p.ID, "channel": r.channel.ID,
			"context": map[string]any{"entities": []any{map[string]any{"type": "slack#/types/channel_id", "value": at.ChannelID}}},
		}, EventEntry{User: p.ID}, &said)
		return said, nil
	}
	if r.messages[thread] == nil {
		panic(stage.Forbid("%w: thread %s", errNoMessage, thread))
	}
	s.assist(a, r, p, thread, at, "assistant_thread_context_changed", &said)
	return said, nil
}

// assistantRoot is the subtype of the first message of an assistant thread.
const (
	assistantRoot = "assistant_app_thread"
	newThread     = "New Assistant Thread"
)

// retitle gives an assistant thread its title, which stands in its first message.
// Apps are told of that as of a change by its author, with a time in edited.
func (s *rooms) retitle(r *room, root *storedMessage, title string, told *ActionResult) {
	before := root.message
	w := *before
	w.Text = title
	w.Edited = &wireEdited{User: w.User, TS: s.whole()}
	w.Assistant = &wireAssistant{Title: title, TitleBlocks: richText(escaper.Replace(title), s.makeID("")), Artifacts: []string{}}
	root.message = &w
	s.publishChange(r, root.message, before, told)
}

func (s *rooms) assist(a *app, r *room, p Person, thread string, at Context, kind string, said *ActionResult) {
	s.announce(a, r, kind, map[string]any{
		"assistant_thread": map[string]any{"user_id": p.ID, "context": at, "channel_id": r.channel.ID, "thread_ts": thread},
	}, EventEntry{ThreadTS: thread, User: p.ID}, said)
}

// StopStreams lets p press stop in a thread: what streams there ends, and the
// app gets agent_session_stopped.
func (s *people) StopStreams(p Person, channel, thread string) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "stop")()
	r := s.open[channel]
	if r == nil {
		panic(stage.Forbid("%w: %q", errNoChannel, channel))
	}
	said = ActionResult{Channel: channel, ThreadTS: thread}
	for _, a := range s.apps {
		if !s.isMember(r, a) {
			continue
		}
		stopped := []string{}
		for _, ts := range r.order {
			st := r.messages[ts]
			if st.author == a && st.message.ThreadTS == thread && st.stream.isLive(s.opts.Now()) {
				st.stream.state, st.entry.Stream = "stopped", "stopped"
				stopped = append(stopped, ts)
			}
		}
		s.announce(a, r, "agent_session_stopped", map[string]any{
			"channel": channel, "thread_ts": thread, "user": p.ID, "streaming_message_ts": stopped,
		}, EventEntry{ThreadTS: thread, User: p.ID}, &said)
	}
	s.books.Notify()
	return said, nil
}
