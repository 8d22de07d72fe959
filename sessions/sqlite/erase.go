package sqlite

import (
	"context"
	"fmt"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// answersOf is where answers of sessions stand in the outbox, up to a place.
type answersOf struct {
	upTo     int64
	sessions map[sessionkeys.SessionID][]int64
}

type answersKey struct{}

// Erase implements [sessions.Eraser]. There is no index of answers by their sessions, as one would
// cost each answer something: the whole outbox is looked through, and not by the writer, for which all
// others wait.
func (s *Store) Erase(ctx context.Context, e sessions.Erasure) (bool, error) {
	found, err := s.findAnswers(ctx, e.Session)
	if err != nil {
		return false, rules.While(err, "find the answers of session %s", e.Session)
	}
	return s.Operations.Erase(context.WithValue(ctx, answersKey{}, found), e)
}

const (
	lastAnswer  = "SELECT coalesce(max(no), 0) FROM outbox"
	treeAnswers = `WITH RECURSIVE tree (id) AS (SELECT ?1 UNION ALL SELECT s.id FROM sessions AS s JOIN tree ON s.parent = tree.id WHERE s.parent <> '')
		SELECT no, session FROM outbox WHERE no <= ?2 AND session IN (SELECT id FROM tree)`
	laterAnswers = "SELECT no FROM outbox WHERE no > ? AND session = ?"
)

// findAnswers finds the answers of a session and of all below it.
func (s *Store) findAnswers(ctx context.Context, root sessionkeys.SessionID) (found answersOf, err error) {
	found.sessions = map[sessionkeys.SessionID][]int64{}
	err = s.readers.snapshot(ctx, func(v *view) error {
		v.long = true
		if _, err := v.queryRow(lastAnswer, nil, &found.upTo); err != nil {
			return err
		}
		return v.queryRows(treeAnswers, args(root, found.upTo), func(r scanner) error {
			var no int64
			var of sessionkeys.SessionID
			err := r.Scan(&no, &of)
			found.sessions[of] = append(found.sessions[of], no)
			return err
		})
	})
	return found, err
}

// What takes the content of a session away but for its answers, and what takes the words of one that is
// done.
var (
	eraseSession = []string{
		"DELETE FROM messages WHERE session = ?",
		"DELETE FROM asked WHERE session = ?",
		"UPDATE sessions SET title = '' WHERE id = ?",
	}
	eraseAnswer = []string{
		"UPDATE outbox_parts SET body = x'' WHERE outbox = (SELECT no FROM outbox WHERE no = ? AND done = 1)",
		"UPDATE outbox SET body = '', file = '', choices = '' WHERE no = ? AND done = 1",
	}
)

// erase takes the content of sessions away. Where it stood in the file SQLite writes zeros: see
// secure_delete in open.
func (t *tx) erase(e rules.Erased) error {
	if err := t.flush(); err != nil {
		return err
	}
	for i, id := range e.Sessions {
		if err := t.eraseOne(id); err != nil {
			return fmt.Errorf("delete the content of session %s: %w", id, err)
		}
		a, err := t.account(id)
		if err != nil {
			return err
		}
		a.messages = 0
		if i == 0 {
			a.updated = max(a.updated, e.At.UnixMicro())
		}
		t.sessions.put(id, a)
	}
	for _, name := range e.Templates {
		err := t.exec("DELETE FROM frames WHERE name = ? AND NOT EXISTS (SELECT 1 FROM asked WHERE asked.frame = frames.id)", name)
		if err != nil {
			return fmt.Errorf("delete the request template %s: %w", name, err)
		}
		t.frames.drop(name)
	}
	return nil
}

func (t *tx) eraseOne(id sessionkeys.SessionID) error {
	for _, statement := range eraseSession {
		if err := t.exec(statement, id); err != nil {
			return err
		}
	}
	t.rows.drop(rules.SessionKey(id))
	answers := t.answers.sessions[id]
	err := t.queryRows(laterAnswers, args(t.answers.upTo, id), func(r scanner) error {
		var no int64
		err := r.Scan(&no)
		answers = append(answers, no)
		return err
	})
	if err != nil {
		return err
	}
	for _, no := range answers {
		for _, statement := range eraseAnswer {
			if err := t.exec(statement, no); err != nil {
				return err
			}
		}
	}
	return nil
}
