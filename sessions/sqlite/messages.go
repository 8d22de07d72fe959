package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// sum is kept beside a message, so that one that was changed on the disk is
// noticed.
func sum(id, role string, parts, native []byte) int64 {
	table := crc32.MakeTable(crc32.Castagnoli)
	c := crc32.Update(0, table, []byte(id))
	c = crc32.Update(c, table, []byte(role))
	c = crc32.Update(c, table, parts)
	return int64(crc32.Update(c, table, native))
}

// appendMessages adds those that the session does not have yet.
func appendMessages(x *tx, id sessionkeys.SessionID, ms []transcript.Message, now time.Time) error {
	if len(ms) == 0 {
		return nil
	}
	a, err := x.account(id)
	if err != nil {
		return err
	}
	before := a.messages
	for _, m := range ms {
		added, err := insertMessage(x, id, a.messages+1, m)
		if err != nil {
			return fmt.Errorf("add message %s: %w", m.ID, err)
		}
		if added {
			a.messages++
		}
	}
	if a.messages > before {
		a.updated = max(a.updated, micros(now))
		a.save(x)
	}
	return nil
}

func insertMessage(x *tx, id sessionkeys.SessionID, seq int, m transcript.Message) (added bool, err error) {
	if m.ID == "" {
		return false, errors.New("it has no id")
	}
	parts, err := transcript.MarshalParts(m.Parts)
	if err != nil {
		return false, err
	}
	var native []byte
	if m.Native != nil {
		if native, err = m.Native.Bytes(); err != nil {
			return false, err
		}
	}
	n, err := x.change(`INSERT INTO messages (session, seq, id, role, parts, model, native, created_at, sum)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, id) DO NOTHING`,
		id, seq, m.ID, m.Role, parts, m.Model, native, micros(m.CreatedAt), sum(m.ID, string(m.Role), parts, native))
	return n == 1, err
}

// Messages implements [sessions.Turns]. A history with a message missing or
// changed is ErrDamaged, never a shorter one.
func (s *Store) Messages(ctx context.Context, id sessionkeys.SessionID) ([]transcript.Message, error) {
	var ms []transcript.Message
	found, count := false, 0
	err := s.each(ctx, `SELECT s.messages, m.seq, m.id, m.role, m.parts, m.model, m.native, m.created_at, m.sum
		FROM sessions AS s LEFT JOIN messages AS m ON m.session = s.id WHERE s.id = ? ORDER BY m.seq`, args(id), func(r scanner) error {
		var m stored
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
		read, err := m.message(s.path, len(ms)+1)
		ms = append(ms, read)
		return err
	})
	switch {
	case err == nil && !found:
		err = sessions.ErrNotFound
	case err == nil && len(ms) != count:
		err = damaged(s.path, "%d of %d messages are there", len(ms), count)
	}
	if err != nil {
		return nil, fmt.Errorf("read the messages of session %s: %w", id, err)
	}
	return ms, nil
}

// stored is a message as it stands in the database.
type stored struct {
	count         int // of the whole session
	seq           int
	id, role      string
	parts, native []byte
	model         string
	created, sum  int64
}

func (m *stored) scan(r scanner) error {
	return r.Scan(&m.count, orNothing{&m.seq}, orNothing{&m.id}, orNothing{&m.role}, &m.parts, orNothing{&m.model}, &m.native, orNothing{&m.created}, orNothing{&m.sum})
}

// message is number want of its session.
func (m *stored) message(path string, want int) (transcript.Message, error) {
	if m.seq != want {
		return transcript.Message{}, damaged(path, "message %d is missing", want)
	}
	if sum(m.id, m.role, m.parts, m.native) != m.sum {
		return transcript.Message{}, damaged(path, "message %d was changed", m.seq)
	}
	parts, err := transcript.UnmarshalParts(m.parts)
	if err != nil {
		return transcript.Message{}, err
	}
	read := transcript.Message{ID: m.id, Role: transcript.Role(m.role), Parts: parts, Model: m.model, CreatedAt: instant(m.created)}
	if len(m.native) > 0 {
		read.Native = new(transcript.Native)
		err = json.Unmarshal(m.native, read.Native)
	}
	return read, err
}

// Append implements [sessions.Turns].
func (s *Store) Append(ctx context.Context, f sessions.Fence, turn string, ms ...transcript.Message) error {
	_, err := write(ctx, s, func(x *tx) (struct{}, error) {
		t, err := openTurnOf(x, f, turn)
		if err != nil {
			return struct{}{}, err
		}
		var now time.Time
		for _, m := range ms {
			if m.CreatedAt.After(now) {
				now = m.CreatedAt
			}
		}
		return struct{}{}, appendMessages(x, t.Session, ms, now)
	})
	if err != nil {
		return fmt.Errorf("append to turn %s: %w", turn, err)
	}
	return nil
}
