// Package plans remembers which sessions are in plan mode, in which the model looks around and
// proposes, but changes nothing.
//
// The mode is one record of its session, so a new session is not in it, and one that is
// resumed is as it was left. Only the commit of a command writes it, and a command waits behind
// the open turn: no turn changes its mode while it runs. (AI04; docs/decisions/0076)
package plans

import (
	"context"
	"time"

	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
)

// recordKind is the kind of a session's mode; its key is the session's id.
const recordKind = "plan"

// Mode is how a session's turns are carried out. The zero value is as usual.
type Mode struct {
	On bool `json:"on,omitempty"`
	// AtStart is whether it was on when the session's first turn began. A recording begins
	// with that turn, and needs it.
	AtStart bool `json:"at_start,omitempty"`
}

// RecordID returns the id of the record in which the mode of a session stands.
func RecordID(id sessionkeys.SessionID) sessions.RecordID {
	return sessions.RecordID{Kind: recordKind, Key: string(id)}
}

// Read returns the mode of a session. With an error it is on: who goes on without knowing
// changes nothing.
func Read(ctx context.Context, s records.Store, id sessionkeys.SessionID, now time.Time) (Mode, error) {
	m, _, err := records.Read[Mode](ctx, s, RecordID(id), now)
	if err != nil {
		m = Mode{On: true}
	}
	return m, err // it says of which session
}

// Record returns the mode as it is written in a commit of the session's owner, so no revision
// is compared.
func (m Mode) Record(id sessionkeys.SessionID, at time.Time) (sessions.Record, error) {
	return records.New(RecordID(id), sessions.AnyRevision, m, at) // it says of which session
}

// Switch returns the mode with on; fresh says that the session has had no turn yet.
func (m Mode) Switch(on, fresh bool) Mode {
	m.On = on
	if fresh {
		m.AtStart = on
	}
	return m
}
