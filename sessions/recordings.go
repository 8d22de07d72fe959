package sessions

import (
	"context"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/transcript"
)

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
	// MessagesAfter is up to limit messages of a session's history from number
	// after+1 on; the first is number 1. None are left: an empty slice.
	MessagesAfter(ctx context.Context, id sessionkeys.SessionID, after, limit int) ([]transcript.Message, error)
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
