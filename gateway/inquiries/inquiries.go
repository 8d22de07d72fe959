// Package inquiries keeps what programs ask people through parley, and what people answered.
//
// Each inquiry is a record of the store and a message of the outbox, so neither the end of the
// program nor that of the gateway loses anything: the program asks again with the same key, and
// gets what is known by then. See docs/decisions/0099.
package inquiries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
)

// recordKind is that of an inquiry's record. Its key is the inquiry's id.
const recordKind = "inquiry"

// kept is how long a record is kept after its inquiry has expired: so long an answer can be
// fetched, and so long a key means the same inquiry.
const kept = 7 * 24 * time.Hour

// Bounds of an inquiry. What it asks has those of approvals.
const (
	maxKey     = 128 // bytes
	maxChoices = 8
	maxChoice  = 40 // bytes: more does not fit a button
	// maxWaiting is how many inquiries to all people may wait.
	maxWaiting = 200
)

// State describes how far an inquiry is.
type State string

// States of an inquiry. Nothing is written when one expires.
const (
	Waiting  State = "waiting"
	Answered State = "answered"
	Expired  State = "expired"
)

// Inquiry is what a program asks a person.
type Inquiry struct {
	ID      string              `json:"id"`     // made of Key
	Key     string              `json:"key"`    // by which the program names it
	Code    string              `json:"code"`   // by which the person names it
	Person  string              `json:"person"` // their name in the configuration, or their id
	Channel string              `json:"channel"`
	To      sessionkeys.Address `json:"to"`
	Text    string              `json:"text"`
	Choices []string            `json:"choices,omitempty"` // none: any words are an answer
	Sign    string              `json:"sign,omitempty"`    // with which commands begin there; empty: a slash
	Call    *Call               `json:"call,omitempty"`    // of an agent, which waits for the answer; nil: a program does
	At      time.Time           `json:"at"`
	Expires time.Time           `json:"expires"`

	Answer     string    `json:"answer,omitempty"` // one of Choices, if there are any
	AnsweredAt time.Time `json:"answered_at,omitzero"`
	AnsweredIn string    `json:"answered_in,omitempty"` // the event that brought the answer
	TakenBy    string    `json:"taken_by,omitempty"`    // the call that has taken the answer up, and may be using it

	revision int64
}

// Call is a call of a tool that cannot be done before a person has answered what its server asks. It
// is made again then, and takes the answer up.
type Call struct {
	Session sessionkeys.SessionID `json:"session,omitempty"` // of the agent, with which the question goes; empty: not known
	Server  string                `json:"server"`            // who asks
	Tool    string                `json:"tool"`              // as the agent has it
	Memo    json.RawMessage       `json:"memo"`              // what the tool needs to go on
}

// IDOf returns the id of the inquiry that a program names by key.
func IDOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// State returns how far the inquiry is at now.
func (q Inquiry) State(now time.Time) State {
	switch {
	case !q.AnsweredAt.IsZero():
		return Answered
	case !now.Before(q.Expires):
		return Expired
	}
	return Waiting
}

// asks reports whether q asks the same of the same person.
func (q Inquiry) asks(other Inquiry) bool {
	return q.Person == other.Person && (q.Call == nil) == (other.Call == nil) && q.Text == other.Text && slices.Equal(q.Choices, other.Choices)
}

// isFor reports whether somebody on a channel is whom q asks: whose turn the call is of, or who is
// configured with their direct messages. In a turn these have the id of the chat, which is not
// everywhere that of the person.
func (q Inquiry) isFor(channel string, s channels.Sender) bool {
	who := q.To.Peer
	if q.Call != nil {
		who = q.Person
	}
	return q.Channel == channel && !s.Bot && !s.Anonymous && (s.ID == who || s.Alias != "" && s.Alias == who)
}

// Question is what a program wants to have asked.
type Question struct {
	Key     string
	Person  string
	Text    string
	Choices []string
}

// Validate reports what cannot be asked so.
func (q Question) Validate() error {
	switch why := approvals.Unreadable(q.Text); {
	case q.Key == "" || len(q.Key) > maxKey || strings.ContainsFunc(q.Key, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Errorf("the key of a question is 1 to %d characters of ASCII: with the same key the same question is never asked twice", maxKey)
	case strings.TrimSpace(q.Text) == "":
		return errors.New("the question has no text")
	case why != "":
		return fmt.Errorf("the text of the question cannot be shown: it %s", why)
	case len(q.Choices) == 1 || len(q.Choices) > maxChoices:
		return fmt.Errorf("a question has no choices, or 2 to %d: these are %d", maxChoices, len(q.Choices))
	}
	for i, c := range q.Choices {
		folded := func(o string) bool { return strings.EqualFold(strings.TrimSpace(o), strings.TrimSpace(c)) }
		switch why := approvals.Unreadable(c); {
		case strings.TrimSpace(c) == "" || len(c) > maxChoice || strings.Contains(c, "\n"):
			return fmt.Errorf("choice %d is not one line of 1 to %d bytes", i+1, maxChoice)
		case why != "":
			return fmt.Errorf("choice %d cannot be shown: it %s", i+1, why)
		case slices.ContainsFunc(q.Choices[:i], folded):
			return fmt.Errorf("choice %d stands there a second time", i+1)
		}
		if n, err := strconv.Atoi(strings.TrimSpace(c)); err == nil && n > 0 && n <= len(q.Choices) && n != i+1 {
			return fmt.Errorf("choice %d is the number by which choice %d is answered: say both in words", i+1, n)
		}
	}
	return nil
}

// Store is where inquiries are kept, and the messages that ask them.
type Store interface {
	sessions.Records
	Notice(ctx context.Context, e sessions.InboxID, replies []sessions.Outgoing, at time.Time) (bool, error)
	Delivery(ctx context.Context, id string) (sessions.Delivery, error)
}

func recordID(id string) sessions.RecordID { return sessions.RecordID{Kind: recordKind, Key: id} }

// read returns the inquiry of an id; false: there is none.
func read(ctx context.Context, s Store, id string, now time.Time) (q Inquiry, found bool, err error) {
	q, revision, err := records.Read[Inquiry](ctx, s, recordID(id), now)
	q.revision = revision
	return q, revision > 0 && q.ID == id, err // it says which
}

// write writes the inquiry over what was read of it. It is sessions.ErrChanged when somebody was
// faster.
func (q Inquiry) write(ctx context.Context, s Store, now time.Time) error {
	r := sessions.Record{ID: recordID(q.ID), Revision: q.revision, At: now, Expires: q.Expires.Add(kept)}
	if _, err := records.Write(ctx, s, r, q); err != nil {
		return fmt.Errorf("write the inquiry %s: %w", q.ID, err)
	}
	return nil
}

// list returns all inquiries that are kept. What cannot be read is passed over, and in the error.
func list(ctx context.Context, s Store, now time.Time) (all []Inquiry, err error) {
	var broken []error
	err = s.Records(ctx, recordKind, "", now, func(rec sessions.Record) bool {
		q := Inquiry{revision: rec.Revision}
		if err := json.Unmarshal(rec.Body, &q); err != nil || q.ID != rec.ID.Key {
			broken = append(broken, fmt.Errorf("the inquiry %s: %w", rec.ID.Key, records.ErrUnreadable))
			return true
		}
		all = append(all, q)
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list the inquiries: %w", err)
	}
	return all, errors.Join(broken...)
}
