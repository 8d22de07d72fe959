package memtest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
	"parley/transcript"
)

// database is a [rules.Driver]: rows by their keys, and what is found by looking at
// all rows of a kind.
type database struct {
	mu         sync.Mutex // guards all that follows
	tables     map[string]map[rules.Key]rules.Row
	order      []sessionkeys.SessionID // in which sessions were made
	controls   []rules.ControlKey      // likewise
	answers    []rules.AnswerKey       // likewise
	history    map[sessionkeys.SessionID][]transcript.Message
	sums       map[sessionkeys.SessionID]rules.Sums
	spending   map[rules.SpendingKey]rules.Spending
	ledger     []rules.Booking
	generation string
	lost       int

	openTurnOwed bool // see OpenTurnOwed
}

func newDatabase() *database {
	return &database{
		tables: map[string]map[rules.Key]rules.Row{}, history: map[sessionkeys.SessionID][]transcript.Message{},
		sums: map[sessionkeys.SessionID]rules.Sums{}, spending: map[rules.SpendingKey]rules.Spending{}, openTurnOwed: true,
	}
}

func (db *database) rows(kind string) map[rules.Key]rules.Row { return db.tables[kind] }

// each yields all rows of a kind, in no order.
func each[R rules.Row](db *database) iter.Seq[R] {
	var zero R
	return func(yield func(R) bool) {
		for _, r := range db.tables[rules.KindOf(zero.Key())] {
			if !yield(r.(R)) { // a table holds rows of one kind
				return
			}
		}
	}
}

// Update implements [rules.Driver].
func (db *database) Update(_ context.Context, _ sessions.Fence, fn func(*rules.Tx) error) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	tx := &rules.Tx{Reader: db}
	if err := fn(tx); err != nil {
		return err
	}
	return db.commit(&tx.Set)
}

// UpdateEarly implements [rules.EarlyDriver].
func (db *database) UpdateEarly(ctx context.Context, f sessions.Fence, fn func(*rules.Tx) error, visible func() bool) error {
	err := db.Update(ctx, f, fn)
	if err == nil {
		visible()
	}
	return err
}

// View implements [rules.Driver].
func (db *database) View(_ context.Context, fn func(*rules.Tx) error) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return fn(&rules.Tx{Reader: db})
}

// commit writes a set whole, or nothing of it.
func (db *database) commit(set *rules.WriteSet) error {
	sums, spending := map[sessionkeys.SessionID]rules.Sums{}, map[rules.SpendingKey]rules.Spending{}
	for _, s := range set.Sums {
		was, ok := sums[s.Session]
		if !ok {
			was = db.sums[s.Session]
		}
		now, err := was.With(s)
		if err != nil {
			return err
		}
		sums[s.Session] = now
	}
	for i, c := range set.Counts {
		was, ok := spending[c.Key]
		if !ok {
			was = db.spending[c.Key]
		}
		now, err := was.With(c, i)
		if err != nil {
			return err
		}
		spending[c.Key] = now
	}
	maps.Copy(db.sums, sums)
	maps.Copy(db.spending, spending)
	for _, r := range set.Rows {
		db.put(r)
	}
	for _, a := range set.Appended {
		db.history[a.Session] = append(db.history[a.Session], a.Messages...)
		s := db.sums[a.Session]
		if a.At.After(s.At) {
			s.At = a.At
		}
		db.sums[a.Session] = s
	}
	db.ledger = append(db.ledger, set.Booked...)
	for _, e := range set.Erased {
		db.erase(e)
	}
	return nil
}

// erase takes the content of sessions away.
func (db *database) erase(e rules.Erased) {
	for i, id := range e.Sessions {
		delete(db.history, id)
		row, _ := db.rows("session")[rules.SessionKey(id)].(rules.Session)
		row.Title = ""
		db.put(row)
		if s := db.sums[id]; i == 0 && e.At.After(s.At) {
			s.At = e.At
			db.sums[id] = s
		}
	}
	answers := db.rows("answer")
	for k, r := range answers {
		a, ok := r.(rules.Answer)
		if !ok || !a.Done || !slices.Contains(e.Sessions, a.Session) {
			continue
		}
		a.Text, a.File, a.Choices, a.Parts = "", nil, nil, slices.Clone(a.Parts)
		for i := range a.Parts {
			a.Parts[i].Body = []byte{}
		}
		answers[k] = a
	}
}

func (db *database) put(r rules.Row) {
	k := r.Key()
	table := db.tables[rules.KindOf(k)]
	if table == nil {
		table = map[rules.Key]rules.Row{}
		db.tables[rules.KindOf(k)] = table
	}
	if table[k] == nil {
		switch k := k.(type) {
		case rules.SessionKey:
			db.order = append(db.order, sessionkeys.SessionID(k))
		case rules.ControlKey:
			db.controls = append(db.controls, k)
		case rules.AnswerKey:
			db.answers = append(db.answers, k)
			a := r.(rules.Answer) // by its key
			a.Order = uint64(len(db.answers))
			r = a
		}
	}
	if record, ok := r.(rules.Record); ok && record.Dropped {
		delete(table, k)
		return
	}
	if a, ok := r.(rules.Answer); ok {
		was, there := table[k].(rules.Answer)
		if there {
			a.Outgoing = was.Outgoing
		}
		for i := range a.Parts {
			if a.Parts[i].Body == nil {
				a.Parts[i].Body = was.Parts[i].Body
			}
		}
		r = a
	}
	table[k] = r
}

// Get implements [rules.Reader].
func (db *database) Get(k rules.Key) (rules.Row, error) {
	r := db.tables[rules.KindOf(k)][k]
	if a, ok := r.(rules.Answer); ok {
		a.Outgoing = sessions.Outgoing{ID: a.ID}
		a.Parts = slices.Clone(a.Parts)
		for i := range a.Parts {
			a.Parts[i].Body = nil
		}
		return a, nil
	}
	return r, nil
}

// Has implements [rules.Reader].
func (db *database) Has(id sessionkeys.SessionID, message string) (bool, error) {
	return slices.ContainsFunc(db.history[id], func(m transcript.Message) bool { return m.ID == message }), nil
}

// Spent implements [rules.Reader].
func (db *database) Spent(k rules.SpendingKey) (rules.Spending, error) { return db.spending[k], nil }

// ChangedAt implements [rules.Reader].
func (db *database) ChangedAt(id sessionkeys.SessionID) (time.Time, error) {
	row, _ := db.rows("session")[rules.SessionKey(id)].(rules.Session)
	return db.changedAt(row.Session), nil
}

// changedAt returns when a session changed last: when it was made, at first.
func (db *database) changedAt(s sessions.Session) time.Time {
	if at := db.sums[s.ID].At; at.After(s.CreatedAt) {
		return at
	}
	return s.CreatedAt
}

// Session implements [rules.Driver].
func (db *database) Session(_ context.Context, id sessionkeys.SessionID) (sessions.Session, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	row, ok := db.rows("session")[rules.SessionKey(id)].(rules.Session)
	if !ok {
		return sessions.Session{}, sessions.ErrNotFound
	}
	x, s := row.Session, db.sums[id]
	x.Messages, x.Own, x.Subtree, x.Held, x.Unpriced, x.UpdatedAt = len(db.history[id]), s.Own, s.Subtree, s.Held, s.Unpriced, db.changedAt(x)
	return x, nil
}

// answer returns the zero row when there is none.
func (db *database) answer(k rules.AnswerKey) rules.Answer {
	a, _ := db.rows("answer")[k].(rules.Answer)
	return a
}

func (db *database) delivery(a rules.Answer) sessions.Delivery {
	d := sessions.Delivery{Outgoing: a.Outgoing, Order: a.Order, Parts: slices.Clone(a.Parts)}
	if t, ok := db.rows("turn")[rules.TurnKey(a.Turn)].(rules.Turn); ok {
		d.Preview, d.AskedAt = t.Preview, t.ReceivedAt
	}
	return d
}

func (db *database) lives(w sessions.Worker, now time.Time) bool {
	l, ok := db.rows("worker")[rules.WorkerKey(w)].(rules.Worker)
	return ok && !l.Gone && l.Until.After(now)
}

func (db *database) owed(m rules.Mailbox) bool {
	if !db.openTurnOwed {
		m.OpenTurn = ""
	}
	return m.HasWork()
}

// byWaiting sorts mailboxes as Recover takes them: first what dead ones left, then
// what waited longest.
func byWaiting(ms []rules.Mailbox) {
	free := func(m rules.Mailbox) int {
		if m.Owner.Nonce == "" {
			return 1
		}
		return 0
	}
	slices.SortFunc(ms, func(a, b rules.Mailbox) int {
		return cmp.Or(cmp.Compare(free(a), free(b)), a.WaitingSince.Compare(b.WaitingSince), cmp.Compare(a.Token, b.Token))
	})
}

// List implements [rules.Reader].
func (db *database) List(ix rules.Index, limit int) (keys []rules.Key, err error) {
	switch ix := ix.(type) {
	case rules.OpenCalls:
		keys = keysOf(db, func(c rules.Call) bool {
			return c.State == rules.CallOpen && c.Token == ix.Token && (ix.Turn == "" || c.Turn == ix.Turn)
		})
	case rules.NestedTurns:
		keys = keysOf(db, func(t rules.Turn) bool { return t.Token == ix.Token && t.IsOpenNested() })
	case rules.FreeMailboxes:
		keys = db.mailboxes(func(m rules.Mailbox) bool { return m.Owner.Nonce == "" && db.owed(m) })
		if ix.Latest {
			slices.Reverse(keys)
		}
	case rules.OwedMailboxes:
		keys = db.mailboxes(func(m rules.Mailbox) bool { return m.Owner == ix.Owner && db.owed(m) })
	case rules.OwnedMailboxes:
		keys = keysOf(db, func(m rules.Mailbox) bool { return m.Owner == ix.Owner })
	case rules.AllMailboxes:
		keys = keysOf(db, func(m rules.Mailbox) bool { return m.Token > ix.After })
	case rules.ChatMailboxes:
		keys = keysOf(db, func(m rules.Mailbox) bool {
			return (m.Owner.Nonce != "" || m.HasWork()) && slices.Contains(ix.Chats, chatOf(m.Mailbox.Key.Address()))
		})
	case rules.Owners:
		for _, k := range db.mailboxes(func(m rules.Mailbox) bool { return m.Owner.Nonce != "" && db.owed(m) }) {
			if w := rules.WorkerKey(db.rows("mailbox")[k].(rules.Mailbox).Owner); !slices.Contains(keys, rules.Key(w)) { // by its key
				keys = append(keys, w)
			}
		}
	case rules.WorkersNamed:
		keys = keysOf(db, func(w rules.Worker) bool { return w.ID.Name == ix.Name && !w.Gone })
	case rules.PendingControls:
		keys = db.requests(func(c rules.Control) bool { return c.Token == ix.Token })
	case rules.CloseControls:
		want := sessions.InboxID{Channel: ix.Chat.Channel, Account: ix.Chat.Account, Chat: ix.Chat.Peer}
		keys = db.requests(func(c rules.Control) bool { return c.Kind == sessions.KindShut && c.Event == want })
		slices.SortFunc(keys, byName)
	case rules.QueuedAnswers:
		for _, k := range db.answers {
			if a := db.answer(k); !a.Done && slices.Contains(ix.Chats, chatOf(a.To)) {
				keys = append(keys, k)
			}
		}
	case rules.RecordsOf:
		keys = keysOf(db, func(r rules.Record) bool {
			return r.ID.Kind == ix.Kind && strings.HasPrefix(r.ID.Key, ix.Prefix) && r.ID.Key > ix.After
		})
	case rules.ChildrenOf:
		keys = keysOf(db, func(s rules.Session) bool { return s.Parent == ix.Parent })
	case rules.UnsentAnswers:
		for _, k := range db.answers {
			if a := db.answer(k); !a.Done && a.Session == ix.Session {
				keys = append(keys, k)
			}
		}
	case rules.ExpiredRecords:
		keys = keysOf(db, func(r rules.Record) bool {
			return r.ID.Kind == ix.Kind && !r.Expires.IsZero() && !r.Expires.After(ix.At)
		})
	}
	if limit > 0 && len(keys) > limit {
		keys = keys[:limit]
	}
	return keys, nil
}

// keysOf names the rows that are meant, in the order of their names.
func keysOf[R rules.Row](db *database, which func(R) bool) (keys []rules.Key) {
	for r := range each[R](db) {
		if which(r) {
			keys = append(keys, r.Key())
		}
	}
	slices.SortFunc(keys, byName)
	return keys
}

func byName(a, b rules.Key) int { return cmp.Compare(name(a), name(b)) }

// name is what a key is sorted by among those of its kind.
func name(k rules.Key) string {
	if r, ok := k.(rules.RecordKey); ok {
		return r.Key
	}
	return fmt.Sprint(k)
}

func chatOf(a sessionkeys.Address) sessions.ChatID {
	return sessions.ChatID{Channel: a.Channel, Account: a.Account, Peer: a.Peer}
}

func (db *database) mailboxes(which func(rules.Mailbox) bool) (keys []rules.Key) {
	var found []rules.Mailbox
	for m := range each[rules.Mailbox](db) {
		if which(m) {
			found = append(found, m)
		}
	}
	byWaiting(found)
	for _, m := range found {
		keys = append(keys, m.Key())
	}
	return keys
}

func (db *database) requests(which func(rules.Control) bool) (keys []rules.Key) {
	for _, k := range db.controls {
		if c := db.rows("control")[k].(rules.Control); !c.Done && which(c) { // by its key
			keys = append(keys, k)
		}
	}
	return keys
}
