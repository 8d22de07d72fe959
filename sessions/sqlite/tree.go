package sqlite

import (
	"context"
	"errors"
	"fmt"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

func scanSession(r scanner) (s sessions.Session, err error) {
	return s, r.Scan(rules.SessionPlaces(&s)...)
}

// loadSession returns ErrNotFound when there is none.
func loadSession(s source, id sessionkeys.SessionID) (row sessions.Session, err error) {
	found, err := s.queryRow("SELECT "+rules.SessionColumns+" FROM sessions WHERE id = ?", args(id), rules.SessionPlaces(&row)...)
	if err == nil && !found {
		err = sessions.ErrNotFound
	}
	return row, rules.While(err, "read session %s", id)
}

var insertSession = insertOf("sessions", rules.SessionColumns+", token")

// insertSession makes a session.
func (t *tx) insertSession(r rules.Session) error {
	token := "" // of a child's mailbox
	if r.Parent != "" {
		token = r.ID.MailboxToken()
	}
	made := r.Session
	made.UpdatedAt = r.CreatedAt
	err := t.exec(insertSession, append(rules.SessionPlaces(&made), token)...)
	if err != nil {
		return fmt.Errorf("make session %s: %w", r.ID, err)
	}
	t.learn(r)
	t.sessions.learn(r.ID, account{id: r.ID, updated: r.CreatedAt.UnixMicro()})
	return nil
}

// loadImmutableSession reads what of a session never changes.
func loadImmutableSession(s source, id sessionkeys.SessionID) (r rules.Session, found bool, err error) {
	r.Session, err = loadSession(s, id)
	if errors.Is(err, sessions.ErrNotFound) {
		return r, false, nil
	}
	return r, err == nil, err
}

// loadChild reads which session a child's mailbox feeds.
func loadChild(s source, token string) (c rules.Child, found bool, err error) {
	c.Token = token
	if token == "" {
		return c, false, nil
	}
	found, err = s.queryRow("SELECT id FROM sessions WHERE token = ?", args(token), &c.Session)
	return c, found, err
}

// Session implements [sessions.Turns].
func (dir directory) Session(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error) {
	return loadSession(dir.direct(ctx), id)
}

// Tree implements [sessions.Turns]: level by level, oldest first in each.
func (dir directory) Tree(ctx context.Context, id sessionkeys.SessionID) (tree []sessions.Session, err error) {
	err = dir.queryRows(ctx, `WITH RECURSIVE below (n) AS (
			SELECT id FROM sessions WHERE id = ?
			UNION ALL SELECT sessions.id FROM below JOIN sessions ON sessions.parent = below.n AND sessions.parent <> '')
		SELECT `+rules.SessionColumns+` FROM below JOIN sessions ON id = n ORDER BY depth, created_at, sessions.rowid`,
		args(id), func(r scanner) error {
			row, err := scanSession(r)
			tree = append(tree, row)
			return err
		})
	if err == nil && len(tree) == 0 {
		err = sessions.ErrNotFound
	}
	return tree, rules.While(err, "read the tree of session %s", id)
}
