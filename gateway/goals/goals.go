package goals

import (
	"context"
	"strings"
	"time"
	"unicode"

	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
)

// recordKind is the kind of a goal's record; its key is the session's id.
const recordKind = "goal"

// MaxText is the most characters of a goal.
const MaxText = 300

// State describes how far a goal is.
type State string

// States of a goal.
const (
	Idle      State = "" // there is none
	Active    State = "active"
	Completed State = "completed"
)

// How a goal was reached.
const (
	ByPhrase  = "phrase"  // the agent said so
	ByCommand = "command" // a person did
)

// Goal is what a session is to reach. The zero value is none.
type Goal struct {
	State State     `json:"state,omitempty"`
	Text  string    `json:"text,omitempty"`
	Since time.Time `json:"since,omitzero"` // in this state
	// AtStart is the text of the goal that was active when the session's first turn began;
	// empty: none. A recording begins with that turn, and needs it.
	AtStart string `json:"at_start,omitempty"`
}

// RecordID returns the id of the record in which the goal of a session stands.
func RecordID(id sessionkeys.SessionID) sessions.RecordID {
	return sessions.RecordID{Kind: recordKind, Key: string(id)}
}

// Read returns the goal of a session, none with an error.
func Read(ctx context.Context, s records.Store, id sessionkeys.SessionID, now time.Time) (Goal, error) {
	g, _, err := records.Read[Goal](ctx, s, RecordID(id), now)
	return g, err // it says of which session
}

// Record returns the goal as it is written in a commit of the session's owner, so no revision
// is compared.
func (g Goal) Record(id sessionkeys.SessionID, at time.Time) (sessions.Record, error) {
	return records.New(RecordID(id), sessions.AnyRevision, g, at) // it says of which session
}

// Set returns the goal that takes the place of g, whatever that was.
func (g Goal) Set(text string, at time.Time) Goal {
	if text = clean(text); text == "" {
		return g
	}
	return Goal{State: Active, Text: text, Since: at.UTC(), AtStart: g.AtStart}
}

// Heard returns g after a message of a person where messages make goals: one that is active
// stays, and else the message is the goal.
func (g Goal) Heard(text string, at time.Time) Goal {
	if g.State == Active {
		return g
	}
	return g.Set(text, at)
}

// Complete returns g as it is when it was reached; done is false when there is none that is
// active.
func (g Goal) Complete(at time.Time) (_ Goal, done bool) {
	if g.State != Active {
		return g, false
	}
	return Goal{State: Completed, Text: g.Text, Since: at.UTC(), AtStart: g.AtStart}, true
}

// Starting returns g as it stands before the session's first turn.
func (g Goal) Starting() Goal {
	g.AtStart = ""
	if g.State == Active {
		g.AtStart = g.Text
	}
	return g
}

// Announce is the status that people read of a goal that was reached.
func (g Goal) Announce() string { return "✓ Goal completed: " + g.Code() }

// String describes g to people.
func (g Goal) String() string {
	switch g.State {
	case Active:
		return "Goal: " + g.Code()
	case Completed:
		return "Goal completed: " + g.Code()
	case Idle:
	}
	return "There is no goal."
}

// Code is the text as a piece of code in Markdown, so that its words look like nothing else.
func (g Goal) Code() string { return "`" + strings.ReplaceAll(g.Text, "`", "'") + "`" }

// clean is text on one line, without anything that is not shown, and not too long.
func clean(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsGraphic(r)
	}), " ")
	if r := []rune(text); len(r) > MaxText {
		text = string(r[:MaxText]) + "…"
	}
	return text
}
