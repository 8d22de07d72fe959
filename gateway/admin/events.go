package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"parley/broker"
	"parley/gateway/activity"
	"parley/gateway/redaction"
	"parley/gateway/signals"
)

// maxEventLine bounds a line of events, in bytes.
const maxEventLine = 1 << 20

// events answers with what happens in turns from now on, in whatever process they run, as
// lines of JSON, until who asked goes away or the gateway ends. A session's are those of its
// sub-agents, too. What comes faster than it is read is dropped, and counted.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	for name := range r.URL.Query() {
		if name != "session" {
			s.respond(w, r, nil, newError(Invalid, "unknown parameter %q for this gateway", name))
			return
		}
	}
	only := r.URL.Query().Get("session")
	if only != "" {
		id, err := treeDesk{s.o}.resolve(r.Context(), only)
		if err != nil {
			s.respond(w, r, nil, err)
			return
		}
		only = string(id)
	}
	heard, err := s.o.Log.Listen(r.Context(), signals.EventTopic)
	if err != nil {
		s.respond(w, r, nil, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-s.ending:
			cancel()
		case <-ctx.Done():
		}
	})
	defer watching.Wait()
	defer cancel()
	out := &untimedWriter{w: w, control: http.NewResponseController(w)}
	if err := out.readOn(); err != nil {
		s.respond(w, r, nil, fmt.Errorf("listen for long: %w", err))
		return
	}
	filter := eventFilter{session: only}
	send := func(line []byte) {
		if _, err := out.Write(line); err != nil {
			cancel()
			return
		}
		if err := out.control.Flush(); err != nil {
			cancel()
		}
	}
	send(nil) // from now on all is heard
	_ = heard.Run(ctx, func(b broker.Signal) {
		var e activity.Event
		if json.Unmarshal(b.Body, &e) != nil || !filter.fits(e) {
			return
		}
		if line, err := redaction.CleanJSON(b.Body, s.o.Redact); err == nil {
			send(append(line, '\n'))
		}
	}) // it ends with the request, or with the log
}

// eventFilter finds the events of one session, and of the runs below its own.
type eventFilter struct {
	session string // "": all
	runs    [256]string
	next    int
}

func (f *eventFilter) fits(e activity.Event) bool {
	if f.session == "" {
		return true
	}
	if e.Session != f.session && (e.Parent == "" || !slices.Contains(f.runs[:], e.Parent)) {
		return false
	}
	if !slices.Contains(f.runs[:], e.Run) {
		f.runs[f.next%len(f.runs)], f.next = e.Run, f.next+1
	}
	return true
}

// Events calls each for what happens in turns, one after the other, until ctx ends, and
// returns nil then; with session only for those of the session whose id begins so, and of
// its sub-agents. begun, if set, is called when everything that follows is heard.
func (c *Client) Events(ctx context.Context, session string, begun func(), each func(e activity.Event, line []byte) error) error {
	if session != "" {
		if err := checkID(session); err != nil {
			return err
		}
	}
	resp, err := c.open(ctx, http.MethodGet, "/v1/events", dropEmpty(url.Values{"session": {session}}), nil)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if begun != nil {
		begun()
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEventLine)
	for lines.Scan() {
		var e activity.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("read an event: %w", err)
		}
		if err := each(e, lines.Bytes()); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: %w", errEventsCut, err)
	}
	return errEventsCut
}

// errEventsCut means that the gateway ended.
var errEventsCut = errors.New("no more events: the gateway ended")
