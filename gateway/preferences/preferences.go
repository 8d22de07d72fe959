// Package preferences remembers which model the people of a conversation have chosen for
// it, and knows among which they may choose.
//
// A choice stands in the store as a record under the token of the conversation's mailbox,
// and is written only in the commit of a command, by whoever owns the mailbox. What may be
// chosen is the operator's: a record that names anything else counts for nothing.
// (docs/decisions/0067)
package preferences

import (
	"context"
	"time"

	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
)

// choiceRecord is the kind of a conversation's record; its key is the mailbox's token.
const choiceRecord = "model_choice"

// Choice is what was chosen for a conversation. The zero value is the agent's own model.
type Choice struct {
	Model   string                `json:"model"`   // provider/model; "": the agent's own
	Session sessionkeys.SessionID `json:"session"` // that the mailbox fed then
}

func recordID(token string) sessions.RecordID {
	return sessions.RecordID{Kind: choiceRecord, Key: token}
}

// Read returns the choice of a mailbox; the zero Choice when nothing was ever chosen there, or
// with an error. (requirements AB01, AB02)
func Read(ctx context.Context, s records.Store, token string, now time.Time) (Choice, error) {
	c, _, err := records.Read[Choice](ctx, s, recordID(token), now)
	return c, err // it says of which mailbox
}

// Record returns the choice as it is written in the commit of a command. Only the owner of
// the mailbox writes it, so no revision is compared.
func (c Choice) Record(token string, at time.Time) (sessions.Record, error) {
	return records.New(recordID(token), sessions.AnyRevision, c, at) // it says of which mailbox
}
