package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"parley/sessionkeys"
)

const (
	restorePath = "/v1/sessions/import"
	maxRestored = 256 << 20 // bytes of an export
)

// Restored is a session that an import made. No mailbox feeds it before a person resumes it.
type Restored struct {
	Session  sessionkeys.SessionID `json:"session"`
	Key      string                `json:"key"` // of the conversation that it is one of
	Messages int                   `json:"messages"`
	Title    string                `json:"title,omitempty"`
}

// restore makes a session of an export, which is the body.
func (s *Server) restore(w http.ResponseWriter, r *http.Request) {
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(answerWithin)); err != nil {
		s.respond(w, r, nil, fmt.Errorf("give the import time: %w", err))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxRestored)
	v, err := s.restored(r)
	if err != nil {
		_, _ = io.Copy(io.Discard, r.Body) // who is still writing does not read the answer
	}
	s.respond(w, r, v, err)
}

func (s *Server) restored(r *http.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	ask := r.URL.Query()
	for name := range ask {
		if name != "into" {
			return nil, newError(Invalid, "unknown parameter %q for this gateway", name)
		}
	}
	token := ""
	if text := ask.Get("into"); text != "" {
		id, err := treeDesk{s.o}.resolve(ctx, text)
		if err != nil {
			return nil, err
		}
		into, err := s.o.Store.Session(ctx, id)
		if err != nil {
			return nil, err
		}
		if into.Parent != "" {
			return nil, newError(Invalid, "%s is a sub-agent: name a session that people talk to", id)
		}
		token = into.Key.Token()
	}
	made, err := s.o.Restore(ctx, r.Body, token)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, newError(Invalid, "an export of more than %d MiB is not imported", maxRestored>>20)
	}
	return made, err
}

// Import makes a session of the export that from is: of all that was said in it. It is one of
// the conversation that the session is of whose id begins with into; with "" of the one
// that was exported.
func (c *Client) Import(ctx context.Context, from io.Reader, into string) (made Restored, err error) {
	if into != "" {
		if err := checkID(into); err != nil {
			return made, err
		}
	}
	err = c.send(ctx, http.MethodPost, restorePath, dropEmpty(url.Values{"into": {into}}), io.NopCloser(from), &made)
	return made, err
}
