package sessions

import (
	"context"
	"errors"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/transcript"
)

// RecordID names a record: a kind, such as "pairing", and a key among those of it.
type RecordID struct{ Kind, Key string }

// Record is a small document that a part of parley keeps: a preference, a raised cap,
// what a network allows. Kinds are no concern of the store.
type Record struct {
	ID RecordID
	// Revision is given by the store, and rises with each write, also after the record
	// was dropped. To a write it is the revision that the writer has seen: 0 for none,
	// [AnyRevision] for whatever is there.
	Revision int64
	Owner    string    // who wrote it, for whoever reads it
	Body     []byte    // at most MaxRecord bytes
	Expires  time.Time // from then on it is not there; zero: never
	At       time.Time // when it was written, by the writer's clock
}

// AnyRevision is the revision of a write that does not mind what is there.
const AnyRevision = -1

// MaxRecord is the largest body of a record, in bytes. What is larger belongs into a
// file or a history.
const MaxRecord = 64 << 10

// ErrChanged means that a record is not as its writer has seen it.
var ErrChanged = errors.New("the record was changed meanwhile")

// Records keeps small documents. A record is read, changed and written back: who was
// faster shows by its revision. Records can also be written in the commit of a turn's
// step, its end, or a command: see [Turns].AppendWith, [FinishTurn] and [Command].
type Records interface {
	// Record returns one as it is at now, or ErrNotFound.
	Record(ctx context.Context, id RecordID, now time.Time) (Record, error)
	// ReadAhead reads a chat, unless that is the zero value, and records together, where one
	// reading after the other costs a journey each, for a caller who asks for them at once:
	// Chat and Record answer from it when their context is of [Ahead.In]. They then say what
	// was so when ReadAhead was called, or later, and fail if it did; so such a context is for
	// the next step, and not for what waits for a change.
	ReadAhead(ctx context.Context, chat ChatID, records ...RecordID) Ahead
	// WriteRecord makes or replaces one at r.At and returns its revision, or ErrChanged
	// when it is at another one than r.Revision. A write that is repeated as it was,
	// with the same r.At, changes nothing and answers the same: of writers of whom only one
	// may be answered, each has something of its own in the body.
	WriteRecord(ctx context.Context, r Record) (revision int64, err error)
	// DropRecord takes one away, or ErrChanged; one that is not there is dropped
	// already.
	DropRecord(ctx context.Context, id RecordID, revision int64) error
	// Records calls yield for those of a kind whose keys begin with prefix, in the
	// order of their keys, as they are at now, until it returns false. yield may use
	// the store.
	Records(ctx context.Context, kind, prefix string, now time.Time, yield func(Record) bool) error
}

// Recordings is what a session's whole history is exported from, besides what
// its work itself reads: what models were asked, and what became of answers. It
// is kept as long as the session.
type Recordings interface {
	// Requests calls yield for each attempt of a model call that the session
	// reserved with a [Charge.Request], in the order in which they were reserved,
	// until it returns false. A reservation that is made again is one attempt,
	// one that was refused none. yield may use the store.
	Requests(ctx context.Context, id sessionkeys.SessionID, yield func(Recording) bool) error
	// RequestTemplate is what the Body of the first Asked of that name gave, byte for byte,
	// or ErrNotFound.
	RequestTemplate(ctx context.Context, name string) ([]byte, error)
	// Deliveries calls yield for each answer that was queued for the session, in
	// the order in which they were queued, finished or not, until it returns
	// false. yield may use the store. It may be slow.
	Deliveries(ctx context.Context, id sessionkeys.SessionID, yield func(Delivery) bool) error
}

// Recording is one attempt of a model call as it was asked.
type Recording struct {
	ID    string // of the reservation, and of its ledger entry
	Turn  string
	At    time.Time    // when it was reserved
	Upper costs.Amount // what was reserved
	// Asked is what it was reserved with; Body is nil.
	transcript.RequestRecord
}
