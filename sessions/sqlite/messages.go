package sqlite

import (
	"context"
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
	var count int
	found, err := x.one("SELECT messages FROM sessions WHERE id = ?", args(id), &count)
	if err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	if !found {
		return fmt.Errorf("session %s: %w", id, sessions.ErrNotFound)
	}
	before := count
	for _, m := range ms {
		added, err := insertMessage(x, id, count+1, m)
		if err != nil {
			return fmt.Errorf("add message %s: %w", m.ID, err)
		}
		if added {
			count++
		}
	}
	if count == before {
		return nil
	}
	err = x.do("UPDATE sessions SET messages = ?, updated_at = max(updated_at, ?) WHERE id = ?", count, micros(now), id)
	if err != nil {
		return fmt.Errorf("count messages: %w", err)
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
	err := s.snapshot(ctx, func(v *view) error {
		var count int
		found, err := v.one("SELECT messages FROM sessions WHERE id = ?", args(id), &count)
		if err != nil {
			return err
		}
		if !found {
			return sessions.ErrNotFound
		}
		ms = make([]transcript.Message, 0, count)
		err = v.each("SELECT seq, id, role, parts, model, native, created_at, sum FROM messages WHERE session = ? ORDER BY seq", args(id), func(r scanner) error {
			m, err := scanMessage(s.path, r, len(ms)+1)
			ms = append(ms, m)
			return err
		})
		if err == nil && len(ms) != count {
			err = damaged(s.path, "%d of %d messages are there", len(ms), count)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the messages of session %s: %w", id, err)
	}
	return ms, nil
}

func scanMessage(path string, r scanner, want int) (m transcript.Message, err error) {
	var seq int
	var parts, native []byte
	var created, check int64
	if err := r.Scan(&seq, &m.ID, &m.Role, &parts, &m.Model, &native, &created, &check); err != nil {
		return m, err
	}
	if seq != want {
		return m, damaged(path, "message %d is missing", want)
	}
	if sum(m.ID, string(m.Role), parts, native) != check {
		return m, damaged(path, "message %d was changed", seq)
	}
	m.CreatedAt = instant(created)
	if m.Parts, err = transcript.UnmarshalParts(parts); err != nil {
		return m, err
	}
	if len(native) > 0 {
		m.Native = new(transcript.Native)
		err = parse(string(native), m.Native)
	}
	return m, err
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
