package slack

import (
	"net/http"

	"parley/simulators/internal/stage"
)

// control returns the interface for a harness in another process: what every simulator has,
// and what people and Slack do, under the names of their arguments. Each answers what
// the method of that name does. In /sim/unfurl text is the link, in /sim/react the name
// of an emoji.
func (s *Server) control() http.Handler {
	c := stage.NewControl[Fault, Book, Totals](s, maxRequest)
	c.Do("say", s.Say, "channel", "from", "text", "")
	c.Do("edit", s.Edit, "channel", "ts", "text", "")
	c.Do("delete", s.Delete, "channel", "ts")
	c.Do("unfurl", s.Unfurl, "channel", "ts", "text")
	c.Do("react", s.React, "from", "channel", "ts", "text", "remove")
	c.Do("command", s.Command, "app", "channel", "from", "command", "text")
	c.Do("press", s.Press, "from", "channel", "ts", "action_id", "value")
	c.Do("join", s.Join, "channel", "from")
	c.Do("archive", s.Archive, "channel")
	c.Do("assistant", s.OpenAssistant, "app", "from", "context")
	c.Do("context", s.ChangeContext, "app", "from", "thread", "context")
	c.Do("stop", s.StopStreams, "from", "channel", "thread")
	c.Do("member", s.SetMember, "channel", "app", "member")
	c.Do("disconnect", s.Disconnect, "app", "reason")
	c.Do("cut", s.Cut, "app")
	c.Do("enable", s.EnableSocketMode, "app")
	c.Do("lapse", s.Lapse)
	c.Do("revoke", s.Revoke, "app", "error")
	c.Do("inject", s.Inject, "app", "event")
	c.Do("frame", s.InjectFrame, "app", "frame")
	return c
}
