package sqlite

import (
	"context"
	"fmt"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// database is the file as [rules] see it.
type database struct{ *Store }

// Update implements [rules.Driver].
func (d database) Update(ctx context.Context, _ sessions.Fence, fn func(*rules.Tx) error) error {
	answers, _ := ctx.Value(answersKey{}).(answersOf)
	_, err := write(ctx, d.Store, func(x *tx) (struct{}, error) {
		x.answers = answers
		return struct{}{}, x.perform(fn)
	})
	return err
}

// UpdateEarly implements [rules.EarlyDriver].
func (d database) UpdateEarly(ctx context.Context, _ sessions.Fence, fn func(*rules.Tx) error, visible func() bool) error {
	return writeEarly(ctx, d.Store, func(x *tx) error { return x.perform(fn) }, visible)
}

// View implements [rules.Driver].
func (d database) View(ctx context.Context, fn func(*rules.Tx) error) error {
	if done, err := d.viewRemembered(ctx, fn); done {
		return err
	}
	since := d.records.since()
	return d.readers.snapshot(ctx, func(v *view) error { return fn(&rules.Tx{Reader: readerView{v, d.records, since}}) })
}

// perform runs one operation. Rows that nearly every operation makes anew are taken
// for absent without a look. One that is there after all shows when it is inserted:
// then the whole batch is done again, with looks. One that the operation did not
// insert is looked for behind it.
func (t *tx) perform(fn func(*rules.Tx) error) error {
	r := &writerView{tx: t, guess: !t.careful}
	op := rules.Tx{Reader: r}
	err := fn(&op)
	wrong, lookErr := r.guessedWrong(&op.Set, err)
	if lookErr != nil {
		return lookErr
	}
	if wrong {
		op = rules.Tx{Reader: &writerView{tx: t}}
		err = fn(&op)
	}
	if err != nil {
		return err
	}
	return t.apply(&op.Set)
}

// writerView is the writer's own state of the database: what it knows, and else what is
// stored.
type writerView struct {
	*tx
	guess   bool
	guessed []rules.Key // that there is none
	unsaid  bool        // some message was taken for absent
}

// guessedWrong reports whether a guess was wrong that no insertion will show.
func (r *writerView) guessedWrong(set *rules.WriteSet, failed error) (bool, error) {
	if failed != nil {
		return len(r.guessed) > 0 || r.unsaid, nil
	}
	for _, k := range r.guessed {
		if hasPut(set, k) {
			continue
		}
		row, err := load(r.tx, k)
		if err != nil || row != nil {
			return row != nil, err
		}
	}
	return false, nil
}

func hasPut(set *rules.WriteSet, k rules.Key) bool {
	for _, r := range set.Rows {
		if r.Key() == k {
			return true
		}
	}
	return false
}

// Get implements [rules.Reader].
func (r *writerView) Get(k rules.Key) (rules.Row, error) {
	if row, ok := r.rows.get(k); ok {
		return row, nil
	}
	switch k.(type) {
	case rules.TurnKey, rules.EventKey, rules.BegunKey, rules.CallKey, rules.AnswerKey:
		if r.guess {
			r.guessed = append(r.guessed, k)
			return nil, nil // there is none
		}
	}
	row, err := load(r.tx, k)
	if err == nil && row != nil {
		r.learn(row)
	}
	return row, err
}

// Has implements [rules.Reader].
func (r *writerView) Has(id sessionkeys.SessionID, message string) (bool, error) {
	if r.guess {
		r.unsaid = true
		return false, nil
	}
	return hasMessage(r.tx, id, message)
}

// Spent implements [rules.Reader].
func (r *writerView) Spent(k rules.SpendingKey) (rules.Spending, error) {
	p, err := r.spending(k)
	return p.Spending, err
}

// ChangedAt implements [rules.Reader].
func (r *writerView) ChangedAt(id sessionkeys.SessionID) (time.Time, error) {
	a, err := r.account(id)
	return time.UnixMicro(a.updated), err
}

// List implements [rules.Reader].
func (r *writerView) List(ix rules.Index, limit int) ([]rules.Key, error) {
	if of, ok := ix.(rules.OpenCalls); ok && of.Turn != "" {
		if calls, _ := r.open.get(of.Turn); calls.known {
			return calls.keys(limit), nil
		}
	}
	if of, ok := ix.(rules.QueuedAnswers); ok && len(of.Chats) == 1 {
		return r.queuedFor(of.Chats[0], limit)
	}
	if err := r.flush(); err != nil {
		return nil, err
	}
	return find(r.tx, ix, limit)
}

// readerView is what a reader sees.
type readerView struct {
	*view
	records *recordCache
	since   int // see recordCache
}

// Get implements [rules.Reader].
func (v readerView) Get(k rules.Key) (rules.Row, error) {
	row, err := load(v, k)
	if err == nil {
		v.records.learn(k, row, v.since)
	}
	return row, err
}

// Has implements [rules.Reader].
func (v readerView) Has(id sessionkeys.SessionID, message string) (bool, error) {
	return hasMessage(v, id, message)
}

// Spent implements [rules.Reader].
func (v readerView) Spent(k rules.SpendingKey) (rules.Spending, error) {
	p, err := loadSpending(v, k)
	return p.Spending, err
}

// ChangedAt implements [rules.Reader].
func (v readerView) ChangedAt(id sessionkeys.SessionID) (time.Time, error) {
	s, err := loadSession(v, id)
	return s.UpdatedAt, err
}

// List implements [rules.Reader].
func (v readerView) List(ix rules.Index, limit int) ([]rules.Key, error) { return find(v, ix, limit) }

// loadJoined reads a row of a kind that is more, or less, than a row of a table.
func loadJoined(s source, k rules.Key) (rules.Row, error) {
	switch k := k.(type) {
	case rules.SessionKey:
		return rowOrNil(loadImmutableSession(s, sessionkeys.SessionID(k)))
	case rules.ChildKey:
		return rowOrNil(loadChild(s, string(k)))
	case rules.CallKey:
		return rowOrNil(loadCall(s, string(k)))
	case rules.AnswerKey:
		return rowOrNil(loadAnswer(s, string(k)))
	case rules.ChatKey:
		return rowOrNil(loadChat(s, sessions.ChatID(k)))
	}
	return nil, fmt.Errorf("no rows for a %T", k)
}

// rowOrNil returns a row, or nil.
func rowOrNil[R rules.Row](r R, there bool, err error) (rules.Row, error) {
	if err != nil || !there {
		return nil, err
	}
	return r, nil
}

// apply writes a set. What may refuse it comes first; an error after that takes the
// whole batch back.
func (t *tx) apply(set *rules.WriteSet) error {
	sums, err := t.reckon(set)
	if err != nil {
		return err
	}
	if set.Empty() {
		return nil
	}
	t.changed = true
	for _, r := range set.Rows {
		if err := t.put(r); err != nil {
			return err
		}
	}
	sums.save(t)
	for _, a := range set.Appended {
		if err := appendMessages(t, a); err != nil {
			return err
		}
	}
	for _, b := range set.Booked {
		if err := insertEntry(t, b); err != nil {
			return err
		}
		if err := t.addTotal(b.Entry); err != nil {
			return err
		}
	}
	for _, a := range set.Requests {
		if err := putRequest(t, a); err != nil {
			return err
		}
	}
	for _, e := range set.Erased {
		if err := t.erase(e); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) writeJoined(r rules.Row) error {
	switch r := r.(type) {
	case rules.Session:
		return t.insertSession(r)
	case rules.Child:
		return nil // its session has the token
	case rules.Call:
		return t.putCall(r)
	case rules.Answer:
		return t.putAnswer(r)
	case rules.Chat:
		return t.putChat(r)
	}
	return fmt.Errorf("a %T cannot be stored", r)
}

// find names rows by an index.
func find(s source, ix rules.Index, limit int) ([]rules.Key, error) {
	query, a, key := indexQuery(ix)
	if query == "" {
		return nil, fmt.Errorf("no index for a %T", ix)
	}
	var keys []rules.Key
	err := s.queryRows(query, a, func(r scanner) error {
		k, err := key(r)
		if err != nil {
			return err
		}
		if k != nil {
			keys = append(keys, k)
		}
		if limit > 0 && len(keys) == limit {
			return errEnough
		}
		return nil
	})
	return keys, err
}
