package sqlite

import (
	"fmt"

	"parley/sessions/rules"
)

// What takes the content of a session away. There is no index of answers by their sessions, as one
// would cost each answer something: the whole outbox is looked through.
var eraseSession = []string{
	"DELETE FROM messages WHERE session = ?",
	"DELETE FROM asked WHERE session = ?",
	"UPDATE sessions SET title = '' WHERE id = ?",
	"UPDATE outbox_parts SET body = x'' WHERE outbox IN (SELECT no FROM outbox WHERE session = ? AND done = 1)",
	"UPDATE outbox SET body = '', file = '', choices = '' WHERE session = ? AND done = 1",
}

// erase takes the content of sessions away. Where it stood in the file SQLite writes zeros: see
// secure_delete in open.
func (t *tx) erase(e rules.Erased) error {
	if err := t.flush(); err != nil {
		return err
	}
	for i, id := range e.Sessions {
		for _, statement := range eraseSession {
			if err := t.exec(statement, id); err != nil {
				return fmt.Errorf("delete the content of session %s: %w", id, err)
			}
		}
		t.rows.drop(rules.SessionKey(id))
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
