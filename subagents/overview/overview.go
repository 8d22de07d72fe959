// Package overview is what an agent may know of its own session and of those
// below it, and the tools that tell it. [New] makes session_status, agents_list,
// sessions_list, sessions_history and read_output, all of category Read.
//
// A session sees itself and its descendants. Any other is refused as one that
// does not exist: it is looked for in the asking session's own tree only, so
// nothing of a stranger is ever read.
package overview

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
	"parley/transcript"
)

// Names are the tools that New makes, in order.
func Names() []string {
	return []string{"session_status", "agents_list", "sessions_list", "sessions_history", OutputName}
}

// Reader is where sessions are looked up; a sessions.Store with its queries is
// one.
type Reader interface {
	Session(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error)
	Tree(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Session, error)
	TurnsOf(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Turn, error)
	Messages(ctx context.Context, id sessionkeys.SessionID) ([]transcript.Message, error)
}

// Agent is one that a session may start.
type Agent struct {
	Name  string
	Model string // provider/model
	About string // what it is for, one line; may be empty
}

// Options say what the tools look at. Store and Model are required.
type Options struct {
	Store Reader
	// Model returns which model answers in a session, as provider/model.
	Model func(ctx context.Context, s sessions.Session) (string, error)
	// Agents are those that a session may start, in the order to show them; nil:
	// nobody may start any.
	Agents func(s sessions.Session) []Agent
	// Left returns what a session may still spend in a turn, in a line for the model;
	// "" when nothing limits it. nil: not known.
	Left func(ctx context.Context, s sessions.Session, turn string) (string, error)
	// ResultBytes is how much of one result a request holds; 0: any number.
	ResultBytes int
	// Log hears why something could not be read: the model is only told that it
	// could not. nil: nobody does.
	Log *slog.Logger
}

// State describes what a session does at present.
type State string

// States of a session.
const (
	Fresh   State = "not started"
	Running State = "running"
	Ended   State = "ended"
)

// Activity is what a session did so far.
type Activity struct {
	State   State
	Outcome transcript.FinishReason // of its last turn, when Ended
	Began   time.Time               // its first turn; zero: none
	Ended   time.Time               // its last turn, when Ended
	Calls   int                     // model calls that were answered
}

// ActivityOf sums a session's turns up, given oldest first.
func ActivityOf(turns []sessions.Turn) Activity {
	a := Activity{State: Fresh}
	for i, t := range turns {
		if i == 0 {
			a.Began = t.OpenedAt
		}
		a.Calls += t.Steps
		switch {
		case t.State != sessions.Done:
			a.State = Running
		case a.State == Fresh || a.State == Ended:
			a.State, a.Outcome, a.Ended = Ended, t.Outcome, t.EndedAt
		}
	}
	if a.State != Ended {
		a.Outcome, a.Ended = "", time.Time{}
	}
	return a
}

// Duration returns how long the session has worked, until now at most.
func (a Activity) Duration(now time.Time) time.Duration {
	switch a.State {
	case Fresh:
		return 0
	case Ended:
		now = a.Ended
	}
	return max(0, now.Sub(a.Began))
}

// SortTree puts a tree in the order in which it is drawn: each session is
// followed by all that is below it. Siblings stand as order says, equal ones as
// they stood; a nil order leaves them. A session whose parent is not in tree is
// a root.
func SortTree(tree []sessions.Session, order func(a, b sessions.Session) int) []sessions.Session {
	in := map[sessionkeys.SessionID]bool{}
	for _, s := range tree {
		in[s.ID] = true
	}
	below := map[sessionkeys.SessionID][]sessions.Session{}
	for _, s := range tree {
		parent := s.Parent
		if !in[parent] {
			parent = ""
		}
		below[parent] = append(below[parent], s)
	}
	drawn := make([]sessions.Session, 0, len(tree))
	var draw func(parent sessionkeys.SessionID)
	draw = func(parent sessionkeys.SessionID) {
		siblings := below[parent]
		if order != nil {
			slices.SortStableFunc(siblings, order)
		}
		for _, s := range siblings {
			drawn = append(drawn, s)
			draw(s.ID)
		}
	}
	draw("")
	return drawn
}

// New makes the tools.
func New(o Options) ([]tools.Tool, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &inspector{o}
	status, err := tools.New("session_status", statusDoc, nil, l.status, tools.Announcement{Doing: "Looking at this conversation"})
	if err != nil {
		return nil, err
	}
	agents, err := tools.New("agents_list", agentsDoc, nil, l.agents, tools.Announcement{Doing: "Looking up the agents"})
	if err != nil {
		return nil, err
	}
	list, err := tools.New("sessions_list", listDoc, nil, l.list, tools.Announcement{Doing: "Looking up the sub-agents"})
	if err != nil {
		return nil, err
	}
	history, err := tools.New("sessions_history", historyDoc, nil, l.history, tools.Announcement{Doing: "Reading a conversation", Of: "session"})
	if err != nil {
		return nil, err
	}
	output, err := tools.New(OutputName, outputDoc, nil, l.output, tools.Announcement{Doing: "Reading an earlier output"})
	if err != nil {
		return nil, err
	}
	return []tools.Tool{status, agents, list, history, output}, nil
}

type inspector struct{ Options }

// readError is what the model is told when the store does not answer.
func (l *inspector) readError(ctx context.Context, c tools.Call, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.Log.Warn("store read by a tool failed", "tool", c.Name, "session", string(c.Session), "error", err)
	return tools.Errorf(tools.Transient, "the sessions cannot be read at present")
}
