package sqlite

import (
	"context"
	"errors"
	"fmt"

	"parley/sessionkeys"
	"parley/sessions"
)

// mainRole is the role of a session that people talk to.
const mainRole = "main"

const sessionColumns = `id, key, parent, root, depth, tool_call, role, policy, title, messages, own, subtree, held, unpriced, created_at, updated_at`

func scanSession(r scanner) (s sessions.Session, err error) {
	var key string
	var created, updated int64
	err = r.Scan(&s.ID, &key, &s.Parent, &s.Root, &s.Depth, &s.ToolCallID, &s.Role, &s.Policy, &s.Title,
		&s.Messages, &s.Own, &s.Subtree, &s.Held, &s.Unpriced, &created, &updated)
	if err != nil {
		return sessions.Session{}, err
	}
	s.CreatedAt, s.UpdatedAt = instant(created), instant(updated)
	return s, s.Key.UnmarshalText([]byte(key))
}

// loadSession returns ErrNotFound when there is none.
func loadSession(s source, id sessionkeys.SessionID) (sessions.Session, error) {
	row, err := scanSession(single(s, "SELECT "+sessionColumns+" FROM sessions WHERE id = ?", id))
	if errors.Is(err, errNone) {
		err = sessions.ErrNotFound
	}
	if err != nil {
		return sessions.Session{}, fmt.Errorf("read session %s: %w", id, err)
	}
	return row, nil
}

// insertSession makes a session; token is the mailbox token of a child.
func insertSession(x *tx, s sessions.Session, token string) error {
	err := x.do(`INSERT INTO sessions (id, key, token, parent, root, depth, tool_call, role, policy, title, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.Key.String(), token, s.Parent, s.Root, s.Depth, s.ToolCallID, s.Role, s.Policy, s.Title, micros(s.CreatedAt), micros(s.CreatedAt))
	if err != nil {
		return fmt.Errorf("make session %s: %w", s.ID, err)
	}
	x.sessions.learn(s.ID, account{id: s.ID, parent: s.Parent, updated: micros(s.CreatedAt)})
	return nil
}

// Spawn implements [sessions.Turns].
func (s *Store) Spawn(ctx context.Context, f sessions.Fence, child sessions.Session) (sessions.Session, bool, error) {
	type result struct {
		child sessions.Session
		made  bool
	}
	r, err := write(ctx, s, func(x *tx) (r result, err error) {
		r.child, r.made, err = spawn(x, f, child)
		return r, err
	})
	if err != nil {
		return sessions.Session{}, false, fmt.Errorf("spawn session %s: %w", child.ID, err)
	}
	return r.child, r.made, nil
}

func spawn(x *tx, f sessions.Fence, child sessions.Session) (sessions.Session, bool, error) {
	if _, err := owned(x, f); err != nil {
		return sessions.Session{}, false, err
	}
	if child.ID == "" || child.Key.IsZero() || child.Parent == "" {
		return sessions.Session{}, false, errors.New("it has no id, no key or no parent")
	}
	if err := x.flush(); err != nil {
		return sessions.Session{}, false, err
	}
	there, err := loadSession(x, child.ID)
	if err == nil && there.Parent != child.Parent {
		return sessions.Session{}, false, fmt.Errorf("it is there with the parent %s", there.Parent)
	}
	if err == nil || !errors.Is(err, sessions.ErrNotFound) {
		return there, false, err
	}
	parent, err := loadSession(x, child.Parent)
	if err != nil {
		return sessions.Session{}, false, fmt.Errorf("its parent: %w", err)
	}
	if parent.Depth+1 > sessionkeys.MaxDepth {
		return sessions.Session{}, false, fmt.Errorf("it would stand at depth %d of at most %d", parent.Depth+1, sessionkeys.MaxDepth)
	}
	child.Root, child.Depth = parent.Root, parent.Depth+1
	if err := insertSession(x, child, child.ID.MailboxToken()); err != nil {
		return sessions.Session{}, false, err
	}
	made, err := loadSession(x, child.ID)
	return made, true, err
}

// descends returns ErrNotFound unless id stands somewhere below ancestor.
func descends(x *tx, id, ancestor sessionkeys.SessionID) error {
	for at := id; at != ""; {
		a, err := x.account(at)
		if err != nil {
			return err
		}
		if a.parent == ancestor {
			return nil
		}
		at = a.parent
	}
	return fmt.Errorf("session %s is no descendant of %s: %w", id, ancestor, sessions.ErrNotFound)
}

// Session implements [sessions.Turns].
func (s *Store) Session(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error) {
	return loadSession(direct{ctx, s}, id)
}

// Tree implements [sessions.Turns]: level by level, oldest first in each.
func (s *Store) Tree(ctx context.Context, id sessionkeys.SessionID) (tree []sessions.Session, err error) {
	err = s.each(ctx, `WITH RECURSIVE below (n) AS (
			SELECT id FROM sessions WHERE id = ?
			UNION ALL SELECT sessions.id FROM below JOIN sessions ON sessions.parent = below.n AND sessions.parent <> '')
		SELECT `+sessionColumns+` FROM below JOIN sessions ON id = n ORDER BY depth, created_at, sessions.rowid`,
		args(id), func(r scanner) error {
			row, err := scanSession(r)
			tree = append(tree, row)
			return err
		})
	if err == nil && len(tree) == 0 {
		err = sessions.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read the tree of session %s: %w", id, err)
	}
	return tree, nil
}
