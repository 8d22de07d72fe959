package slack

import (
	"encoding/json"
	"net/http"

	"parley/simulators/internal/stage"
)

// sayRequest is the body of POST /sim/say. Channel, from and text are required;
// the fields of SayOptions may stand beside them.
type sayRequest struct {
	Channel Channel `json:"channel"`
	From    Person  `json:"from"`
	Text    string  `json:"text"`
	SayOptions
}

// messageRequest is the body of what is about one message: /sim/edit,
// /sim/delete, /sim/unfurl (text is the link), /sim/react (text is the name).
type messageRequest struct {
	Channel string `json:"channel"`
	TS      string `json:"ts"`
	From    Person `json:"from"`
	Text    string `json:"text"`
	Remove  bool   `json:"remove,omitempty"`
	Raw     bool   `json:"raw,omitempty"`
}

// commandRequest is the body of POST /sim/command.
type commandRequest struct {
	App     string  `json:"app,omitempty"`
	Channel Channel `json:"channel"`
	From    Person  `json:"from"`
	Command string  `json:"command"`
	Text    string  `json:"text"`
}

// pressRequest is the body of POST /sim/press.
type pressRequest struct {
	From     Person `json:"from"`
	Channel  string `json:"channel"`
	TS       string `json:"ts"`
	ActionID string `json:"action_id"`
	Value    string `json:"value"`
}

// memberRequest is the body of POST /sim/member and, without app and member, of
// /sim/join and /sim/archive.
type memberRequest struct {
	Channel Channel `json:"channel"`
	From    Person  `json:"from"`
	App     string  `json:"app,omitempty"`
	Member  bool    `json:"member,omitempty"`
}

// assistantRequest is the body of POST /sim/assistant, /sim/context and, with
// channel and thread alone, /sim/stop.
type assistantRequest struct {
	App     string  `json:"app,omitempty"`
	From    Person  `json:"from"`
	Channel string  `json:"channel,omitempty"`
	Thread  string  `json:"thread,omitempty"`
	Context Context `json:"context"`
}

// appRequest is the body of what is about an app: /sim/disconnect (reason),
// /sim/cut, /sim/revoke (error), /sim/inject (event).
type appRequest struct {
	App    string          `json:"app,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Error  string          `json:"error,omitempty"`
	Event  json.RawMessage `json:"event,omitempty"`
	Frame  string          `json:"frame,omitempty"`
	URL    string          `json:"url,omitempty"`
}

// control is the interface for a harness in another process:
//
//	GET  /sim/books       the Book
//	GET  /sim/totals      the Totals, cheap enough to poll
//	POST /sim/say         a message; answers Said
//	POST /sim/edit        a changed message; answers Said
//	POST /sim/delete      a message taken away
//	POST /sim/unfurl      a link's preview; answers Said
//	POST /sim/react       a reaction; answers Said
//	POST /sim/command     a slash command; answers Said
//	POST /sim/press       a pressed button; answers Said
//	POST /sim/join        somebody joins; answers Said
//	POST /sim/member      the app joins or leaves; answers Said
//	POST /sim/archive     a channel is archived
//	POST /sim/assistant   an assistant thread; answers Said
//	POST /sim/context     its context changes; answers Said
//	POST /sim/stop        somebody stops what streams in a thread; answers Said
//	POST /sim/disconnect  a disconnect message on every connection; answers how many
//	POST /sim/cut         every connection breaks; answers how many
//	POST /sim/enable      Socket Mode works again after link_disabled
//	POST /sim/lapse       what is not acknowledged times out; answers how many
//	POST /sim/revoke      the tokens fail with an error; without one they work again
//	POST /sim/verify      url_verification of a request URL, which is used from then on
//	POST /sim/inject      a raw inner event; answers Said
//	POST /sim/frame       a raw frame on a connection
//	POST /sim/faults      an array of Fault; DELETE ends all of them
//	POST /sim/reset       a fresh world
//
// What cannot be done is answered 400 with {"error": …}.
func (s *Server) control() http.Handler {
	c := stage.NewControl[Fault, Book, Totals](s, maxRequest)
	c.Do("lapse", func() (any, error) { return s.Lapse(), nil })
	s.controlPeople(c)
	s.controlApps(c)
	return c
}

func (s *Server) controlPeople(c *stage.Control) {
	stage.Take(c, "say", func(q sayRequest) (any, error) { return s.Say(q.Channel, q.From, q.Text, q.SayOptions) })
	stage.Take(c, "edit", func(q messageRequest) (any, error) {
		return s.Edit(q.Channel, q.TS, q.Text, SayOptions{Raw: q.Raw})
	})
	stage.Take(c, "delete", func(q messageRequest) (any, error) { return true, s.Delete(q.Channel, q.TS) })
	stage.Take(c, "unfurl", func(q messageRequest) (any, error) { return s.Unfurl(q.Channel, q.TS, q.Text) })
	stage.Take(c, "react", func(q messageRequest) (any, error) {
		return s.React(q.From, q.Channel, q.TS, q.Text, q.Remove)
	})
	stage.Take(c, "command", func(q commandRequest) (any, error) {
		return s.Command(q.App, q.Channel, q.From, q.Command, q.Text)
	})
	stage.Take(c, "press", func(q pressRequest) (any, error) {
		return s.Press(q.From, q.Channel, q.TS, q.ActionID, q.Value)
	})
	stage.Take(c, "join", func(q memberRequest) (any, error) { return s.Join(q.Channel, q.From) })
	stage.Take(c, "archive", func(q memberRequest) (any, error) { return true, s.Archive(q.Channel) })
	stage.Take(c, "assistant", func(q assistantRequest) (any, error) { return s.OpenAssistant(q.App, q.From, q.Context) })
	stage.Take(c, "context", func(q assistantRequest) (any, error) {
		return s.ChangeContext(q.App, q.From, q.Thread, q.Context)
	})
	stage.Take(c, "stop", func(q assistantRequest) (any, error) { return s.StopStreams(q.From, q.Channel, q.Thread) })
}

func (s *Server) controlApps(c *stage.Control) {
	stage.Take(c, "member", func(q memberRequest) (any, error) { return s.SetMember(q.Channel, q.App, q.Member) })
	stage.Take(c, "disconnect", func(q appRequest) (any, error) { return s.Disconnect(q.App, q.Reason) })
	stage.Take(c, "cut", func(q appRequest) (any, error) { return s.Cut(q.App) })
	stage.Take(c, "enable", func(q appRequest) (any, error) { return true, s.EnableSocketMode(q.App) })
	stage.Take(c, "revoke", func(q appRequest) (any, error) { return true, s.Revoke(q.App, q.Error) })
	stage.Take(c, "verify", func(q appRequest) (any, error) { return true, s.VerifyURL(q.App, q.URL) })
	stage.Take(c, "inject", func(q appRequest) (any, error) { return s.Inject(q.App, q.Event) })
	stage.Take(c, "frame", func(q appRequest) (any, error) { return true, s.InjectFrame(q.App, q.Frame) })
}
