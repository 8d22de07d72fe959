package sqlite

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"parley/sessionkeys"
	"parley/sessions/rules"
)

// What is remembered of records: about so many, of those that have no more bytes than that.
const (
	maxRecords     = 4096
	maxRecordBytes = 2 << 10
)

// recordCache remembers records, and which there are none, for whoever reads them: each turn asks
// for the same few, and hardly any of them ever changes. Nobody but the writer changes the file.
//
// What is remembered is never older than what anybody has read: before a transaction that writes
// records is committed they are forgotten, and until it is, none is remembered. Nor is one whose
// reading began before a change.
type recordCache struct {
	mu         sync.Mutex
	rows       table[rules.RecordKey, rules.Row] // nil: there is none
	committing bool                              // a transaction that writes records
	changes    int                               // raised when one begins to be committed, and when it is
}

func newRecordCache() *recordCache {
	return &recordCache{rows: newTable[rules.RecordKey, rules.Row](maxRecords)}
}

// get returns the row of k, nil when there is none; ok is false when it is not remembered.
func (c *recordCache) get(k rules.RecordKey) (row rules.Row, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	row, ok = c.rows.get(k)
	if r, there := row.(rules.Record); there {
		r.Body = bytes.Clone(r.Body) // its reader may do with it what they like
		row = r
	}
	return row, ok
}

// since returns what learn is to be given for what is read from now on.
func (c *recordCache) since() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// learn remembers a row as the database has it, unless records have changed since.
func (c *recordCache) learn(k rules.RecordKey, row rules.Row, since int) {
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

// begin forgets the records of a transaction that is about to be committed.
func (c *recordCache) begin(written []rules.RecordKey) {
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

// rememberedView is the records that are remembered, and nothing else: every other question is
// answered with errUnknown.
type rememberedView struct{ records *recordCache }

// Get implements [rules.Reader].
func (v rememberedView) Get(k rules.Key) (rules.Row, error) {
	if k, ok := k.(rules.RecordKey); ok {
		if row, ok := v.records.get(k); ok {
			return row, nil
		}
	}
	return nil, errUnknown
}

// Has implements [rules.Reader].
func (rememberedView) Has(sessionkeys.SessionID, string) (bool, error) { return false, errUnknown }

// Spent implements [rules.Reader].
func (rememberedView) Spent(rules.SpendingKey) (rules.Spending, error) {
	return rules.Spending{}, errUnknown
}

// List implements [rules.Reader].
func (rememberedView) List(rules.Index, int) ([]rules.Key, error) { return nil, errUnknown }

// viewRemembered runs fn on what is remembered; done is false when that does not do.
func (d database) viewRemembered(ctx context.Context, fn func(*rules.Tx) error) (done bool, err error) {
	if over := ctx.Err() != nil || d.readers.isClosed(); over { // as the reading will say
		return false, nil
	}
	err = fn(&rules.Tx{Reader: rememberedView{d.records}})
	return !errors.Is(err, errUnknown), err
}
