package sqlite

import (
	"fmt"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions/rules"
)

// How many rows of a kind are known at most, about.
const (
	maxRows   = 16384
	maxChats  = 8192
	maxScopes = 16384
	maxPrices = 256
)

// rowCache is what the writer knows of the database.
type rowCache struct {
	// rows are mailboxes, turns, what of sessions never changes, open calls, leases, and
	// answers that are not done.
	rows     table[rules.Key, rules.Row]
	open     table[string, openCalls] // of turns
	sessions table[sessionkeys.SessionID, account]
	scopes   table[rules.SpendingKey, spending]
	totals   table[costs.Labels, total]
	prices   table[string, int64] // their numbers
	frames   table[string, int64] // likewise, by name
	queue    queue

	// Turns of which calls are open that began before the turn was known.
	early map[string]bool
}

func newKnown() rowCache {
	return rowCache{
		rows:     newTable[rules.Key, rules.Row](maxRows),
		open:     newTable[string, openCalls](maxChats),
		sessions: newTable[sessionkeys.SessionID, account](maxChats),
		scopes:   newTable[rules.SpendingKey, spending](maxScopes),
		totals:   newTable[costs.Labels, total](maxScopes),
		prices:   newTable[string, int64](maxPrices),
		frames:   newTable[string, int64](maxPrices),
		early:    map[string]bool{},
	}
}

// learn notes a row as the database has it, if it is likely to be used again.
func (k *rowCache) learn(row rules.Row) {
	switch r := row.(type) {
	case rules.Mailbox, rules.Session, rules.Worker:
	case rules.Turn:
		k.open.learn(r.ID, openCalls{})
	case rules.Call:
		if r.State != rules.CallOpen {
			return
		}
	case rules.Answer:
		if r.Done {
			return
		}
	default:
		return
	}
	k.rows.learn(row.Key(), row)
}

// flush stores all that was put since the last time.
func (t *tx) flush() error {
	for _, flush := range []func() error{
		func() error { return t.rows.flush(oneByOne(t.store)) },
		func() error { return t.sessions.flush(oneByOne(t.storeAccount)) },
		func() error { return t.scopes.flush(t.storeSpendings) },
		func() error { return t.totals.flush(oneByOne(t.storeTotal)) },
	} {
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

// store writes a row that was put.
func (t *tx) store(row rules.Row, before *rules.Row) error {
	switch r := row.(type) {
	case rules.Mailbox:
		return t.storeMailbox(r, before)
	case rules.Turn:
		return t.exec(updateTurn, append(r.Places()[fixedOfTurn:], r.ID)...)
	case rules.Worker:
		return t.exec(workerShape.upsert, r.Places()...)
	}
	return fmt.Errorf("a %T is not stored later", row)
}

// forgetful is a table of any kind.
type forgetful interface {
	age()
	forget()
}

func (k *rowCache) tables() []forgetful {
	return []forgetful{
		&k.rows, &k.open, &k.sessions, &k.scopes, &k.totals, &k.prices, &k.frames, &k.queue,
	}
}

func (k *rowCache) age() {
	for _, t := range k.tables() {
		t.age()
	}
}

func (k *rowCache) forget() {
	for _, t := range k.tables() {
		t.forget()
	}
}

// table is the rows of one kind that the writer knows: about the most lately
// used of them. Nobody else writes the database, so that a row is read once; and
// it is stored once for all the writes of a transaction that change it.
//
// What is known is always the row as the open transaction sees it. Rows go in
// and out as copies. A rollback, whole or to a savepoint, forgets everything.
type table[K comparable, V any] struct {
	limit      int
	young, old map[K]*cachedRow[V]
	dirty      []*cachedRow[V]
}

// cachedRow is a row. before is what the database has, if it is known.
type cachedRow[V any] struct {
	now    V
	before *V
	dirty  bool
}

func newTable[K comparable, V any](limit int) table[K, V] {
	return table[K, V]{limit: limit, young: map[K]*cachedRow[V]{}}
}

func (t *table[K, V]) find(k K) *cachedRow[V] {
	if e, ok := t.young[k]; ok {
		return e
	}
	e, ok := t.old[k]
	if ok {
		t.young[k] = e
	}
	return e
}

func (t *table[K, V]) get(k K) (v V, ok bool) {
	if e := t.find(k); e != nil {
		return e.now, true
	}
	return v, false
}

// learn notes a row as the database has it.
func (t *table[K, V]) learn(k K, v V) { t.young[k] = &cachedRow[V]{now: v, before: &v} }

// amend changes what is known of a row beside its columns.
func (t *table[K, V]) amend(k K, f func(*V)) {
	if e := t.find(k); e != nil {
		f(&e.now)
	}
}

// put changes a row; flush stores it.
func (t *table[K, V]) put(k K, v V) {
	e := t.find(k)
	if e == nil {
		e = &cachedRow[V]{}
		t.young[k] = e
	}
	e.now = v
	if !e.dirty {
		e.dirty = true
		t.dirty = append(t.dirty, e)
	}
}

// flush stores what was put. After an error nothing may be used any more until
// it is forgotten.
func (t *table[K, V]) flush(store func(rows []*cachedRow[V]) error) error {
	if len(t.dirty) == 0 {
		return nil
	}
	if err := store(t.dirty); err != nil {
		return err
	}
	for _, e := range t.dirty {
		stored := e.now
		e.before, e.dirty = &stored, false
	}
	clear(t.dirty)
	t.dirty = t.dirty[:0]
	return nil
}

// oneByOne stores rows by a function of each and what the database has of it.
func oneByOne[V any](store func(now V, before *V) error) func([]*cachedRow[V]) error {
	return func(rows []*cachedRow[V]) error {
		for _, e := range rows {
			if err := store(e.now, e.before); err != nil {
				return fmt.Errorf("write a %T: %w", e.now, err)
			}
		}
		return nil
	}
}

// drop forgets a row that was deleted, or will not be asked for again. It was
// not put since it was flushed.
func (t *table[K, V]) drop(k K) {
	delete(t.young, k)
	delete(t.old, k)
}

// age forgets the older half when there is too much. Everything was flushed.
func (t *table[K, V]) age() {
	if len(t.young) >= t.limit {
		t.old, t.young = t.young, make(map[K]*cachedRow[V], t.limit)
	}
}

func (t *table[K, V]) forget() {
	clear(t.young)
	t.old = nil
	clear(t.dirty)
	t.dirty = t.dirty[:0]
}
