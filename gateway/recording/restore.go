package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/gateway/conversations"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// Bounds of what one commit of a restored history holds, of which the last message may be
// larger.
const (
	restoredBytes    = 256 << 10
	restoredMessages = 200
)

// RestoreStore is where histories are restored.
type RestoreStore interface {
	Mailbox(ctx context.Context, token string) (sessions.Mailbox, error)
	Restore(ctx context.Context, r sessions.Restored) error
}

// Restored is a session that was made of a recording.
type Restored struct {
	Session  sessionkeys.SessionID
	Key      string // of the conversation that it is one of
	Messages int
	Title    string
}

// Errors of Restore, which say what is missing.
var (
	ErrNoConversation = errors.New("nobody has written in this conversation here")
	ErrNoMessages     = errors.New("the recorded session has no messages")
)

// Restore makes a session out of the root session of a recording: all that was said in it,
// and its title. It is one of the conversation with the given token, or with "" of the
// one that was recorded; a person there goes on with the session by /resume. The costs of
// the recorded session stay with it. After an error the new session may hold a part of the
// history; Restore returns no id of it then.
//
// Sub-agents are not made again: what they answered stands in the history. Nor is what
// a provider signed sent to it again, since it holds for whom it was given.
func Restore(ctx context.Context, to RestoreStore, r *Recording, token string, now time.Time) (Restored, error) {
	if token == "" {
		key, err := sessionkeys.Parse(r.Header.Key)
		if err != nil {
			return Restored{}, fmt.Errorf("restore a session: %w", err)
		}
		token = key.Token()
	}
	ms := r.Messages[r.Header.Session]
	if len(ms) == 0 {
		return Restored{}, ErrNoMessages
	}
	m, err := to.Mailbox(ctx, token)
	if errors.Is(err, sessions.ErrNotFound) {
		err = ErrNoConversation
	}
	if err != nil {
		return Restored{}, fmt.Errorf("restore a session: %w", err)
	}
	made := Restored{Session: sessionkeys.NewSessionID(now), Key: m.Key.String(), Messages: len(ms), Title: r.title()}
	part := sessions.Restored{Session: made.Session, Token: token, At: now}
	if made.Title != "" {
		record, err := conversations.Title{Text: made.Title, Given: true}.Record(made.Session, now)
		if err != nil {
			return Restored{}, err
		}
		part.Records = []sessions.Record{record}
	}
	size := 0
	for i, m := range ms {
		m.Native = nil
		body, err := json.Marshal(m)
		if err != nil {
			return Restored{}, fmt.Errorf("restore message %d: %w", i+1, err)
		}
		part.Messages, size = append(part.Messages, m), size+len(body)
		if size < restoredBytes && len(part.Messages) < restoredMessages && i+1 < len(ms) {
			continue
		}
		if err := to.Restore(ctx, part); err != nil {
			return Restored{}, err // it names the session
		}
		part.Messages, part.Records, size = []transcript.Message(nil), nil, 0
	}
	return made, nil
}

// title returns what the root session was called.
func (r *Recording) title() string {
	for _, s := range r.Sessions {
		if s.ID == r.Header.Session {
			return conversations.GivenTitle(s.Title)
		}
	}
	return ""
}
