package admin

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"parley/gateway/erasure"
	"parley/gateway/fates"
	"parley/sessionkeys"
)

// WhyQuery says of which message an operator asks.
type WhyQuery = fates.Query

// Fates are what became of the messages that an operator asked about.
type Fates struct {
	Fates []Fate `json:"fates"` // oldest first, at most fates.MostFates; nothing known: an empty list
}

// Fate is what became of one message. It quotes nothing of it.
type Fate struct {
	Channel    string        `json:"channel"`
	Chat       string        `json:"chat,omitempty"`
	Message    string        `json:"message,omitempty"` // the network's id of it
	Event      string        `json:"event,omitempty"`
	Sender     string        `json:"sender,omitempty"`
	Name       string        `json:"name,omitempty"` // as the network shows the sender
	ReceivedAt time.Time     `json:"received_at"`
	Verdict    fates.Verdict `json:"verdict"`
	Reason     string        `json:"reason,omitempty"` // why it was passed over, or is a dead letter, as the metrics name it
	Why        string        `json:"why"`              // by which rule
	Key        string        `json:"key,omitempty"`    // of its conversation
	QueuedAt   time.Time     `json:"queued_at,omitzero"`
	Turn       *FateTurn     `json:"turn,omitempty"`
	Answers    []FateAnswer  `json:"answers"`
	Letter     string        `json:"letter,omitempty"` // the dead letter's id
}

// FateTurn is the turn that took a message.
type FateTurn struct {
	ID       string                `json:"id"`
	Session  sessionkeys.SessionID `json:"session"`
	Joined   bool                  `json:"joined,omitempty"` // it was opened by another message
	OpenedAt time.Time             `json:"opened_at"`
	EndedAt  time.Time             `json:"ended_at,omitzero"`
	Outcome  string                `json:"outcome,omitempty"` // none: it runs
	Attempts int                   `json:"attempts"`
	Steps    int                   `json:"steps"`
	Calls    int                   `json:"calls"` // of models and of tools with a price, each attempt; without sub-agents
	Reserved USD                   `json:"reserved_usd"`
	Spent    USD                   `json:"spent_usd"` // for those calls
	Total    USD                   `json:"total_usd"` // with sub-agents, where a budget of one turn counts them
	Held     USD                   `json:"held_usd"`
	// Deleted says that the content of the session was deleted since; nil: it was not.
	Deleted *erasure.Mark `json:"deleted,omitempty"`
}

// FateAnswer is an answer to a message.
type FateAnswer struct {
	ID       string     `json:"id"`
	QueuedAt time.Time  `json:"queued_at"`
	Parts    []FatePart `json:"parts"` // none: it waits to be sent
}

// FatePart is a message of an answer.
type FatePart struct {
	State    string    `json:"state"`
	At       time.Time `json:"at"`
	Message  string    `json:"message,omitempty"` // the network's id of it
	Attempts int       `json:"attempts"`
	Problem  string    `json:"problem,omitempty"`
}

const whyPath = "/v1/why"

func (desk treeDesk) why(r *http.Request) (any, error) {
	q := r.URL.Query()
	message := q.Get("message")
	if message == "" {
		return nil, newError(Invalid, "name a message: by the network's id of it, its event, or its turn")
	}
	found, err := desk.o.Why(r.Context(), fates.Query{Message: message, Channel: q.Get("channel"), Chat: q.Get("chat")})
	if err != nil {
		return nil, err
	}
	all := Fates{Fates: []Fate{}}
	for _, f := range found {
		d := describeFate(f)
		if d.Turn != nil {
			of, err := desk.o.Store.Session(r.Context(), d.Turn.Session)
			if err == nil {
				d.Turn.Deleted, err = desk.deletion(r.Context(), of.Root)
			}
			if err != nil {
				return nil, err
			}
		}
		all.Fates = append(all.Fates, d)
	}
	return all, nil
}

func describeFate(f fates.Fate) Fate {
	d := Fate{
		Channel: f.Channel, Chat: f.Chat, Message: f.Message, Event: f.Event, Sender: f.Sender, Name: f.Name, ReceivedAt: f.ReceivedAt.UTC(),
		Verdict: f.Verdict, Reason: f.Reason, Why: f.Why, Answers: []FateAnswer{}, Letter: f.Letter,
	}
	if !f.QueuedAt.IsZero() {
		d.Key, d.QueuedAt = f.Key.String(), f.QueuedAt.UTC()
	}
	if t := f.Turn; t != nil {
		d.Turn = &FateTurn{
			ID: t.ID, Session: t.Session, Joined: f.Joined, OpenedAt: t.OpenedAt.UTC(), Outcome: f.Outcome(), Attempts: t.Attempts, Steps: t.Steps,
			Calls: f.Money.Calls, Reserved: USD(f.Money.Reserved), Spent: USD(f.Money.Spent), Total: USD(f.Money.Total), Held: USD(f.Money.Held),
		}
		if !t.EndedAt.IsZero() {
			d.Turn.EndedAt = t.EndedAt.UTC()
		}
	}
	for _, a := range f.Answers {
		answer := FateAnswer{ID: a.ID, QueuedAt: a.At.UTC(), Parts: []FatePart{}}
		for _, p := range a.Parts {
			answer.Parts = append(answer.Parts, FatePart{State: string(p.State), At: p.At.UTC(), Message: p.MessageID, Attempts: p.Attempts, Problem: p.Problem})
		}
		d.Answers = append(d.Answers, answer)
	}
	return d
}

// Why says what became of the messages of the last days that fit q.
func (c *Client) Why(ctx context.Context, q WhyQuery) (Fates, error) {
	return askFor[Fates](ctx, c.connection, http.MethodGet, whyPath, dropEmpty(url.Values{"message": {q.Message}, "channel": {q.Channel}, "chat": {q.Chat}}))
}
