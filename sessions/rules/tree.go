package rules

import (
	"context"
	"errors"
	"fmt"

	"parley/sessionkeys"
	"parley/sessions"
)

// Spawn implements [sessions.Turns].
func (s Turns) Spawn(ctx context.Context, f sessions.Fence, child sessions.Session) (made sessions.Session, fresh bool, err error) {
	fresh, err = update(ctx, s.db, f, func(tx *Tx) (bool, error) { return spawn(tx, f, child) })
	if err == nil {
		made, err = s.db.Session(ctx, child.ID)
	}
	return made, fresh, While(err, "spawn session %s", child.ID)
}

func spawn(tx *Tx, f sessions.Fence, c sessions.Session) (made bool, err error) {
	if err := checkFence(tx, f); err != nil {
		return false, err
	}
	if c.ID == "" || c.Key.IsZero() || c.Parent == "" {
		return false, errors.New("child without id, key or parent")
	}
	there, found, err := get[Session](tx, SessionKey(c.ID))
	if err != nil {
		return false, err
	}
	if found {
		if there.Parent != c.Parent {
			return false, fmt.Errorf("child exists with the parent %s", there.Parent)
		}
		return false, nil
	}
	parent, err := sessionOf(tx, c.Parent)
	if err != nil {
		return false, fmt.Errorf("parent of the child: %w", err)
	}
	if parent.Depth+1 > sessionkeys.MaxDepth {
		return false, fmt.Errorf("child at depth %d of at most %d", parent.Depth+1, sessionkeys.MaxDepth)
	}
	tx.put(Session{sessions.Session{
		ID: c.ID, Key: c.Key, Parent: c.Parent, Root: parent.Root, Depth: parent.Depth + 1, ToolCallID: c.ToolCallID,
		Role: c.Role, Policy: c.Policy, Title: c.Title, CreatedAt: normaliseTime(c.CreatedAt),
	}})
	tx.put(Child{Token: c.ID.MailboxToken(), Session: c.ID})
	return true, nil
}

// Restore implements [sessions.Turns].
func (s Turns) Restore(ctx context.Context, r sessions.Restored) error {
	err := s.db.Update(ctx, sessions.Fence{}, func(tx *Tx) error { return restore(tx, r) })
	return While(err, "restore session %s", r.Session)
}

func restore(tx *Tx, r sessions.Restored) error {
	m, err := existing[Mailbox](tx, MailboxKey(r.Token))
	if err != nil {
		return While(err, "mailbox %s", r.Token)
	}
	there, found, err := get[Session](tx, SessionKey(r.Session))
	switch {
	case err != nil:
		return err
	case r.Session == "":
		return errors.New("session without id")
	case !found:
		tx.put(rootSession(r.Session, m.Mailbox.Key, r.At))
	case there.Parent != "" || there.Session.Key != m.Mailbox.Key:
		return fmt.Errorf("session is none of mailbox %s", r.Token)
	case r.Session == m.Session:
		return fmt.Errorf("mailbox %s feeds the session", r.Token)
	}
	if err := checkNotErased(tx, r.Session); err != nil {
		return err
	}
	if err := appendTo(tx, r.Session, r.At, r.Messages...); err != nil {
		return err
	}
	return writeRecords(tx, r.Records)
}

// sessionOf returns what of a session never changes, or ErrNotFound.
func sessionOf(tx *Tx, id sessionkeys.SessionID) (Session, error) {
	s, err := existing[Session](tx, SessionKey(id))
	return s, While(err, "read session %s", id)
}

// checkDescends returns ErrNotFound unless id stands somewhere below ancestor.
func checkDescends(tx *Tx, id, ancestor sessionkeys.SessionID) error {
	for at := id; at != ""; {
		s, err := sessionOf(tx, at)
		if err != nil {
			return err
		}
		if s.Parent == ancestor {
			return nil
		}
		at = s.Parent
	}
	return fmt.Errorf("session %s is no descendant of %s: %w", id, ancestor, sessions.ErrNotFound)
}
