package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
)

// Touch implements [sessions.Dispatch].
func (s *Store) Touch(ctx context.Context, t sessions.Touch) (sessions.Mailbox, bool, error) {
	type result struct {
		m   sessions.Mailbox
		got bool
	}
	r, err := write(ctx, s, func(x *tx) (r result, err error) {
		r.m, r.got, err = touch(x, t)
		return r, err
	})
	if err != nil {
		return sessions.Mailbox{}, false, fmt.Errorf("touch mailbox %s: %w", t.Token, err)
	}
	return r.m, r.got, nil
}

func touch(x *tx, t sessions.Touch) (sessions.Mailbox, bool, error) {
	if t.Take && (t.By.Name == "" || t.By.Nonce == "") {
		return sessions.Mailbox{}, false, errors.New("nobody can take it: the worker has no name or no nonce")
	}
	seq, err := number(t.Seq)
	if err != nil {
		return sessions.Mailbox{}, false, err
	}
	b, err := mailboxFor(x, t.Token, t.Key, t.Now)
	if err != nil {
		return sessions.Mailbox{}, false, err
	}
	before := b.Touched
	b.note(x, seq, t.Now)
	got := false
	if t.Take && b.owed() && b.Owner.Nonce != t.By.Nonce {
		if got, err = mayTake(x, b, t.By, t.Now); err != nil {
			return sessions.Mailbox{}, false, err
		}
	}
	if got {
		if err := b.take(x, t.By); err != nil {
			return sessions.Mailbox{}, false, err
		}
	}
	if got || b.Touched != before {
		b.save(x)
	}
	return b.Mailbox, got, nil
}

// mailboxFor is the mailbox, made with a new session when there is none.
func mailboxFor(x *tx, token string, key sessionkeys.Key, now time.Time) (box, error) {
	b, found, err := x.box(token)
	if err != nil || found {
		return b, err
	}
	if token == "" || key.IsZero() {
		return box{}, errors.New("a new mailbox needs a token and a key")
	}
	b = box{Mailbox: sessions.Mailbox{Token: token, Key: key}}
	if _, child := key.Parent(); child {
		b.Session, err = childOf(x, token)
	} else {
		b.Session = sessionkeys.NewSessionID(now)
		err = insertSession(x, sessions.Session{ID: b.Session, Key: key, Root: b.Session, Role: mainRole, CreatedAt: now}, "")
	}
	if err != nil {
		return box{}, err
	}
	err = x.do("INSERT INTO mailboxes (token, key, session, touched, read) VALUES (?, ?, ?, 0, 0)", token, key.String(), b.Session)
	if err != nil {
		return box{}, fmt.Errorf("make mailbox: %w", err)
	}
	x.boxes.learn(token, b)
	return b, nil
}

// childOf is the spawned session that the mailbox token belongs to.
func childOf(x *tx, token string) (id sessionkeys.SessionID, err error) {
	found, err := x.one("SELECT id FROM sessions WHERE token = ?", args(token), &id)
	if err != nil {
		return "", fmt.Errorf("find the child: %w", err)
	}
	if !found {
		return "", fmt.Errorf("a child's mailbox before the child was spawned: %w", sessions.ErrNotFound)
	}
	return id, nil
}

// mayTake says whether w may have b: its owner does not live, and w does.
func mayTake(x *tx, b box, w sessions.Worker, now time.Time) (bool, error) {
	if b.Owner.Nonce != "" {
		l, err := x.lease(b.Owner)
		if err != nil || l.holds(now) {
			return false, err
		}
	}
	l, err := x.lease(w)
	return l.holds(now), err
}

// Reacquire implements [sessions.Dispatch].
func (s *Store) Reacquire(ctx context.Context, f sessions.Fence, _ time.Time) (sessions.Mailbox, error) {
	m, err := write(ctx, s, func(x *tx) (sessions.Mailbox, error) {
		b, found, err := x.box(f.Token)
		switch {
		case err != nil:
			return sessions.Mailbox{}, err
		case found && b.prior != 0 && b.prior == f.Epoch && b.Epoch == f.Epoch+1 && b.Owner.Nonce == f.Nonce:
			return b.Mailbox, nil // its answer was lost
		case !found || !b.heldBy(f):
			return sessions.Mailbox{}, sessions.ErrFenced
		}
		l, err := x.lease(b.Owner)
		if err != nil {
			return sessions.Mailbox{}, err
		}
		if l.gone {
			return sessions.Mailbox{}, sessions.ErrFenced
		}
		b.prior = b.Epoch
		if err := b.again(x); err != nil {
			return sessions.Mailbox{}, err
		}
		b.save(x)
		return b.Mailbox, nil
	})
	if err != nil {
		return sessions.Mailbox{}, fmt.Errorf("reacquire mailbox %s: %w", f.Token, err)
	}
	return m, nil
}

// Release implements [sessions.Dispatch].
func (s *Store) Release(ctx context.Context, f sessions.Fence) (sessions.Mailbox, bool, error) {
	type result struct {
		m        sessions.Mailbox
		released bool
	}
	r, err := write(ctx, s, func(x *tx) (result, error) {
		b, found, err := x.box(f.Token)
		switch {
		case err != nil:
			return result{}, err
		case found && b.givenUpBy(f):
			return result{b.Mailbox, true}, nil
		case !found || !b.heldBy(f):
			return result{}, sessions.ErrFenced
		case b.owed():
			return result{b.Mailbox, false}, nil
		}
		b.giveUp()
		b.Attempts = 0
		b.save(x)
		return result{b.Mailbox, true}, nil
	})
	if err != nil {
		return sessions.Mailbox{}, false, fmt.Errorf("release mailbox %s: %w", f.Token, err)
	}
	return r.m, r.released, nil
}

// Handover implements [sessions.Dispatch].
func (s *Store) Handover(ctx context.Context, f sessions.Fence) error {
	_, err := write(ctx, s, func(x *tx) (struct{}, error) {
		b, found, err := x.box(f.Token)
		switch {
		case err != nil:
			return struct{}{}, err
		case found && b.givenUpBy(f):
			return struct{}{}, nil
		case !found || !b.heldBy(f):
			return struct{}{}, sessions.ErrFenced
		}
		return struct{}{}, b.handOver(x)
	})
	if err != nil {
		return fmt.Errorf("hand over mailbox %s: %w", f.Token, err)
	}
	return nil
}

// handOver leaves the mailbox with its attempt to nobody, and saves it.
func (b *box) handOver(x *tx) error {
	if err := b.attempt(x, -1); err != nil {
		return err
	}
	b.giveUp()
	b.save(x)
	return nil
}
