package redis

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"parley/sessionkeys"
	"parley/sessions/rules"

	goredis "github.com/redis/go-redis/v9"
)

// storedRow is a row as the database has it.
type storedRow struct {
	row    rules.Row // nil: there is none
	fields row       // as they are stored, with its version and what the driver adds
}

// version is that of a row which is a hash of its own; empty: it was never
// changed since rows have one, or there is none.
func (s *storedRow) version() string { return s.fields["v"] }

// reading is what one try of an operation reads. It implements [rules.Reader].
//
// The first try of an update takes the rows that this process knows, and takes rows
// that are nearly always new for absent. The commit finds out.
type reading struct {
	ctx    context.Context
	db     *database
	era    string
	known  bool // what is known is believed
	fenced bool // it is of the owner of a mailbox
	isView bool // a view: epochs are as they are stored

	client *goredis.Client

	seen    map[rules.Key]*storedRow // what the operation has asked for, which the commit compares
	ahead   map[rules.Key]*storedRow // what it had asked for the last time
	lists   []listedSet
	absent  []absentMessage
	changed []changedSession

	aheadLog string // generation of the log that ahead was read in

	gen   string // generation of the log that mailboxes were read in; empty: none was
	log   string // generation of the log at the last trip
	trips int    // to the database

	onlyFence  bool // see [rules.WriteSet.OnlyFence]
	unverified bool // something was believed
}

// listedSet is a list that was read: the command and what it returned.
type listedSet struct{ command, members []string }

// absentMessage is a message that was not there.
type absentMessage struct{ session, message string }

// changedSession is when a session changed last, as it is stored.
type changedSession struct{ id, at string }

func (db *database) reading(ctx context.Context) *reading {
	r := &reading{ctx: ctx, db: db, client: db.client, seen: map[rules.Key]*storedRow{}}
	if era := db.era.Load(); era != nil { // nil: while the database is opened
		r.era = *era
	}
	return r
}

// isUsuallyNew reports whether a row of the key is nearly always made by who asks for it. An
// answer is made by the owner of its mailbox, and then moved by who delivers it.
func (r *reading) isUsuallyNew(k rules.Key) bool {
	switch k.(type) {
	case rules.TurnKey, rules.EventKey, rules.BegunKey, rules.CallKey:
		return true
	case rules.AnswerKey:
		return r.fenced
	}
	return false
}

// Get implements [rules.Reader].
func (r *reading) Get(k rules.Key) (rules.Row, error) {
	st, err := r.stored(k)
	if err != nil {
		return nil, err
	}
	m, isMailbox := st.row.(rules.Mailbox)
	if isMailbox && !r.isView && m.Owner.Nonce == "" {
		// The next fence is above all that were given before a failover.
		m.Epoch = max(m.Epoch, r.epochs())
		return m, nil
	}
	return st.row, nil
}

// epochs returns the epoch that all fences of this era are above.
func (r *reading) epochs() int64 {
	era, _ := parseNumber(r.era)
	return era * eraShift
}

func (r *reading) stored(k rules.Key) (*storedRow, error) {
	if r.isSeen(k) {
		return r.seen[k], nil
	}
	if r.known {
		if st := r.db.known.row(r.era, k); st != nil {
			r.seen[k], r.unverified = st, true
			if _, ok := st.row.(rules.Mailbox); ok {
				r.gen = st.fields["gen"]
			}
			return st, nil
		}
		if r.isUsuallyNew(k) {
			r.seen[k], r.unverified = &storedRow{}, true
			return r.seen[k], nil
		}
	}
	if err := r.fetch([]rules.Key{k}); err != nil {
		return nil, err
	}
	return r.seen[k], nil
}

// isSeen reports whether the row is read already.
func (r *reading) isSeen(k rules.Key) bool {
	if r.seen[k] == nil && r.ahead[k] != nil {
		r.seen[k] = r.ahead[k]
		if _, ok := k.(rules.MailboxKey); ok {
			r.gen = r.aheadLog
		}
	}
	return r.seen[k] != nil
}

// readAhead reads, in one trip, what the operation asked for the last time. The commit compares
// of it only what it asks for again: else an operation that asks for other rows each time, as one
// that looks for work, would have to find more and more of them unchanged.
func (r *reading) readAhead(last *reading) error {
	if len(last.seen) == 0 {
		return nil
	}
	if err := r.fetch(slices.Collect(maps.Keys(last.seen))); err != nil {
		return err
	}
	r.ahead, r.seen, r.gen, r.aheadLog = r.seen, map[rules.Key]*storedRow{}, "", r.log
	return nil
}

// Glance implements [rules.GlancingReader].
func (r *reading) Glance() rules.Reader {
	g := r.db.reading(r.ctx)
	g.client, g.era, g.isView = r.client, r.era, r.isView
	return g
}

// Has implements [rules.Reader].
func (r *reading) Has(session sessionkeys.SessionID, message string) (bool, error) {
	if !r.known {
		a, err := r.read(newRead("SISMEMBER", r.db.key("msgids:"+string(session)), message))
		if err != nil || a.bool(0) {
			return err == nil, err
		}
	}
	r.absent, r.unverified = append(r.absent, absentMessage{string(session), message}), true
	return false, nil
}

// Spent implements [rules.Reader].
func (r *reading) Spent(k rules.SpendingKey) (p rules.Spending, err error) {
	a, err := r.read(newRead("HMGET", r.db.key("spend:"+spendingName(k)), "settled", "held", "doubt", "till"))
	if err != nil {
		return p, err
	}
	return p, a.list(0).load(&p.Settled, &p.Held, &p.Ambiguous, &p.Until)
}

// ChangedAt implements [rules.Reader]. The commit finds out when the session changes meanwhile.
func (r *reading) ChangedAt(id sessionkeys.SessionID) (at time.Time, err error) {
	a, err := r.read(newRead("HGET", r.db.key("sess:"+string(id)), "updated"))
	if err != nil {
		return at, err
	}
	r.changed = append(r.changed, changedSession{string(id), a.text(0)})
	return at, rules.Load(&at, a.text(0))
}

func spendingName(k rules.SpendingKey) string { return id(k.Kind, k.ID, k.Window) }

// List implements [rules.Reader].
func (r *reading) List(ix rules.Index, limit int) ([]rules.Key, error) {
	if of, ok := ix.(rules.UnsentAnswers); ok {
		return r.unsentAnswers(of.Session)
	}
	q, err := r.db.question(ix, limit)
	if err != nil {
		return nil, err
	}
	var keys []rules.Key
	for _, command := range q.commands {
		members, err := r.members(q, command)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			k, err := q.key(m)
			if err != nil {
				return nil, err
			}
			keys = append(keys, k)
		}
	}
	if q.pick == nil {
		return keys, nil
	}
	if err := r.fetchUnseen(keys); err != nil {
		return nil, err
	}
	return q.pick(r, keys), nil
}

// members returns what a list has.
func (r *reading) members(q indexQuery, command []string) ([]string, error) {
	if q.own && r.known {
		if members, ok := r.db.known.set(r.era, command); ok {
			r.lists, r.unverified = append(r.lists, listedSet{command, members}), true
			return members, nil
		}
	}
	one := newRead(command...)
	if q.boxes {
		one = one.each(r.db.mailboxReads("")...)
	}
	a, err := r.read(one)
	if err != nil {
		return nil, err
	}
	members := a.texts(0)
	if q.boxes {
		members = a.list(0).texts(0)
		if err := a.list(0).eachName(r.learnMailbox); err != nil {
			return nil, err
		}
	}
	if command[0] == "SMEMBERS" {
		slices.Sort(members)
	}
	if !q.loose {
		r.lists = append(r.lists, listedSet{command, members})
	}
	if q.own {
		r.db.known.list(r.era, command, members)
	}
	return members, nil
}

func (r *reading) fetchUnseen(keys []rules.Key) error {
	var unseen []rules.Key
	for _, k := range keys {
		if !r.isSeen(k) {
			if st := r.db.known.row(r.era, k); st != nil && r.known {
				r.seen[k], r.unverified = st, true
				continue
			}
			unseen = append(unseen, k)
		}
	}
	if len(unseen) == 0 {
		return nil
	}
	return r.fetch(unseen)
}

// read runs reads in one state of the database; see rows.lua.
func (r *reading) read(reads ...read) (answer, error) {
	r.trips++
	gen, a, err := r.db.runReads(r.ctx, r.client, r.era, reads)
	if errors.Is(err, errEra) {
		err = r.db.reconcile(r.ctx)
		if err == nil {
			err = errChanged
		}
	}
	if err != nil {
		return nil, err
	}
	r.log = gen
	return a, nil
}
