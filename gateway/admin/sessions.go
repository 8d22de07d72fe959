package admin

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/costs"
	"parley/gateway/conversations"
	"parley/gateway/erasure"
	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/subagents/overview"
)

// MaxSessions is how many sessions one answer lists, and MaxSkip how many may stand before them: a
// question reads those, too.
const (
	MaxSessions = 1000
	MaxSkip     = 10_000
)

// SessionState describes what a session does at present.
type SessionState string

// States of a session.
const (
	Running SessionState = "running"     // a turn is open
	Waiting SessionState = "waiting"     // a message waits for its turn
	Idle    SessionState = "idle"        // it answers when somebody writes
	Ended   SessionState = "ended"       // a root: another session follows it; a sub-agent: its task is done
	Fresh   SessionState = "not started" // a sub-agent whose first turn did not begin
	Deleted SessionState = "deleted"     // a root: its content was deleted
)

// SessionQuery sets which root sessions are listed.
type SessionQuery struct {
	Since   time.Time // worked on then or later; zero: all
	Channel string    // with a turn that came by this instance; empty: all
	ByCost  bool      // the dearest first; else the latest
	Limit   int       // 1 to MaxSessions; 0: 20
	Skip    int       // how many of the first are left out, at most MaxSkip
}

// SessionList is an answer of [Client.Sessions].
type SessionList struct {
	Now      time.Time `json:"now"`
	Sessions []Session `json:"sessions"`
}

// Session is one session with its money. Of the words that it holds only the title is in it.
type Session struct {
	ID       sessionkeys.SessionID `json:"id"`
	Parent   sessionkeys.SessionID `json:"parent,omitempty"` // none: a root
	Key      string                `json:"key"`
	Agent    string                `json:"agent"`
	Depth    int                   `json:"depth"`
	Role     string                `json:"role"`
	State    SessionState          `json:"state"`
	Outcome  string                `json:"outcome,omitempty"` // of the last turn of a sub-agent that ended
	Messages int                   `json:"messages"`
	Own      USD                   `json:"own_usd"`     // its own calls
	Subtree  USD                   `json:"subtree_usd"` // and those of all sub-agents below it
	Held     USD                   `json:"held_usd"`    // for calls under way, in the subtree
	Unpriced int                   `json:"unpriced"`    // calls in the subtree whose cost is not in these sums
	Created  time.Time             `json:"created"`
	Updated  time.Time             `json:"updated"`
	// Title is what a root was titled, by a model or a person; and what a sub-agent was
	// given to do, in the model's words: only with the transcript.
	Title string `json:"title,omitempty"`
	// Deleted says of a root that its content was deleted, and by whom; nil: it was not.
	Deleted *erasure.Mark `json:"deleted,omitempty"`
}

// SessionDetail is an answer of [Client.Session].
type SessionDetail struct {
	Now   time.Time             `json:"now"`
	Asked sessionkeys.SessionID `json:"asked"`
	// Tree is the whole tree that the session asked for stands in, each node
	// followed by what is below it.
	Tree []Node `json:"tree"`
	// Context is how full the window of its model is; nil: it is not watched, or its agent is not
	// configured any more.
	Context *Context `json:"context,omitempty"`
	// Turns are those of the session asked for, oldest first.
	Turns []Turn `json:"turns"`
	// Transcript is what was said in it, when it was asked for.
	Transcript []Message `json:"transcript,omitempty"`
}

// Context is the estimate of a session's next request.
type Context struct {
	Tokens  int64 `json:"tokens"`
	Window  int64 `json:"window"` // of the model that answers
	Percent int64 `json:"percent"`
}

// Node is a session in its tree, with what its own calls used.
type Node struct {
	Session
	Usage Usage `json:"usage"`
}

// Turn is one message of a person, or one task, and what followed from it.
type Turn struct {
	ID       string    `json:"id"`
	State    string    `json:"state"`             // open or done
	Outcome  string    `json:"outcome,omitempty"` // when done: end_turn, error, canceled, budget, …
	Channel  string    `json:"channel"`
	Sender   string    `json:"sender"` // the network's stable id
	Opened   time.Time `json:"opened"`
	Ended    time.Time `json:"ended,omitzero"`
	Steps    int       `json:"steps"`    // answered model calls
	Attempts int       `json:"attempts"` // how often work on it was taken up
	// Cost is what its own calls have cost, without sub-agents; those of all turns are the
	// session's own.
	Cost USD `json:"cost_usd"`
}

func (desk treeDesk) sessions(r *http.Request) (any, error) {
	q := r.URL.Query()
	ask := sessions.SessionQuery{Channel: q.Get("channel"), ByCost: q.Get("sort") == "cost", Limit: 20}
	if sort := q.Get("sort"); sort != "" && sort != "cost" && sort != "recent" {
		return nil, newError(Invalid, "sessions are sorted by cost or recent, not %q", sort)
	}
	var err error
	if ask.Since, err = parseTime(q.Get("since")); err != nil {
		return nil, err
	}
	if text := q.Get("limit"); text != "" {
		if ask.Limit, err = strconv.Atoi(text); err != nil || ask.Limit < 1 || ask.Limit > MaxSessions {
			return nil, newError(Invalid, "the limit %q is not 1 to %d", text, MaxSessions)
		}
	}
	skip := 0
	if text := q.Get("skip"); text != "" {
		if skip, err = strconv.Atoi(text); err != nil || skip < 0 || skip > MaxSkip {
			return nil, newError(Invalid, "how many are left out, %q, is not 0 to %d", text, MaxSkip)
		}
	}
	ask.Limit += skip
	found, err := desk.o.Store.Sessions(r.Context(), ask)
	if err != nil {
		return nil, err
	}
	found = found[min(skip, len(found)):] // before anything is asked about them
	list := SessionList{Now: desk.o.Now().UTC(), Sessions: []Session{}}
	for _, f := range found {
		one := sessionSummary(f)
		if err = desk.describeRoot(r.Context(), f, &one); err != nil {
			return nil, err
		}
		if one.Title, err = desk.titleOf(r.Context(), f.ID); err != nil {
			return nil, err
		}
		list.Sessions = append(list.Sessions, one)
	}
	return list, nil
}

func sessionSummary(s sessions.Session) Session {
	return Session{
		ID: s.ID, Parent: s.Parent, Key: s.Key.String(), Agent: s.Key.Agent(), Depth: s.Depth, Role: s.Role, Messages: s.Messages,
		Own: USD(s.Own), Subtree: USD(s.Subtree), Held: USD(s.Held), Unpriced: s.Unpriced, Created: s.CreatedAt, Updated: s.UpdatedAt,
	}
}

// titleOf returns the title of a root session; "": it has none.
func (desk treeDesk) titleOf(ctx context.Context, id sessionkeys.SessionID) (string, error) {
	t, err := conversations.ReadTitle(ctx, desk.o.Store, id, desk.o.Now())
	if errors.Is(err, records.ErrUnreadable) {
		desk.o.Logger.Warn("title unreadable, session listed without it", "session", id, "error", err)
		err = nil
	}
	return desk.o.Redact(t.Text), err
}

// describeRoot fills in what a root session does, and whether its content was deleted.
func (desk treeDesk) describeRoot(ctx context.Context, root sessions.Session, d *Session) (err error) {
	if d.Deleted, err = desk.deletion(ctx, root.ID); err != nil {
		return err
	}
	if d.Deleted != nil {
		d.State = Deleted
		return nil
	}
	d.State, err = desk.rootState(ctx, root)
	return err
}

func (desk treeDesk) rootState(ctx context.Context, root sessions.Session) (SessionState, error) {
	m, err := desk.o.Store.Mailbox(ctx, root.Key.Token())
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return Idle, nil
	case err != nil:
		return "", err
	case m.Session != root.ID:
		return Ended, nil
	case m.Turn != nil:
		return Running, nil
	case m.HasWork():
		return Waiting, nil
	}
	return Idle, nil
}

func (desk treeDesk) session(r *http.Request) (any, error) {
	ctx := r.Context()
	full, err := parseBool(r.URL.Query().Get("transcript"))
	if err != nil {
		return nil, err
	}
	id, err := desk.resolve(ctx, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	asked, err := desk.o.Store.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	d := SessionDetail{Now: desk.o.Now().UTC(), Asked: id, Turns: []Turn{}}
	states := math.MaxInt
	if text := r.URL.Query().Get("states"); text != "" {
		if states, err = strconv.Atoi(text); err != nil || states < 0 {
			return nil, newError(Invalid, "%q is no number of states", text)
		}
	}
	if d.Tree, err = desk.tree(ctx, asked.Root, full, states); err != nil {
		return nil, err
	}
	if desk.o.Context != nil {
		if d.Context, err = desk.o.Context(ctx, asked); err != nil {
			return nil, err
		}
	}
	turns, err := desk.o.Store.TurnsOf(ctx, id)
	if err != nil {
		return nil, err
	}
	spent, err := desk.costOfTurns(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, t := range turns {
		one := describeTurn(t)
		one.Cost = USD(spent[t.ID])
		d.Turns = append(d.Turns, one)
	}
	if full {
		d.Transcript, err = desk.transcript(ctx, id)
	}
	return d, err
}

// costOfTurns returns what the calls of a session have cost, by the turns for which they were made.
func (desk treeDesk) costOfTurns(ctx context.Context, id sessionkeys.SessionID) (map[string]costs.Amount, error) {
	spent := map[string]costs.Amount{}
	var wrong error
	err := desk.o.Store.Ledger(ctx, id, func(_ sessionkeys.SessionID, e costs.Entry) bool {
		spent[e.Call.Turn], wrong = spent[e.Call.Turn].Add(e.Amount)
		return wrong == nil
	})
	return spent, errors.Join(err, wrong)
}

func (desk treeDesk) tree(ctx context.Context, root sessionkeys.SessionID, full bool, states int) (nodes []Node, err error) {
	tree, err := desk.o.Store.Tree(ctx, root)
	if err != nil {
		return nil, err
	}
	used, err := desk.o.Store.Usage(ctx, sessions.UsageQuery{Tree: root, By: sessions.BySession})
	if err != nil {
		return nil, err
	}
	usage := map[string]sessions.Usage{}
	for _, u := range used {
		usage[u.Group] = u
	}
	for _, t := range overview.SortTree(tree, nil) {
		n := Node{Session: sessionSummary(t), Usage: usageOf(usage[string(t.ID)])}
		if len(nodes) < states && t.Parent == "" {
			if n.Title, err = desk.titleOf(ctx, t.ID); err == nil {
				err = desk.describeRoot(ctx, t, &n.Session)
			}
		} else if len(nodes) < states {
			n.State, n.Outcome, err = desk.childState(ctx, t.ID)
		}
		if err != nil {
			return nil, err
		}
		if full && t.Parent != "" {
			n.Title = desk.o.Redact(t.Title)
		}
		n.Usage.Group = ""
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func (desk treeDesk) childState(ctx context.Context, id sessionkeys.SessionID) (SessionState, string, error) {
	turns, err := desk.o.Store.TurnsOf(ctx, id)
	if err != nil {
		return "", "", err
	}
	a := overview.ActivityOf(turns)
	states := map[overview.State]SessionState{overview.Fresh: Fresh, overview.Running: Running, overview.Ended: Ended}
	return states[a.State], string(a.Outcome), nil
}

// resolve finds the one session whose id begins with text.
func (desk treeDesk) resolve(ctx context.Context, text string) (sessionkeys.SessionID, error) {
	if err := checkID(text); err != nil {
		return "", err
	}
	const most = 6
	ids, err := desk.o.Store.Find(ctx, text, most)
	if err == nil && len(ids) == 0 && text != strings.ToUpper(text) {
		ids, err = desk.o.Store.Find(ctx, strings.ToUpper(text), most) // roots' ids are read in either case
	}
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", newError(NotFound, "no session %s", text)
	case len(ids) == 1 || string(ids[0]) == text:
		return ids[0], nil
	}
	return "", ambiguousError("session", text, ids, most)
}

// ambiguousError returns which ones begin alike.
func ambiguousError[ID ~string](what, text string, ids []ID, limit int) *Error {
	var names []string
	for _, id := range ids {
		names = append(names, string(id))
	}
	more := ""
	if len(names) == limit {
		names, more = names[:limit-1], " and others"
	}
	return newError(Ambiguous, "several %ss begin with %s: %s%s", what, text, strings.Join(names, ", "), more)
}

// checkID reports whether text may be an id or the beginning of one.
func checkID(text string) error {
	if text == "" || len(text) > 80 {
		return newError(Invalid, "an id has 1 to 80 characters")
	}
	for _, c := range []byte(text) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '-' {
			return newError(Invalid, "an id has letters, digits and -, not %q", text)
		}
	}
	return nil
}

// parseTime reads a time of a question; none is the zero one.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, newError(Invalid, "%q is no time as 2006-01-02T15:04:05Z", text)
	}
	return t, nil
}

func parseBool(text string) (bool, error) {
	switch text {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	}
	return false, newError(Invalid, "%q is neither 0 nor 1", text)
}
