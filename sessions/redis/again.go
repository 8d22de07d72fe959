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
		held, err := r.canHold(number, f, mode)
		if err != nil || !held {
			return false, err
		}
		p := &plan{s: s, r: r, box: f.Box, again: mode == replay}
		if err := p.expectRead(sessions.Fence{}, f.Set); err != nil {
			return false, err
		}
		p.box = f.Box
		if err := p.write(f.Set); err != nil {
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

// canHold reports whether the rows are as a fact was computed from. What is no fact
// may be lost: who owned what, and how often a turn was begun.
func (r *reading) canHold(number uint64, f fact, mode string) (bool, error) {
	if f.Box != nil {
		st, err := r.stored(rules.MailboxKey(f.Box.Token))
		if err != nil {
			return false, err
		}
		m, _ := st.row.(rules.Mailbox)
		v := reader{row: st.fields}
		if mode == live && (m.Epoch != f.Box.Epoch || m.Owner.Nonce != f.Box.Nonce) {
			return false, nil
		}
		// The row tells of a fence that was given before the fact could be applied.
		if m.Epoch > f.Box.Epoch && uint64(max(v.int("base"), 0)) < number {
			return false, v.err
		}
	}
	for _, c := range f.Set.Rows {
		decoded, err := c.decoded()
		if err != nil {
			return false, err
		}
		st, err := r.stored(decoded.Key())
		if err != nil {
			return false, err
		}
		if !c.follows(st, mode) {
			return false, nil
		}
	}
	for _, a := range f.Set.Appended {
		for _, m := range a.Messages {
			there, err := r.Has(a.Session, m.ID)
			if err != nil || there {
				return false, err
			}
		}
	}
	return true, nil
}

// follows reports whether a row may be changed from how it is stored.
func (c changedRow) follows(st *stored, mode string) bool {
	lossy := mode == replay && (c.Kind == "mailbox" || c.Kind == "turn")
	switch {
	case c.Kind == "wording":
		return true
	case st.row == nil:
		return c.New || lossy && c.Kind == "mailbox"
	case c.New:
		return false
	case lossy:
		is, _ := number(st.version())
		was, _ := number(c.From)
		return is <= was
	}
	return st.version() == c.From
}
