package sessions

import (
	"context"
	"errors"
	"time"

	"parley/sessionkeys"
)

// ErrBusy means that something of a session is under way or waits, so that its content cannot
// be deleted now. Nothing was changed.
var ErrBusy = errors.New("the session is busy")

// ErasedKind is the kind of the record that says that the content of a root session was
// deleted; its key is the session's id. What stands in it is the business of who deletes.
const ErasedKind = "erased"

// ErasedRecord returns the id of the record that says that a session's content was deleted.
func ErasedRecord(id sessionkeys.SessionID) RecordID {
	return RecordID{Kind: ErasedKind, Key: string(id)}
}

// Erasure says whose content is to be deleted.
type Erasure struct {
	Session sessionkeys.SessionID // a root
	Mark    []byte                // the body of its record of ErasedKind: who, when and why
	Owner   string                // of that record
	Records []Record              // written with it; ErrChanged of one of them refuses all
	Drop    []RecordID            // taken away with it, if they are there
	// Templates are names of request templates that hold words of the session. Those with which
	// no other session has asked are deleted with it.
	Templates []string
	// Before is the time before which the session must have changed last, itself or below; zero: it
	// may have changed at any time.
	Before time.Time
	At     time.Time
}

// Eraser deletes what was said, and leaves what it has cost.
type Eraser interface {
	// Erase deletes, in one commit, the content of a root session and of all below it: their
	// messages, what models were asked, what children were given to do, and the words, files and
	// choices of the answers. All that money is counted by stays as it was: the sessions with their
	// sums, turns, reservations and ledger rows, what scopes have spent. So do inbox rows: an event
	// that comes again is not heard a second time. UpdatedAt of the root becomes e.At.
	//
	// A mailbox that feeds the session feeds a new one from now on. No command resumes the session,
	// and nothing is restored into it: both are ErrNotFound.
	//
	// It is ErrBusy while a turn of the tree is open, one of its answers is not finished, or the
	// mailbox that feeds it has an owner that lives at e.At or is owed work, and when it changed
	// at e.Before or later: somebody went on with it. done is false when the content was deleted
	// before, also by an earlier try of the same call: then nothing is changed. ErrNotFound when there
	// is no such session; an error when it is not a root.
	Erase(ctx context.Context, e Erasure) (done bool, err error)
}
