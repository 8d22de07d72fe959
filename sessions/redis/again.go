package redis

import (
	"context"
	"fmt"

	"parley/sessions"
	"parley/sessions/rules"
)

// again applies a fact, if it can have held, and reports whether it did. mode says
// whether the database may have lost what was written before it.
func (s *Store) again(ctx context.Context, number uint64, f fact, mode string) (bool, error) {
	client, era := s.client, ""
	if mode == replay {
		client = s.plain
	} else {
		era = *s.era.Load()
	}
	a, err := s.call(ctx, client, run{script: "passed", request: mustJSON(struct {
		Fact uint64 `json:"fact"`
	}{number})}, era)
	if err != nil || a.yes(0) {
		return err == nil, err
	}
	if f.Script == factGeneration {
		_, err := s.call(ctx, client, run{script: f.Script, request: f.Request, fact: number}, era)
		return err == nil, err
	}
	if f.Set == nil {
		return false, errOlder(number, f.Script)
	}
	for {
		r := s.reading(ctx)
		r.client, r.look = client, true
		if mode == replay {
			r.era = ""
		}
		set, err := r.changesOf(number, f, mode)
		if err != nil || set == nil {
			return false, err
		}
		p := &plan{s: s, r: r, again: mode == replay}
		p.expectRead(sessions.Fence{}, set)
		p.box = f.Box
		if err := p.write(set); err != nil {
			return false, err
		}
		a, err := s.evaluate(ctx, client, p.request(number))
		if err != nil {
			return false, err
		}
		switch kind := a.text(0); kind {
		case "ok", "before":
			return true, nil
		case "conflict":
			if mode == replay { // there is nobody else
				return false, fmt.Errorf("the commit script refused it: %q", a)
			}
		case "limit", "overflow", "frame", "era":
			if mode == replay {
				return false, fmt.Errorf("the commit script refused it: %q", a)
			}
			return false, nil
		default:
			return false, fmt.Errorf("the commit script answered %q", kind)
		}
	}
}

// changesOf are the changes of a fact as they are to be committed; nil: it cannot have
// held. mode says whether the database may lack what was written before it.
func (r *reading) changesOf(number uint64, f fact, mode string) (*changes, error) {
	fenced, err := r.fenced(number, f, mode)
	if err != nil || fenced {
		return nil, err
	}
	set := *f.Set
	set.Rows = make([]changedRow, len(f.Set.Rows))
	for i, c := range f.Set.Rows {
		k, err := c.key()
		if err != nil {
			return nil, err
		}
		st, err := r.stored(k)
		if err != nil {
			return nil, err
		}
		if !c.follows(st, mode) {
			return nil, nil //nolint:nilnil // as said
		}
		if set.Rows[i], err = c.onto(st); err != nil {
			return nil, err
		}
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

// fenced reports whether the mailbox tells that the fence of a fact does not hold, or
// did not when the fact could have been applied.
func (r *reading) fenced(number uint64, f fact, mode string) (bool, error) {
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
	v := reader{row: st.fields}
	base := v.int("base")
	return m.Epoch > f.Box.Epoch && uint64(max(base, 0)) < number, v.err
}

// follows reports whether a row may be changed from how it is stored. A database that
// lost its last writes lacks versions of the rows that are shared, and of those alone.
func (c changedRow) follows(st *stored, mode string) bool {
	switch {
	case c.Kind == "wording":
		return true
	case c.New || st.row == nil:
		return c.New && st.row == nil
	case c.shared() && mode == replay:
		return true
	}
	return st.version() == c.From
}
