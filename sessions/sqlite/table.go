package sqlite

import "fmt"

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
