// Package rules is what the operations of a [sessions.Store] do, each written once:
// who may take a mailbox, what opens a turn, what a call reserves, in which order the
// states of an answer follow. A database below it knows rows, indexes and durability,
// and nothing of what they mean: it is a [Driver].
//
// An operation reads rows through a [Tx] and decides. What it changes is collected
// there as a [WriteSet], which the driver commits in one step after the operation has
// returned nil, or not at all. An operation may therefore be run again when its commit
// lost a race: it has no effect of its own.
package rules

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// Driver is a database: it keeps rows, finds them by its indexes, and commits.
type Driver interface {
	// Update runs fn on one state of the database and commits what fn wrote as one
	// step. f is the fence that fn will ask for; zero: none. fn may be run several
	// times, and may still be running when Update returns because ctx ended. When fn fails nothing is written, and Update returns its error. A
	// limit that a [Count] passes is a *LimitError, from the Tx or from Update, and
	// nothing is written.
	Update(ctx context.Context, f sessions.Fence, fn func(*Tx) error) error
	// View runs fn on one state of the database. What fn writes is dropped.
	View(ctx context.Context, fn func(*Tx) error) error
	// Session returns a session with its sums, or sessions.ErrNotFound.
	Session(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error)
}

// EarlyDriver is a Driver that can go on before a commit is durable.
type EarlyDriver interface {
	Driver
	// UpdateEarly is Update for what somebody is to go on with at once: it calls visible, once
	// at most, when what fn wrote is there for operations that come later, and not durable
	// yet. Those are durable only together with it. If visible returns true, the
	// commit may wait a moment for the first of them. visible must not block, and is not
	// called beside fn.
	UpdateEarly(ctx context.Context, f sessions.Fence, fn func(*Tx) error, visible func() bool) error
}

// AheadDriver is a Driver that a View costs a journey.
type AheadDriver interface {
	Driver
	// ReadAhead reads rows on one state of the database. A View whose context is of
	// [sessions.Ahead.In] takes them from what it returns.
	ReadAhead(ctx context.Context, keys []Key) sessions.Ahead
}

// Reader is one state of a database.
type Reader interface {
	// Get returns the row of a key, and nil when there is none.
	Get(k Key) (Row, error)
	// List names rows by an index, at most limit of them; 0: all. What the open
	// transaction has put is not listed, and what is listed may have been changed by
	// it. What FreeMailboxes and OwedMailboxes name may be so since a moment ago only, or
	// not any more: the rows say which.
	List(ix Index, limit int) ([]Key, error)
	// Has reports whether a session has a message of this id.
	Has(session sessionkeys.SessionID, message string) (bool, error)
	// Spent returns what a window of a scope has settled and holds.
	Spent(k SpendingKey) (Spending, error)
	// ChangedAt returns when a session that is there changed last, itself or below.
	ChangedAt(session sessionkeys.SessionID) (time.Time, error)
}

// GlancingReader is a Reader of a database that looks at the commit whether all that was read
// still holds.
type GlancingReader interface {
	Reader
	// Glance returns a reader of what the operation may decide on although it changes before
	// the commit.
	Glance() Reader
}

// glance returns a transaction for what need not hold any more when tx is committed: whatever
// every process changes all the time would let no commit through that needs longer than that.
// What tx has put is not there.
func (tx *Tx) glance() *Tx {
	if r, can := tx.Reader.(GlancingReader); can {
		return &Tx{Reader: r.Glance()}
	}
	return &Tx{Reader: tx.Reader}
}

// Index is a question which rows there are. Its type says which.
type Index interface{ index() }

// What a driver can list.
type (
	// OpenCalls are the open calls of a mailbox, or of one of its turns.
	OpenCalls struct{ Token, Turn string }
	// NestedTurns are the nested turns of a mailbox that are open.
	NestedTurns struct{ Token string }
	// FreeMailboxes are those that are owed work and have no owner, that which
	// waits longest first; or that which waits shortest, when Latest.
	FreeMailboxes struct{ Latest bool }
	// OwedMailboxes are those that a worker owns and that are owed work, that which
	// waits longest first.
	OwedMailboxes struct{ Owner sessions.Worker }
	// OwnedMailboxes are those that a worker owns, by their tokens.
	OwnedMailboxes struct{ Owner sessions.Worker }
	// AllMailboxes are those behind a token, by their tokens.
	AllMailboxes struct{ After string }
	// Owners are the workers that own mailboxes that are owed work.
	Owners struct{}
	// WorkersNamed are the workers of a name that are not gone.
	WorkersNamed struct{ Name string }
	// ChatMailboxes are those of the chat of any of the ids that are owed work or
	// owned, by their tokens.
	ChatMailboxes struct{ Chats []sessions.ChatID }
	// PendingControls are the control requests of a mailbox that are not done, in
	// the order in which they came.
	PendingControls struct{ Token string }
	// CloseControls are those of a Shutting that are not done, by their mailboxes.
	CloseControls struct{ Chat sessions.ChatID }
	// QueuedAnswers are those for a chat of any of the ids that are not done, in
	// their order.
	QueuedAnswers struct{ Chats []sessions.ChatID }
	// RecordsOf are those of a kind whose keys begin with Prefix and come after
	// another, in the order of the keys.
	RecordsOf struct{ Kind, Prefix, After string }
	// ChildrenOf are the sessions right below another.
	ChildrenOf struct{ Parent sessionkeys.SessionID }
	// UnsentAnswers are the answers of a session that are not done. A commit need not notice that
	// one was queued since they were listed.
	UnsentAnswers struct{ Session sessionkeys.SessionID }
	// ExpiredRecords are those of a kind that expired at or before At.
	ExpiredRecords struct {
		Kind string
		At   time.Time
	}
)

func (OpenCalls) index()       {}
func (NestedTurns) index()     {}
func (FreeMailboxes) index()   {}
func (OwedMailboxes) index()   {}
func (OwnedMailboxes) index()  {}
func (AllMailboxes) index()    {}
func (Owners) index()          {}
func (WorkersNamed) index()    {}
func (ChatMailboxes) index()   {}
func (PendingControls) index() {}
func (CloseControls) index()   {}
func (QueuedAnswers) index()   {}
func (RecordsOf) index()       {}
func (ChildrenOf) index()      {}
func (UnsentAnswers) index()   {}
func (ExpiredRecords) index()  {}

// WriteSet is what one operation changes.
type WriteSet struct {
	Rows     []Row // each as it is to stand, in the order in which they were put first
	Appended []Appended
	Sums     []Sums
	Counts   []Count
	Booked   []Booking
	Requests []RequestRecord
	Erased   []Erased

	// Forgettable is set when the database may lose this one if it loses its last
	// writes: who owns what, and which messages wait. All else is a promise.
	Forgettable bool
	// OnlyFence is set when of the mailbox that was read under the fence only that
	// decided that it holds, and it is not put: it may have been touched since.
	OnlyFence bool
}

// Empty reports whether there is nothing to commit.
func (w *WriteSet) Empty() bool {
	return len(w.Rows)+len(w.Appended)+len(w.Sums)+len(w.Counts)+len(w.Booked)+len(w.Requests)+len(w.Erased) == 0
}

// Appended is messages at the end of a session's history. None of them is there yet.
type Appended struct {
	Session  sessionkeys.SessionID
	Messages []transcript.Message
	At       time.Time // the session changed then
}

// Sums is what is added to the sums of a session. Additions commute.
type Sums struct {
	Session            sessionkeys.SessionID
	Own, Subtree, Held costs.Amount
	Unpriced           int
	At                 time.Time // the session changed then
	Call               string    // whose reservation or settlement it is
}

// Booking is a row of the ledger. Its call was put as booked or interrupted in the
// same write-set; the totals by labels follow from it.
type Booking struct {
	Session sessionkeys.SessionID
	Turn    string
	Entry   costs.Entry
}

// RequestRecord is what a call asks a model, see [sessions.Recordings].
type RequestRecord struct {
	Session     sessionkeys.SessionID
	Turn        string
	Reservation costs.Reservation
	Record      transcript.RequestRecord
}

// Erased is sessions that lose their content: all messages and requests; a title that stands in the
// row; the text, file, choices and bodies of their answers, but of those that are done only. Their
// counts of messages become 0.
type Erased struct {
	Sessions  []sessionkeys.SessionID // the first is the root, which changed at At
	Templates []string                // that go when no other session has asked with them
	At        time.Time
}

// Tx is one operation's view of the database: a state of it with what the operation
// has written so far.
type Tx struct {
	Reader Reader
	Set    WriteSet

	at map[Key]int // where in Set.Rows a row stands
}

// get returns the row of a key as it stands in this transaction.
func get[R Row](tx *Tx, k Key) (row R, found bool, err error) {
	if i, ok := tx.at[k]; ok {
		return tx.Set.Rows[i].(R), true, nil // a key's type says the row's
	}
	r, err := tx.Reader.Get(k)
	if err != nil {
		return row, false, fmt.Errorf("read %s: %w", k.kind(), err)
	}
	if r == nil {
		return row, false, nil
	}
	row, found = r.(R)
	if !found {
		return row, false, fmt.Errorf("read %s: the driver returned a %T", k.kind(), r)
	}
	return row, true, nil
}

// existing is get of a row that must be there: otherwise the error is ErrNotFound.
func existing[R Row](tx *Tx, k Key) (R, error) {
	row, found, err := get[R](tx, k)
	if err == nil && !found {
		err = sessions.ErrNotFound
	}
	return row, err
}

// put writes a row.
func (tx *Tx) put(r Row) {
	k := r.Key()
	if i, ok := tx.at[k]; ok {
		tx.Set.Rows[i] = r
		return
	}
	if tx.at == nil {
		tx.at = map[Key]int{}
	}
	tx.at[k] = len(tx.Set.Rows)
	tx.Set.Rows = append(tx.Set.Rows, r)
}

// list names rows as they stood before this transaction.
func list[K Key](tx *Tx, ix Index, limit int) ([]K, error) {
	found, err := tx.Reader.List(ix, limit)
	if err != nil {
		return nil, fmt.Errorf("list %T: %w", ix, err)
	}
	keys := make([]K, len(found))
	for i, k := range found {
		keys[i] = k.(K) // an index names rows of one kind
	}
	return keys, nil
}

// rowsOf returns the rows that an index names, as they stand in this transaction. One
// that was dropped meanwhile is left out.
func rowsOf[R Row](tx *Tx, ix Index, limit int) (rows []R, err error) {
	keys, err := list[Key](tx, ix, limit)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		r, found, err := get[R](tx, k)
		if err != nil {
			return nil, err
		}
		if found {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// Operations are those of a [sessions.Store] that decide something. The rest of
// it, what only reads and sums up, is the driver's own.
type Operations struct {
	Dispatch
	Turns
	Outbox
	Money
	Chats
	Documents
	Eraser
}

// The operations by the parts of [sessions.Store] that they implement.
type (
	// Dispatch is who works on which mailbox.
	Dispatch struct{ db Driver }
	// Turns are the turns of a mailbox, and what they say, do and cost.
	Turns struct{ db Driver }
	// Outbox is how far answers got.
	Outbox struct{ db Driver }
	// Money is what scopes have spent.
	Money struct{ db Driver }
	// Chats is where chats are and whether they can be reached.
	Chats struct{ db Driver }
	// Documents are the records of [sessions.Records].
	Documents struct{ db Driver }
	// Eraser is what deletes the content of sessions.
	Eraser struct{ db Driver }
)

// Over returns the operations over a database.
func Over(db Driver) Operations {
	return Operations{Dispatch{db}, Turns{db}, Outbox{db}, Money{db}, Chats{db}, Documents{db}, Eraser{db}}
}

// outcome is what an operation answers: a value, and whether it did what it is for.
type outcome[T any] struct {
	of  T
	yes bool
}

// update runs an operation that answers something.
func update[T any](ctx context.Context, db Driver, f sessions.Fence, fn func(*Tx) (T, error)) (T, error) {
	answer := new(T) // of a caller who left early nobody reads it
	err := db.Update(ctx, f, func(tx *Tx) (err error) {
		*answer, err = fn(tx)
		return err
	})
	return resultOrZero(answer, err)
}

// view runs an operation that writes nothing.
func view[T any](ctx context.Context, db Driver, fn func(*Tx) (T, error)) (T, error) {
	answer := new(T)
	err := db.View(ctx, func(tx *Tx) (err error) {
		*answer, err = fn(tx)
		return err
	})
	return resultOrZero(answer, err)
}

func resultOrZero[T any](answer *T, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return *answer, nil
}

// maxSeq is the highest sequence of a log that every driver can keep: Redis counts
// in floating point.
const maxSeq = 1 << 53

func checkSeq(seqs ...uint64) error {
	for _, s := range seqs {
		if s > maxSeq {
			return fmt.Errorf("sequence %d is out of range", s)
		}
	}
	return nil
}

// While returns err with what was being done when it came, and nil when there is none.
func While(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// Pages calls yield for each row of the pages that next reads, until it returns false
// or a page has fewer than size rows. yield may use the store.
func Pages[T any](size int, next func() ([]T, error), yield func(T) bool) error {
	for {
		rows, err := next()
		if err != nil {
			return err
		}
		for _, r := range rows {
			if !yield(r) {
				return nil
			}
		}
		if len(rows) < size {
			return nil
		}
	}
}

// SortUsage sorts groups of the ledger: days in their order, else the dearest first.
func SortUsage(us []sessions.Usage, by sessions.Grouping) {
	slices.SortFunc(us, func(a, b sessions.Usage) int {
		dearer := cmp.Compare(b.Amount, a.Amount)
		if by == sessions.ByDay {
			dearer = 0
		}
		return cmp.Or(dearer, cmp.Compare(a.Group, b.Group))
	})
}

// SortTurns sorts the turns of a session, the oldest first.
func SortTurns(ts []sessions.Turn) {
	slices.SortFunc(ts, func(a, b sessions.Turn) int {
		return cmp.Or(a.OpenedAt.Compare(b.OpenedAt), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID))
	})
}
