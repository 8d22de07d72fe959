package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"parley/costs"
	"parley/sessions"
	"parley/sessions/rules"
)

// database reads rows, and commits what operations make of them.
type database struct {
	*connection
	facts  Facts
	known  rowCache
	lanes  lanes         // for facts
	frames templateNames // that need not be sent again
}

// driver is the database as [rules] see it.
type driver struct {
	*database
	directory
}

// Update implements [rules.Driver]. An operation is computed from the rows that this
// process knows, and committed by one script if these are still as they were, or
// nobody changed them meanwhile; else it is computed again from what is there.
func (db driver) Update(ctx context.Context, f sessions.Fence, fn func(*rules.Tx) error) error {
	if db.facts != nil && f.Token != "" {
		// Facts of one owner are applied in the order in which they are numbered.
		l, err := db.lanes.enter(ctx, f.Token)
		if err != nil {
			return err
		}
		defer db.lanes.leave(f.Token, l)
		return db.try(ctx, f, l, fn)
	}
	return db.try(ctx, f, nil, fn)
}

// errChanged means that a row was changed between its reading and the commit.
var errChanged = errors.New("a row was changed meanwhile")

func (db *database) try(ctx context.Context, f sessions.Fence, l *lane, fn func(*rules.Tx) error) error {
	var before *reading
	return retryChanged(ctx, func() error {
		r := db.reading(ctx)
		r.known, r.fenced = before == nil, f.Token != ""
		if before != nil { // most of it is needed again
			if err := r.readAhead(before); err != nil {
				return err
			}
		}
		before = r
		err := db.perform(r, f, l, fn)
		if errors.Is(err, errChanged) {
			db.known.forgetRead(r)
		}
		return err
	})
}

// perform computes an operation once and commits it.
func (db *database) perform(r *reading, f sessions.Fence, l *lane, fn func(*rules.Tx) error) error {
	tx := &rules.Tx{Reader: r}
	failed := fn(tx)
	r.onlyFence = tx.Set.OnlyFence
	if failed != nil {
		if errors.Is(failed, errChanged) {
			return errChanged
		}
		tx.Set = rules.WriteSet{}
	}
	if l != nil && l.unsettled != nil && !tx.Set.Forgettable {
		// Whether it holds decides what this one does.
		if err := db.resolve(r.ctx, l); err != nil {
			return fmt.Errorf("an earlier write, of which nobody knows: %w", err)
		}
		return errChanged
	}
	if tx.Set.Empty() {
		if err := db.verify(r); err != nil {
			return err
		}
		return failed
	}
	c, err := db.changes(r, &tx.Set)
	if err != nil {
		return err
	}
	p, err := db.plan(r, f, c)
	if err != nil {
		return err
	}
	if db.facts == nil || tx.Set.Forgettable {
		return p.commit(db.client)
	}
	return db.record(p, l, c.logged(r, p.mailbox != nil))
}

// verify makes sure that what was read was so at one moment: all of it, also what an
// owner's writes need not compare.
func (db *database) verify(r *reading) error {
	if !r.unverified && r.trips < 2 {
		return nil
	}
	p := &plan{db: db, r: r}
	p.expectRead(sessions.Fence{}, &changes{})
	return p.commit(db.client)
}

// View implements [rules.Driver].
func (db driver) View(ctx context.Context, fn func(*rules.Tx) error) error {
	first := true
	return retryChanged(ctx, func() error {
		r := db.reading(ctx)
		r.isView = true
		if before, ok := sessions.AheadIn(ctx).(*readAhead); ok && first {
			if before.err != nil {
				return before.err
			}
			r.ahead, r.trips = before.rows, 1
		}
		first = false
		err := fn(&rules.Tx{Reader: r})
		if errors.Is(err, errChanged) {
			return err
		}
		return cmp.Or(db.verify(r), err)
	})
}

// readAhead is what ReadAhead has read. It is never changed.
type readAhead struct {
	rows map[rules.Key]*storedRow
	err  error
}

// ReadAhead implements [rules.AheadDriver].
func (db driver) ReadAhead(ctx context.Context, keys []rules.Key) sessions.Ahead {
	r := db.reading(ctx)
	r.isView = true
	err := r.fetch(keys)
	if errors.Is(err, errChanged) {
		return sessions.Ahead{} // another server answers by now: Chat and Record read from that one
	}
	return sessions.NewAhead(&readAhead{r.seen, err})
}

// conclude is what the commit script said of a plan.
func (db *database) conclude(r *reading, p *plan, a answer) error {
	switch kind := a.text(0); kind {
	case "ok":
		return p.learn(a)
	case "era":
		if err := db.reconcile(r.ctx); err != nil {
			return err
		}
		return errChanged
	case "limit":
		n, err := a.int(1)
		if err != nil {
			return fmt.Errorf("number of a count: %w", err)
		}
		spent, err := readAmount(a.text(2))
		if err != nil {
			return err
		}
		return &rules.LimitError{Count: int(n), Spent: spent}
	case "overflow":
		return fmt.Errorf("add up what is spent and held: %w", costs.ErrOverflow)
	case "lock":
		return errLock
	case "frame":
		db.frames.forget()
		return errChanged
	case "conflict", "before":
		return errChanged
	default:
		return fmt.Errorf("the commit script answered %q", kind)
	}
}

// record commits what may not be forgotten: a fact.
//
// The fact is durable before the database hears of it. When the database refuses
// it, that is a fact too, and durable before anybody is told.
func (db *database) record(p *plan, l *lane, set *changes) error {
	era, err := parseNumber(p.r.era)
	if err != nil {
		return fmt.Errorf("read the database's era: %w", err)
	}
	pub := &publication{id: rand.Text(), fact: fact{Set: set, In: era, Box: p.mailbox}, request: p.request}
	a, err := db.publish(p.r.ctx, pub)
	if err != nil {
		if l != nil {
			l.unsettled = pub
		}
		return err
	}
	return db.conclude(p.r, p, a)
}

// resolve finds out what became of a fact whose answer was lost.
func (db *database) resolve(ctx context.Context, l *lane) error {
	_, err := db.publish(ctx, l.unsettled)
	if err == nil {
		l.unsettled = nil
	}
	return err
}

// lanes puts the facts of each mailbox behind one another. The zero value is ready.
type lanes struct {
	mu   sync.Mutex
	open map[string]*lane
}

// lane is a mailbox whose facts are being written.
type lane struct {
	turn      chan struct{} // held by who writes
	users     int
	unsettled *publication // whoever is next finds out what became of it
}

// enter waits until nobody writes to the mailbox.
func (ls *lanes) enter(ctx context.Context, token string) (*lane, error) {
	ls.mu.Lock()
	l := ls.open[token]
	if l == nil {
		if ls.open == nil {
			ls.open = map[string]*lane{}
		}
		l = &lane{turn: make(chan struct{}, 1)}
		ls.open[token] = l
	}
	l.users++
	ls.mu.Unlock()
	select {
	case l.turn <- struct{}{}:
		return l, nil
	case <-ctx.Done():
		ls.drop(token, l)
		return nil, fmt.Errorf("wait for other writes to mailbox %s: %w", token, context.Cause(ctx))
	}
}

func (ls *lanes) leave(token string, l *lane) {
	<-l.turn
	ls.drop(token, l)
}

func (ls *lanes) drop(token string, l *lane) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.users--; l.users == 0 && l.unsettled == nil {
		delete(ls.open, token)
	}
}
