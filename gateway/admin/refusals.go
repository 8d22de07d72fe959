package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"parley/gateway/fates"
)

// RefusalPage is what was refused in the last days, the latest first, and at most [MaxRefusals].
type RefusalPage struct {
	Now      time.Time `json:"now"`
	Refusals []Refusal `json:"refusals"`
}

// MaxRefusals is how many refusals are listed.
const MaxRefusals = 100

// Refusal is a message that somebody sent and nobody answered, without its words.
type Refusal struct {
	At      time.Time `json:"at"`
	Channel string    `json:"channel"`
	Chat    string    `json:"chat,omitempty"`
	Message string    `json:"message,omitempty"` // the network's id of it
	Sender  string    `json:"sender,omitempty"`  // the network's stable id
	Name    string    `json:"name,omitempty"`    // as the network shows the sender: their own words
	Reason  string    `json:"reason"`            // as the metrics name it
	Why     string    `json:"why"`
}

func (s *Server) refusals(r *http.Request) (any, error) {
	page := RefusalPage{Now: s.o.Now().UTC(), Refusals: []Refusal{}}
	if s.o.Refused == nil {
		return page, nil
	}
	all, err := s.o.Refused(r.Context())
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	for _, p := range all[:min(len(all), MaxRefusals)] {
		page.Refusals = append(page.Refusals, describeRefusal(p))
	}
	return page, nil
}

func describeRefusal(p fates.Passed) Refusal {
	return Refusal{At: p.At.UTC(), Channel: p.Channel, Chat: p.Chat, Message: p.Message, Sender: p.Sender, Name: p.Name, Reason: p.Reason, Why: p.Why}
}

// Refusals lists the messages of the last days that were refused, the latest first.
func (c *Client) Refusals(ctx context.Context) (RefusalPage, error) {
	return askFor[RefusalPage](ctx, c.connection, http.MethodGet, "/v1/refusals", nil)
}
