package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"parley/sessions"
	"parley/sessions/rules"
)

// reapply applies a fact, if it can have held, and reports whether it did. With a hold the
// database may have lost what was written before it.
func (fl *factLog) reapply(ctx context.Context, number uint64, f fact, h *hold) (bool, error) {
	client, mode := fl.clientFor(h), live
	if h != nil {
		mode = replay
	}
	if done, err := fl.isApplied(ctx, client, fl.eraOf(client), number); err != nil || done {
		return done, err
	}
	if f.Script == factGeneration {
		var err error
		if f.Set, err = earlierGeneration(f.Request); err != nil {
			return false, err
		}
	}
	if f.Set == nil {
		return false, olderFactError(number, f.Script)
	}
	for {
		r := fl.reading(ctx)
		r.client, r.isView = client, true
		if mode == replay {
			r.era = ""
		}
		set, err := r.changesOf(number, f, mode)
		if err != nil || set == nil {
			return false, err
		}
		p := &plan{db: fl.database, r: r, hold: h}
		p.expectRead(sessions.Fence{}, set)
		p.mailbox = f.Box
		if err := p.write(set); err != nil {
			return false, err
		}
		a, err := fl.evaluate(ctx, client, p.request(number))
		if err != nil {
			return false, err
		}
		switch kind := a.text(0); kind {
		case "ok", "before":
			return true, nil
		case "lock":
			return false, errLock
		case "conflict", "limit", "overflow", "frame", "era":
			if mode == replay { // there is nobody else
				return false, fmt.Errorf("the commit script refused it: %q", a)
			}
			if kind != "conflict" {
				return false, nil
			}
		default:
			return false, fmt.Errorf("the commit script answered %q", kind)
		}
	}
}

// settlements returns what of a fact that did not hold is true all the same: what calls
// cost. nil: nothing.
func (f fact) settlements() *fact {
	if f.Set == nil {
		return nil
	}
	cost := &changes{}
	settled := map[string]bool{}
	for _, b := range f.Set.Booked {
		if !b.Doubt {
			cost.Booked, settled[b.ID] = append(cost.Booked, b), true
		}
	}
	for _, c := range f.Set.Rows {
		if c.Kind == "call" && settled[c.Fields["id"]] {
			cost.Rows = append(cost.Rows, c)
		}
	}
	if len(cost.Rows) == 0 {
		return nil
	}
	cost.Sums = slices.DeleteFunc(slices.Clone(f.Set.Sums), func(a addedSums) bool { return !settled[a.Call] })
	cost.Counts = slices.DeleteFunc(slices.Clone(f.Set.Counts), func(n counted) bool { return !settled[n.Call] })
	return &fact{Set: cost, In: f.In}
}

// changesOf are the changes of a fact as they are to be committed; nil: it cannot have
// held. A call that was booked meanwhile is left out. mode says whether the database
// may lack what was written before the fact.
func (r *reading) changesOf(number uint64, f fact, mode string) (*changes, error) {
	fenced, err := r.isFenced(number, f, mode)
	if err != nil || fenced {
		return nil, err
	}
	keys := make([]rules.Key, len(f.Set.Rows))
	for i, c := range f.Set.Rows {
		if keys[i], err = c.key(); err != nil {
			return nil, err
		}
	}
	if err := r.fetchUnseen(keys); err != nil {
		return nil, err
	}
	set := *f.Set
	set.Rows = nil
	for i, c := range f.Set.Rows {
		st := r.seen[keys[i]]
		switch {
		case c.follows(st, mode):
		case c.Kind == "call" && !c.New:
			set.leaveOut(c.Fields["id"])
			continue
		default:
			return nil, nil // as said
		}
		one, err := c.rebase(st)
		if err != nil {
			return nil, err
		}
		set.Rows = append(set.Rows, one)
	}
	for _, a := range f.Set.Appended {
		for _, m := range a.Messages {
			there, err := r.Has(a.Session, m.ID)
			if err != nil || there {
				return nil, err
			}
		}
	}
	return &set, nil
}

// leaveOut drops the booking of a call.
func (c *changes) leaveOut(call string) {
	c.Booked = slices.DeleteFunc(slices.Clone(c.Booked), func(b booked) bool { return b.ID == call })
	c.Sums = slices.DeleteFunc(slices.Clone(c.Sums), func(a addedSums) bool { return a.Call == call })
	c.Counts = slices.DeleteFunc(slices.Clone(c.Counts), func(n counted) bool { return n.Call == call })
}

// isFenced reports whether the mailbox tells that the fence of a fact does not hold, or
// did not when the fact could have been applied.
func (r *reading) isFenced(number uint64, f fact, mode string) (bool, error) {
	if f.Box == nil {
		return false, nil
	}
	st, err := r.stored(rules.MailboxKey(f.Box.Token))
	if err != nil {
		return false, err
	}
	m, _ := st.row.(rules.Mailbox)
	if mode == live {
		return m.Epoch != f.Box.Epoch || m.Owner.Nonce != f.Box.Nonce, nil
	}
	var base uint64
	err = rules.Load(&base, st.fields["base"])
	return m.Epoch > f.Box.Epoch && base < number, err
}

// follows reports whether a row may be changed from how it is stored. A database that
// lost its last writes lacks versions of the rows that are shared, and of those alone.
func (c changedRow) follows(st *storedRow, mode string) bool {
	switch {
	case c.Kind == "wording":
		return true
	case c.New || st.row == nil:
		return c.New && st.row == nil
	case c.isShared() && mode == replay:
		return true
	}
	return st.version() == c.From
}

// CatchUp applies facts that were written down by processes that ended before
// they could apply them: as if it happened now, so that those whose fence does not
// hold any more are refused, but for what their calls cost. It is to be called every
// minute or so.
func (fl *factLog) CatchUp(ctx context.Context) error {
	if fl.facts == nil {
		return nil
	}
	mark, err := fl.Applied(ctx)
	last, failed := fl.facts.Last(ctx)
	if err := cmp.Or(err, failed); err != nil {
		return fmt.Errorf("catch up with the facts: %w", err)
	}
	err = fl.eachMissing(ctx, nil, mark, fl.seen.Swap(last), func(number uint64, f fact) error {
		if f.Script == factVoid || f.Script == factEra {
			_, err := fl.tryMarkPassed(ctx, nil, number)
			return err
		}
		if done, err := fl.isApplied(ctx, fl.client, *fl.era.Load(), number); err != nil || done {
			return err
		}
		if f.Set == nil || fmt.Sprint(f.In) == *fl.era.Load() {
			if held, err := fl.reapply(ctx, number, f, nil); err != nil || held {
				return err
			}
		}
		if cost := f.settlements(); cost != nil {
			if err := fl.rebook(ctx, failedCosts{number, *cost}, nil); err != nil {
				return err
			}
		}
		_, err := fl.writeVoid(ctx, number)
		return err
	})
	return rules.While(err, "catch up with the facts")
}
