package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
	"parley/transcript"
)

// checksum is kept beside a message, so that one that was changed on the disk is
// noticed.
func checksum(id, role string, parts, native []byte) int64 {
	table := crc32.MakeTable(crc32.Castagnoli)
	c := crc32.Update(0, table, []byte(id))
	c = crc32.Update(c, table, []byte(role))
	c = crc32.Update(c, table, parts)
	return int64(crc32.Update(c, table, native))
}

// appendMessages adds messages behind a session's history.
func appendMessages(x *tx, r rules.Appended) error {
	a, err := x.account(r.Session)
	if err != nil {
		return err
	}
	for _, m := range r.Messages {
		a.messages++
		if err := insertMessage(x, r.Session, a.messages, m); err != nil {
			return fmt.Errorf("add message %s: %w", m.ID, err)
		}
	}
	a.updated = max(a.updated, r.At.UnixMicro())
	x.sessions.put(a.id, a)
	return nil
}

func insertMessage(x *tx, id sessionkeys.SessionID, seq int, m transcript.Message) error {
	parts, err := transcript.MarshalParts(m.Parts)
	if err != nil {
		return err
	}
	var native []byte
	if m.Native != nil {
		if native, err = m.Native.Bytes(); err != nil {
			return err
		}
	}
	return x.exec(`INSERT INTO messages (session, seq, id, role, parts, model, native, created_at, sum)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, seq, m.ID, m.Role, parts, m.Model, native, m.CreatedAt, checksum(m.ID, string(m.Role), parts, native))
}

func hasMessage(s source, id sessionkeys.SessionID, message string) (bool, error) {
	var one int
	return s.queryRow("SELECT 1 FROM messages WHERE session = ? AND id = ?", args(id, message), &one)
}

// Messages implements [sessions.Turns]. A history with a message missing or
// changed is ErrDamaged, never a shorter one.
func (ar archive) Messages(ctx context.Context, id sessionkeys.SessionID) ([]transcript.Message, error) {
	var ms []transcript.Message
	found, count := false, 0
	err := ar.queryRows(ctx, `SELECT s.messages, m.seq, m.id, m.role, m.parts, m.model, m.native, m.created_at, m.sum
		FROM sessions AS s LEFT JOIN messages AS m ON m.session = s.id WHERE s.id = ? ORDER BY m.seq`, args(id), func(r scanner) error {
		var m storedMessage
		if err := m.scan(r); err != nil {
			return err
		}
		if !found {
			found, count = true, m.count
			ms = make([]transcript.Message, 0, count)
		}
		if m.seq == 0 {
			return nil // the session alone
		}
		read, err := m.message(ar.path, len(ms)+1)
		ms = append(ms, read)
		return err
	})
	switch {
	case err == nil && !found:
		err = sessions.ErrNotFound
	case err == nil && len(ms) != count:
		err = damaged(ar.path, "%d of %d messages are there", len(ms), count)
	}
	return ms, rules.While(err, "read the messages of session %s", id)
}

// storedMessage is a message as it stands in the database.
type storedMessage struct {
	count         int // of the whole session
	seq           int
	id, role      string
	parts, native []byte
	model         string
	created       time.Time
	sum           int64
}

func (m *storedMessage) scan(r scanner) error {
	return r.Scan(&m.count, nullable{&m.seq}, nullable{&m.id}, nullable{&m.role}, &m.parts, nullable{&m.model}, &m.native, nullable{&m.created}, nullable{&m.sum})
}

// message is number want of its session.
func (m *storedMessage) message(path string, want int) (transcript.Message, error) {
	if m.seq != want {
		return transcript.Message{}, damaged(path, "message %d is missing", want)
	}
	if checksum(m.id, m.role, m.parts, m.native) != m.sum {
		return transcript.Message{}, damaged(path, "message %d was changed", m.seq)
	}
	parts, err := transcript.UnmarshalParts(m.parts)
	if err != nil {
		return transcript.Message{}, err
	}
	read := transcript.Message{ID: m.id, Role: transcript.Role(m.role), Parts: parts, Model: m.model, CreatedAt: m.created}
	if len(m.native) > 0 {
		read.Native = new(transcript.Native)
		err = json.Unmarshal(m.native, read.Native)
	}
	return read, err
}
