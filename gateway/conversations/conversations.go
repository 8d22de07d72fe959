// Package conversations remembers which sessions a conversation has had before its
// present one, by numbers that people use with /resume, and what sessions are called.
//
// Both stand in the store as records: a conversation's in one, under the token of its
// mailbox, and written only in the commit of a command, by whoever owns the mailbox.
package conversations

import (
	"context"
	"slices"
	"time"

	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// bookRecord is the kind of a conversation's record; its key is the mailbox's token.
const bookRecord = "conversation"

// MaxEarlier is how many sessions of a conversation are remembered: those that were left
// last. What is not remembered is not lost: /resume takes its whole id.
const MaxEarlier = 50

// Store is what a conversation is looked up in.
type Store interface {
	records.Store
	Session(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error)
	MessagesAfter(ctx context.Context, id sessionkeys.SessionID, after, limit int) ([]transcript.Message, error)
}

// Earlier is a session that a conversation has left, at least once.
type Earlier struct {
	Session sessionkeys.SessionID `json:"session"`
	Number  int                   `json:"number"` // from 1, in the order in which they were left first; never another's
	Left    time.Time             `json:"left"`   // last
}

// Book is the sessions of a conversation, those first that were left last.
type Book struct {
	Earlier []Earlier `json:"earlier"`
	Highest int       `json:"highest"` // number that was given
}

func bookID(token string) sessions.RecordID { return sessions.RecordID{Kind: bookRecord, Key: token} }

// Read returns the book of a mailbox; an empty one when nothing was ever left there, or with
// an error.
func Read(ctx context.Context, s records.Store, token string, now time.Time) (Book, error) {
	b, _, err := records.Read[Book](ctx, s, bookID(token), now)
	return b, err // it says of which mailbox
}

// Leave returns the book after a session was left: it has the number that it had before,
// or the next.
func (b Book) Leave(id sessionkeys.SessionID, at time.Time) Book {
	e := Earlier{Session: id, Left: at.UTC()}
	rest := slices.Clone(b.Earlier)
	if i := b.find(id); i >= 0 {
		e.Number = rest[i].Number
		rest = slices.Delete(rest, i, i+1)
	} else {
		b.Highest++
		e.Number = b.Highest
	}
	b.Earlier = append([]Earlier{e}, rest...)
	b.Earlier = b.Earlier[:min(len(b.Earlier), MaxEarlier)]
	return b
}

// Except returns what the book holds but for the session, which is the present one.
func (b Book) Except(id sessionkeys.SessionID) []Earlier {
	return slices.DeleteFunc(slices.Clone(b.Earlier), func(e Earlier) bool { return e.Session == id })
}

// Number returns the number of a session; 0: it has none.
func (b Book) Number(id sessionkeys.SessionID) int {
	if i := b.find(id); i >= 0 {
		return b.Earlier[i].Number
	}
	return 0
}

func (b Book) find(id sessionkeys.SessionID) int {
	return slices.IndexFunc(b.Earlier, func(e Earlier) bool { return e.Session == id })
}

// Record returns the book as it is written in the commit of a command. Only the owner of
// the mailbox writes it, so no revision is compared.
func (b Book) Record(token string, at time.Time) (sessions.Record, error) {
	return records.New(bookID(token), sessions.AnyRevision, b, at) // it says of which mailbox
}
