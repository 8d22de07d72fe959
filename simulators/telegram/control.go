package telegram

import (
	"encoding/json"
	"net/http"

	"parley/simulators/internal/stage"
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
	c := stage.NewControl[Fault, Book, Totals](s, maxRequest)
	stage.Take(c, "say", func(q sayRequest) (any, error) {
		return s.Say(q.Chat, q.From, q.Text, q.SayOptions)
	})
	stage.Take(c, "paste", func(q sayRequest) (any, error) {
		return s.Paste(q.Chat, q.From, q.Text, q.SayOptions)
	})
	stage.Take(c, "album", func(q albumRequest) (any, error) {
		return s.Album(q.Chat, q.From, q.Text, q.Count, q.SayOptions)
	})
	stage.Take(c, "edit", func(q editRequest) (any, error) {
		return s.Edit(q.ChatID, q.MessageID, q.Text, q.SayOptions)
	})
	stage.Take(c, "press", func(q pressRequest) (any, error) {
		return s.Press(q.From, q.ChatID, q.MessageID, q.Data, q.PressOptions)
	})
	stage.Take(c, "standing", func(q standingRequest) (any, error) {
		return s.SetStanding(q.Chat, q.From, q.Bot, q.Status)
	})
	stage.Take(c, "migrate", func(q standingRequest) (any, error) {
		c, _, err := s.Migrate(q.Chat, q.From)
		return c, err
	})
	stage.Take(c, "inject", func(q injectRequest) (any, error) { return s.Inject(q.Bot, q.Update) })
	return c
}
