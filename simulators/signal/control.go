package signal

import (
	"net/http"

	"parley/simulators/internal/stage"
)

// maxRequest bounds what another process may send: a file of 100 MB in base64.
const maxRequest = 160 << 20

// control returns the interface for a harness in another process: what every simulator has,
// and what people, their devices and the machine of the daemons do, under the names of
// their arguments. Each answers what the method of that name does. In /sim/scan text is
// the address of a device, an attachment's data is base64.
func (s *Server) control() http.Handler {
	c := stage.NewControl[Fault, Book, Totals](s, maxRequest)
	c.Do("say", s.Say, "chat", "from", "text", "")
	c.Do("edit", s.Edit, "chat", "from", "target", "text", "")
	c.Do("delete", s.Delete, "chat", "from", "target")
	c.Do("react", s.React, "chat", "from", "target", "emoji", "remove")
	c.Do("type", s.Type, "chat", "from", "stopped")
	c.Do("receipt", s.Receipt, "chat", "from", "kind", "of")
	c.Do("timer", s.SetTimer, "chat", "from", "seconds")
	c.Do("rename", s.Rename, "chat", "from")
	c.Do("invite", s.Invite, "chat", "from", "who")
	c.Do("remove", s.Remove, "chat", "from", "who")
	c.Do("story", s.Story, "chat", "from", "text")
	c.Do("call", s.Call, "chat", "from")
	c.Do("sync", s.Synced, "account", "sync")
	c.Do("echo", s.Echo, "account", "text")
	c.Do("unreadable", s.Unreadable, "chat", "from", "kind", "text")
	c.Do("inject", s.Inject, "account", "entry")
	c.Do("meet", s.Meet, "from")
	c.Do("reinstall", s.Reinstall, "from")
	c.Do("registered", s.SetRegistered, "from", "registered")
	c.Do("limit", s.Limit, "account", "seconds")
	c.Do("scan", s.Scan, "text", "account")
	c.Do("version", s.SetVersion, "text")
	c.Do("kill", s.Kill, "account")
	c.Do("hang", s.Hang, "account")
	c.Do("resume", s.Resume, "account")
	return c
}
