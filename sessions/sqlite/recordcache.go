package sqlite

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"parley/sessionkeys"
	"parley/sessions/rules"
)

// What is remembered: about so many rows, and of records those that have no more bytes than that.
const (
	maxRemembered  = 4096
	maxRecordBytes = 2 << 10
)

// recordCache remembers records and chats, and which there are none, for whoever reads them: each
// turn asks for the same few, and hardly any of them ever changes. Nobody but the writer changes the
// file.
//
// What is remembered is never older than what anybody has read: before a transaction that writes
// such rows is committed they are forgotten, and until it is, none is remembered. Nor is one whose
// reading began before a change. So all that is read without a change in between is one state.
type recordCache struct {
	mu         sync.Mutex
	rows       table[rules.Key, rules.Row] // nil: there is none
	committing bool                        // a transaction that writes some
	changes    int                         // raised when one begins to be committed, and when it is
}

func newRecordCache() *recordCache {
	return &recordCache{rows: newTable[rules.Key, rules.Row](maxRemembered)}
}

// get returns the row of k, nil when there is none; ok is false when it is not remembered, or
// something has changed since.
func (c *recordCache) get(k rules.Key, since int) (row rules.Row, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != since {
		return nil, false
	}
	row, ok = c.rows.get(k)
	if r, there := row.(rules.Record); there {
		r.Body = bytes.Clone(r.Body) // its reader may do with it what they like
		row = r
	}
	return row, ok
}

// since returns what get and learn are to be given for what is read from now on.
func (c *recordCache) since() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// learn remembers a row as the database has it, if it is of a kind that is remembered and nothing
// has changed since.
func (c *recordCache) learn(k rules.Key, row rules.Row, since int) {
	switch k.(type) {
	case rules.RecordKey, rules.ChatKey:
	default:
		return
	}
	r, there := row.(rules.Record)
	if there && len(r.Body) > maxRecordBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.committing || c.changes != since {
		return
	}
	if there {
		r.Body = bytes.Clone(r.Body)
		row = r
	}
	c.rows.learn(k, row)
	c.rows.age()
}

// begin forgets the rows of a transaction that is about to be committed.
func (c *recordCache) begin(written []rules.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.committing = true
	c.changes++
	for _, k := range written {
		c.rows.drop(k)
	}
}

// end says that the transaction is committed, or was taken back.
func (c *recordCache) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.committing = false
	c.changes++
}

// errUnknown ends what was to be read of the memory alone.
var errUnknown = errors.New("not remembered")

// rememberedView is what is remembered, and nothing else: every other question is answered with
// errUnknown.
type rememberedView struct {
	records *recordCache
	since   int
}

// Get implements [rules.Reader].
func (v rememberedView) Get(k rules.Key) (rules.Row, error) {
	if row, ok := v.records.get(k, v.since); ok {
		return row, nil
	}
	return nil, errUnknown
}

// Has implements [rules.Reader].
func (rememberedView) Has(sessionkeys.SessionID, string) (bool, error) { return false, errUnknown }

// Spent implements [rules.Reader].
func (rememberedView) Spent(rules.SpendingKey) (rules.Spending, error) {
	return rules.Spending{}, errUnknown
}

// ChangedAt implements [rules.Reader].
func (rememberedView) ChangedAt(sessionkeys.SessionID) (time.Time, error) {
	return time.Time{}, errUnknown
}

// List implements [rules.Reader].
func (rememberedView) List(rules.Index, int) ([]rules.Key, error) { return nil, errUnknown }

// viewRemembered runs fn on what is remembered; done is false when that does not do.
func (d database) viewRemembered(ctx context.Context, fn func(*rules.Tx) error) (done bool, err error) {
	if over := ctx.Err() != nil || d.readers.isClosed(); over { // as the reading will say
		return false, nil
	}
	err = fn(&rules.Tx{Reader: rememberedView{d.records, d.records.since()}})
	return !errors.Is(err, errUnknown), err
}
