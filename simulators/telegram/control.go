package telegram

import (
	"net/http"

	"parley/simulators/internal/stage"
)

// control returns the interface for a harness in another process: what every simulator has,
// and what people and their clients do, under the names of their arguments. Each answers
// what the method of that name does, migrate the new Chat. A "media" file is base64.
func (s *Server) control() http.Handler {
	c := stage.NewControl[Fault, Book, Totals](s, maxRequest)
	c.Do("say", s.Say, "chat", "from", "text", "")
	c.Do("paste", s.Paste, "chat", "from", "text", "")
	c.Do("album", s.Album, "chat", "from", "text", "count", "")
	c.Do("edit", s.Edit, "chat_id", "message_id", "text", "")
	c.Do("press", s.Press, "from", "chat_id", "message_id", "data", "")
	c.Do("press_ephemeral", s.PressEphemeral, "from", "chat_id", "ephemeral_id", "data")
	c.Do("standing", s.SetStanding, "chat", "from", "bot", "status")
	c.Do("migrate", s.Migrate, "chat", "from")
	c.Do("inject", s.Inject, "bot", "update")
	return c
}
