package slack

import (
	"encoding/json"
	"net/http"
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
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sim/books", func(w http.ResponseWriter, _ *http.Request) { respond(w, s.Books(), nil) })
	mux.HandleFunc("GET /sim/totals", func(w http.ResponseWriter, _ *http.Request) { respond(w, s.Totals(), nil) })
	mux.HandleFunc("DELETE /sim/faults", func(w http.ResponseWriter, _ *http.Request) {
		s.ClearFaults()
		respond(w, true, nil)
	})
	mux.HandleFunc("POST /sim/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		respond(w, true, nil)
	})
	mux.HandleFunc("POST /sim/lapse", func(w http.ResponseWriter, _ *http.Request) { respond(w, s.Lapse(), nil) })
	mux.HandleFunc("POST /sim/faults", take(func(fs []Fault) (any, error) { return true, s.Plan(fs...) }))
	s.controlPeople(mux)
	s.controlApps(mux)
	return mux
}

func (s *Server) controlPeople(mux *http.ServeMux) {
	mux.HandleFunc("POST /sim/say", take(func(q sayRequest) (any, error) { return s.Say(q.Channel, q.From, q.Text, q.SayOptions) }))
	mux.HandleFunc("POST /sim/edit", take(func(q messageRequest) (any, error) {
		return s.Edit(q.Channel, q.TS, q.Text, SayOptions{Raw: q.Raw})
	}))
	mux.HandleFunc("POST /sim/delete", take(func(q messageRequest) (any, error) { return true, s.Delete(q.Channel, q.TS) }))
	mux.HandleFunc("POST /sim/unfurl", take(func(q messageRequest) (any, error) { return s.Unfurl(q.Channel, q.TS, q.Text) }))
	mux.HandleFunc("POST /sim/react", take(func(q messageRequest) (any, error) {
		return s.React(q.From, q.Channel, q.TS, q.Text, q.Remove)
	}))
	mux.HandleFunc("POST /sim/command", take(func(q commandRequest) (any, error) {
		return s.Command(q.App, q.Channel, q.From, q.Command, q.Text)
	}))
	mux.HandleFunc("POST /sim/press", take(func(q pressRequest) (any, error) {
		return s.Press(q.From, q.Channel, q.TS, q.ActionID, q.Value)
	}))
	mux.HandleFunc("POST /sim/join", take(func(q memberRequest) (any, error) { return s.Join(q.Channel, q.From) }))
	mux.HandleFunc("POST /sim/archive", take(func(q memberRequest) (any, error) { return true, s.Archive(q.Channel) }))
	mux.HandleFunc("POST /sim/assistant", take(func(q assistantRequest) (any, error) { return s.OpenAssistant(q.App, q.From, q.Context) }))
	mux.HandleFunc("POST /sim/context", take(func(q assistantRequest) (any, error) {
		return s.ChangeContext(q.App, q.From, q.Thread, q.Context)
	}))
	mux.HandleFunc("POST /sim/stop", take(func(q assistantRequest) (any, error) { return s.StopStreams(q.From, q.Channel, q.Thread) }))
}

func (s *Server) controlApps(mux *http.ServeMux) {
	mux.HandleFunc("POST /sim/member", take(func(q memberRequest) (any, error) { return s.SetMember(q.Channel, q.App, q.Member) }))
	mux.HandleFunc("POST /sim/disconnect", take(func(q appRequest) (any, error) { return s.Disconnect(q.App, q.Reason) }))
	mux.HandleFunc("POST /sim/cut", take(func(q appRequest) (any, error) { return s.Cut(q.App) }))
	mux.HandleFunc("POST /sim/enable", take(func(q appRequest) (any, error) { return true, s.EnableSocketMode(q.App) }))
	mux.HandleFunc("POST /sim/revoke", take(func(q appRequest) (any, error) { return true, s.Revoke(q.App, q.Error) }))
	mux.HandleFunc("POST /sim/verify", take(func(q appRequest) (any, error) { return true, s.VerifyURL(q.App, q.URL) }))
	mux.HandleFunc("POST /sim/inject", take(func(q appRequest) (any, error) { return s.Inject(q.App, q.Event) }))
	mux.HandleFunc("POST /sim/frame", take(func(q appRequest) (any, error) { return true, s.InjectFrame(q.App, q.Frame) }))
}

func take[In any](do func(In) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			respond(w, nil, err)
			return
		}
		v, err := do(in)
		respond(w, v, err)
	}
}

func respond(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		v = map[string]string{"error": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(v)
}
