package telegram

import (
	"encoding/json"
	"net/http"
)

// sayRequest is the body of POST /sim/say. Text, chat and from are required;
// the fields of SayOptions may stand beside them. A "media" file is base64.
type sayRequest struct {
	Chat Chat   `json:"chat"`
	From Person `json:"from"`
	Text string `json:"text"`
	SayOptions
}

// albumRequest is the body of POST /sim/album: as sayRequest, with the number of
// photos.
type albumRequest struct {
	sayRequest
	Count int `json:"count"`
}

// editRequest is the body of POST /sim/edit.
type editRequest struct {
	ChatID    int64  `json:"chat_id"`
	MessageID int64  `json:"message_id"`
	Text      string `json:"text"`
	SayOptions
}

// pressRequest is the body of POST /sim/press.
type pressRequest struct {
	From      Person `json:"from"`
	ChatID    int64  `json:"chat_id"`
	MessageID int64  `json:"message_id"`
	Data      string `json:"data"`
	PressOptions
}

// standingRequest is the body of POST /sim/standing and, without bot and
// status, of POST /sim/migrate.
type standingRequest struct {
	Chat   Chat   `json:"chat"`
	From   Person `json:"from"`
	Bot    string `json:"bot,omitempty"`
	Status string `json:"status,omitempty"`
}

// injectRequest is the body of POST /sim/inject; bot is optional.
type injectRequest struct {
	Bot    string          `json:"bot,omitempty"`
	Update json.RawMessage `json:"update"`
}

// control is the interface for a harness in another process:
//
//	GET  /sim/books   the Book
//	GET  /sim/totals  the Totals, cheap enough to poll
//	POST /sim/say     a message; answers Said
//	POST /sim/paste   a long text, split as clients do; answers an array of Said
//	POST /sim/album   count photos sent as one, text being the caption; an array of Said
//	POST /sim/edit    a changed message; answers Said
//	POST /sim/press   a pressed button; answers Said
//	POST /sim/standing  a bot's membership; answers Said
//	POST /sim/migrate   group to supergroup; answers the new Chat
//	POST /sim/faults  an array of Fault; DELETE ends all of them
//	POST /sim/inject  a raw update; answers Ref
//	POST /sim/reset   a fresh world
//
// What cannot be done is answered 400 with {"error": …}.
func (s *Server) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sim/books", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.Books(), nil) })
	mux.HandleFunc("GET /sim/totals", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.Totals(), nil) })
	mux.HandleFunc("POST /sim/say", take(func(q sayRequest) (any, error) {
		return s.Say(q.Chat, q.From, q.Text, q.SayOptions)
	}))
	mux.HandleFunc("POST /sim/paste", take(func(q sayRequest) (any, error) {
		return s.Paste(q.Chat, q.From, q.Text, q.SayOptions)
	}))
	mux.HandleFunc("POST /sim/album", take(func(q albumRequest) (any, error) {
		return s.Album(q.Chat, q.From, q.Text, q.Count, q.SayOptions)
	}))
	mux.HandleFunc("POST /sim/edit", take(func(q editRequest) (any, error) {
		return s.Edit(q.ChatID, q.MessageID, q.Text, q.SayOptions)
	}))
	mux.HandleFunc("POST /sim/press", take(func(q pressRequest) (any, error) {
		return s.Press(q.From, q.ChatID, q.MessageID, q.Data, q.PressOptions)
	}))
	mux.HandleFunc("POST /sim/standing", take(func(q standingRequest) (any, error) {
		return s.SetStanding(q.Chat, q.From, q.Bot, q.Status)
	}))
	mux.HandleFunc("POST /sim/migrate", take(func(q standingRequest) (any, error) {
		c, _, err := s.Migrate(q.Chat, q.From)
		return c, err
	}))
	mux.HandleFunc("POST /sim/faults", take(func(fs []Fault) (any, error) { return true, s.Plan(fs...) }))
	mux.HandleFunc("DELETE /sim/faults", func(w http.ResponseWriter, _ *http.Request) {
		s.ClearFaults()
		answer(w, true, nil)
	})
	mux.HandleFunc("POST /sim/inject", take(func(q injectRequest) (any, error) { return s.Inject(q.Bot, q.Update) }))
	mux.HandleFunc("POST /sim/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		answer(w, true, nil)
	})
	return mux
}

func take[In any](do func(In) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			answer(w, nil, err)
			return
		}
		v, err := do(in)
		answer(w, v, err)
	}
}

func answer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		v = map[string]string{"error": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(v)
}
