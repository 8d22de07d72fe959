package admin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"parley/gateway/inquiries"
)

// Inquiry is what a program has asked a person, and the answer.
type Inquiry struct {
	Key     string       `json:"key"`
	Code    string       `json:"code"` // by which the person names it
	Person  string       `json:"person"`
	State   InquiryState `json:"state"`
	Expires time.Time    `json:"expires"`
	Answer  string       `json:"answer,omitempty"` // one of the choices, if there were any
	At      time.Time    `json:"answered_at,omitzero"`
}

// InquiryState describes how far an inquiry is.
type InquiryState string

// States of an inquiry.
const (
	InquiryWaits    InquiryState = "waiting"
	InquiryAnswered InquiryState = "answered"
	InquiryExpired  InquiryState = "expired" // nobody has answered in time
)

// Question is what a program asks a person. The same Key is the same question: it is asked once.
type Question struct {
	Key, Person, Text string
	Choices           []string
}

// AskablePage is whom programs may ask.
type AskablePage struct {
	People []Askable `json:"people"`
}

// Askable is somebody whom programs may ask.
type Askable struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
}

// How often it is looked whether somebody has answered, and how long at most.
const (
	inquiryLook = 100 * time.Millisecond
	maxWait     = time.Minute
)

func (s *Server) askable(*http.Request) (any, error) {
	page := AskablePage{People: []Askable{}}
	for _, p := range s.o.Inquiries.People() {
		page.People = append(page.People, Askable{p.Name, p.About})
	}
	return page, nil
}

func (s *Server) inquire(r *http.Request) (any, error) {
	wait, err := waitOf(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	_, err = s.o.Inquiries.Ask(r.Context(), inquiries.Question{Key: q.Get("key"), Person: q.Get("person"), Text: q.Get("text"), Choices: q["choice"]})
	if err != nil {
		return nil, inquiryError(err)
	}
	return s.awaitInquiry(r.Context(), q.Get("key"), wait)
}

func (s *Server) inquiry(r *http.Request) (any, error) {
	wait, err := waitOf(r)
	if err != nil {
		return nil, err
	}
	return s.awaitInquiry(r.Context(), r.URL.Query().Get("key"), wait)
}

func waitOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 || wait > maxWait {
		return 0, newError(Invalid, "wait: %q is not 0s to %s", text, maxWait)
	}
	return wait, nil
}

// awaitInquiry returns how an inquiry stands as soon as it does not wait any more, and at the end
// of wait.
func (s *Server) awaitInquiry(ctx context.Context, key string, wait time.Duration) (any, error) {
	look, over := time.NewTicker(inquiryLook), time.NewTimer(wait)
	defer look.Stop()
	defer over.Stop()
	for {
		q, err := s.o.Inquiries.Look(ctx, key)
		if err != nil {
			return nil, inquiryError(err)
		}
		d := Inquiry{Key: q.Key, Code: q.Code, Person: q.Person, State: InquiryState(q.State(s.o.Now())), Expires: q.Expires, Answer: q.Answer, At: q.AnsweredAt}
		if d.State != InquiryWaits || wait == 0 {
			return d, nil
		}
		select {
		case <-look.C:
		case <-over.C:
			return d, nil
		case <-s.ending:
			return d, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func inquiryError(err error) error {
	switch {
	case errors.Is(err, inquiries.ErrInvalid):
		return newError(Invalid, "%v", err)
	case errors.Is(err, inquiries.ErrRefused):
		return newError(Refused, "%v", err)
	case errors.Is(err, inquiries.ErrNone):
		return newError(NotFound, "%v", err)
	}
	return err
}

// People says whom programs may ask.
func (c *Client) People(ctx context.Context) (AskablePage, error) {
	return askFor[AskablePage](ctx, c.connection, http.MethodGet, "/v1/inquiries/people", nil)
}

// Ask has a person asked, unless that was done already, and waits at most so long for the answer. After any error that is
// no *Error it may have been asked; with the same key it may be asked again.
func (c *Client) Ask(ctx context.Context, q Question, wait time.Duration) (Inquiry, error) {
	return askFor[Inquiry](ctx, c.connection, http.MethodPost, "/v1/inquiries",
		url.Values{"key": {q.Key}, "person": {q.Person}, "text": {q.Text}, "choice": q.Choices, "wait": {wait.String()}})
}

// Inquiry returns how the inquiry of a key stands, when it is answered or at the end of wait.
func (c *Client) Inquiry(ctx context.Context, key string, wait time.Duration) (Inquiry, error) {
	return askFor[Inquiry](ctx, c.connection, http.MethodGet, "/v1/inquiries", url.Values{"key": {key}, "wait": {wait.String()}})
}
