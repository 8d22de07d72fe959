package admin

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"parley/gateway/records"
	"parley/sessions"
)

// Action is what an operator did to a gateway that ran, by a command or on the page.
type Action struct {
	ID    string    `json:"id"`
	What  string    `json:"what"`  // approve, deny, redeliver, drop, raise, revoke, delete session or forget
	About string    `json:"about"` // the id of what it was done to; the budget, by how much and for how long
	By    string    `json:"by"`    // who: "uid 1000" by a command; an operator's name on the page
	At    time.Time `json:"at"`
	// Ended is when its end was known, and Problem why nothing was done. None of both: it runs, or
	// the process ended meanwhile.
	Ended   time.Time `json:"ended,omitzero"`
	Problem string    `json:"problem,omitempty"`
}

// ActionPage is what operators did in the last days, the latest first, and at most [MaxActions].
type ActionPage struct {
	Now     time.Time `json:"now"`
	Actions []Action  `json:"actions"`
}

// MaxActions is how many actions are listed.
const MaxActions = 100

// actionKind is the kind of the records of actions, and actionsKept how long they are kept.
const (
	actionKind  = "operator action"
	actionsKept = 30 * 24 * time.Hour
)

type (
	uidKey   struct{}
	actorKey struct{}
)

// actor returns who asks, as it is recorded.
func actor(ctx context.Context) string {
	if by, ok := ctx.Value(actorKey{}).(string); ok {
		return by
	}
	if uid := ctx.Value(uidKey{}); uid != nil {
		return fmt.Sprint("uid ", uid)
	}
	return "unknown"
}

// As returns a client that asks s within this process, in the name of an operator who has proved
// elsewhere who they are.
func (s *Server) As(by string) *Client {
	return &Client{connection{http: &http.Client{Transport: within{s.Handler(), by}}}}
}

// within carries requests to a handler of this process.
type within struct {
	handler http.Handler
	by      string
}

// RoundTrip implements [http.RoundTripper].
func (t within) RoundTrip(r *http.Request) (*http.Response, error) {
	a := &answer{header: http.Header{}, status: http.StatusOK}
	t.handler.ServeHTTP(a, r.Clone(context.WithValue(r.Context(), actorKey{}, t.by)))
	return a.response(r), nil
}

// act returns what answers a request by doing something, once: with the parameter once the same
// request that comes again is an [Error] of kind [Again], in every process and after a restart. Who
// did what, when, and how that ended is kept as a record.
func (s *Server) act(what string, do func(r *http.Request) (any, error)) func(r *http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		ctx, q := r.Context(), r.URL.Query()
		a := Action{ID: q.Get("once"), What: what, About: subject(r), By: actor(ctx), At: s.o.Now().UTC()}
		if a.ID == "" {
			a.ID = rand.Text()
		}
		if err := checkOnce(a); err != nil {
			return nil, err
		}
		revision, err := s.writeAction(ctx, a, 0)
		if errors.Is(err, sessions.ErrChanged) {
			return nil, s.againError(ctx, a)
		}
		if err != nil {
			return nil, fmt.Errorf("%s is not begun, because that cannot be recorded: %w", what, err)
		}
		q.Set("once", a.ID)
		r.URL.RawQuery = q.Encode()
		v, failed := do(r)
		a.Ended = s.o.Now().UTC()
		if failed != nil {
			a.Problem = s.o.Redact(shorten(failed.Error(), 300))
		}
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if _, err := s.writeAction(end, a, revision); err != nil {
			s.o.Logger.Warn("end of an operator's action not recorded", "action", what, "about", a.About, "by", a.By, "error", err)
		}
		s.o.Logger.Info("operator acted", "action", what, "about", a.About, "by", a.By, "problem", a.Problem)
		return v, failed
	}
}

// subject returns what a request is about: an id; or the budget, whose, by how much and for how long.
func subject(r *http.Request) string {
	q := r.URL.Query()
	about := cmp.Or(r.PathValue("id"), q.Get("id"), q.Get("budget"))
	for _, name := range []string{"person", "group", "channel", "session"} {
		if of := q.Get(name); of != "" {
			about += " of " + name + " " + of
		}
	}
	if amount := q.Get("amount"); amount != "" {
		about += " by $" + amount + " for " + q.Get("for")
	}
	return strings.TrimSpace(about)
}

// checkOnce reports whether an action can be recorded: its id comes from outside.
func checkOnce(a Action) error {
	if len(a.ID) < 16 || len(a.ID) > 64 || checkID(a.ID) != nil {
		return newError(Invalid, "the id of an action is 16 to 64 letters and digits")
	}
	if len(a.About) > 400 {
		return newError(Invalid, "what is to be done has no name of more than 400 bytes")
	}
	return nil
}

func (s *Server) writeAction(ctx context.Context, a Action, revision int64) (int64, error) {
	return records.Write(ctx, s.o.Store, sessions.Record{
		ID: sessions.RecordID{Kind: actionKind, Key: a.ID}, Revision: revision,
		Owner: "operator", At: s.o.Now(), Expires: a.At.Add(actionsKept),
	}, a)
}

// againError says how an action stands that was begun before.
func (s *Server) againError(ctx context.Context, a Action) error {
	was, _, err := records.Read[Action](ctx, s.o.Store, sessions.RecordID{Kind: actionKind, Key: a.ID}, s.o.Now())
	if err != nil {
		return err
	}
	at := was.At.Format("15:04:05 UTC")
	switch {
	case was.What != a.What || was.About != a.About:
		return newError(Invalid, "the id %s is that of another action", a.ID)
	case was.Ended.IsZero():
		return newError(Again, "that was begun by %s at %s, and is not done a second time; how it ended is not known yet", was.By, at)
	case was.Problem != "":
		return newError(Again, "that was tried by %s at %s, and nothing was done: %s", was.By, at, was.Problem)
	}
	return newError(Again, "that was done already, by %s at %s, and is not done a second time", was.By, at)
}

func (s *Server) actions(r *http.Request) (any, error) {
	page := ActionPage{Now: s.o.Now().UTC(), Actions: []Action{}}
	var broken error
	err := s.o.Store.Records(r.Context(), actionKind, "", s.o.Now(), func(rec sessions.Record) bool {
		var a Action
		if err := json.Unmarshal(rec.Body, &a); err != nil {
			broken = errors.Join(broken, fmt.Errorf("the record of the action %s: %w", rec.ID.Key, err))
			return true
		}
		page.Actions = append(page.Actions, a)
		return true
	})
	if broken != nil {
		s.o.Logger.Warn("records of operators' actions unreadable, they are listed without", "error", broken)
	}
	slices.SortStableFunc(page.Actions, func(a, b Action) int { return b.At.Compare(a.At) })
	page.Actions = page.Actions[:min(len(page.Actions), MaxActions)]
	return page, err
}

// Actions lists what operators did in the last days, the latest first.
func (c *Client) Actions(ctx context.Context) (ActionPage, error) {
	return askFor[ActionPage](ctx, c.connection, http.MethodGet, "/v1/actions", nil)
}

// Once returns a client whose next action has that id, 16 to 64 letters and digits: a second one of
// the same id is not done, and is an [*Error] of kind [Again].
func (c *Client) Once(id string) *Client {
	return &Client{connection{socket: c.socket, http: c.http, once: id}}
}

// shorten returns at most n bytes of a text.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
