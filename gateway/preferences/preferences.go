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
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
)

// choiceRecord is the kind of a conversation's record; its key is the mailbox's token.
const choiceRecord = "model_choice"

// Store is what a choice is looked up in.
type Store interface {
	Record(ctx context.Context, id sessions.RecordID, now time.Time) (sessions.Record, error)
}

// Choice is what was chosen for a conversation. The zero value is the agent's own model.
type Choice struct {
	Model   string                `json:"model"`   // provider/model; "": the agent's own
	Session sessionkeys.SessionID `json:"session"` // that the mailbox fed then
}

// Read returns the choice of a mailbox; the zero Choice when nothing was ever chosen there.
// (requirements AB01, AB02)
func Read(ctx context.Context, s Store, token string, now time.Time) (c Choice, err error) {
	r, err := s.Record(ctx, sessions.RecordID{Kind: choiceRecord, Key: token}, now)
	if errors.Is(err, sessions.ErrNotFound) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(r.Body, &c)
	}
	if err != nil {
		return Choice{}, fmt.Errorf("read the model chosen for mailbox %s: %w", token, err)
	}
	return c, nil
}

// Record returns the choice as it is written in the commit of a command. Only the owner of
// the mailbox writes it, so no revision is compared.
func (c Choice) Record(token string, at time.Time) (sessions.Record, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return sessions.Record{}, fmt.Errorf("encode the model chosen for mailbox %s: %w", token, err)
	}
	return sessions.Record{
		ID: sessions.RecordID{Kind: choiceRecord, Key: token}, Revision: sessions.AnyRevision, Owner: "worker", Body: body, At: at,
	}, nil
}
