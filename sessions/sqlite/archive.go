package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
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

// putRequest keeps what a call that is reserved now asks.
func putRequest(x *tx, r rules.RequestRecord) error {
	a := r.Record
	frame, err := x.templateID(a)
	if err != nil {
		return err
	}
	err = x.exec(`INSERT INTO asked (session, no, id, turn, at, upper, frame, upto, tail, max_tokens, digest)
		SELECT ?1, coalesce((SELECT max(no) FROM asked WHERE session = ?1), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10`,
		r.Session, r.Reservation.ID, r.Turn, r.Reservation.At, r.Reservation.Estimate.Upper, frame, a.Upto, a.Tail, a.MaxTokens, a.Digest)
	return rules.While(err, "write down what is asked")
}

var errNoFrame = errors.New("what is asked has no frame")

// templateID is the number of the row that holds a frame.
func (t *tx) templateID(a transcript.RequestRecord) (id int64, err error) {
	if a.Template == "" || a.Body == nil {
		return 0, errNoFrame
	}
	if id, ok := t.frames.get(a.Template); ok {
		return id, nil
	}
	found, err := t.queryRow("SELECT id FROM frames WHERE name = ?", args(a.Template), &id)
	if err == nil && !found {
		var body []byte
		if body, err = a.Body(); err != nil {
			return 0, fmt.Errorf("encode the frame of a request: %w", err)
		}
		_, id, err = t.insert("INSERT INTO frames (name, body) VALUES (?, ?)", a.Template, body)
	}
	if err != nil {
		return 0, fmt.Errorf("keep the frame of a request: %w", err)
	}
	t.frames.learn(a.Template, id)
	return id, nil
}

// Requests implements [sessions.Recordings].
func (ar archive) Requests(ctx context.Context, id sessionkeys.SessionID, yield func(sessions.Recording) bool) error {
	query := `SELECT a.no, a.id, a.turn, a.at, a.upper, f.name, a.upto, a.tail, a.max_tokens, a.digest
		FROM asked AS a JOIN frames AS f ON f.id = a.frame WHERE a.session = ? AND a.no > ? ORDER BY a.no LIMIT ` + strconv.Itoa(page)
	var after int64
	err := rules.Pages(page, func() (rs []sessions.Recording, err error) {
		err = ar.queryRows(ctx, query, args(id, after), func(row scanner) error {
			var r sessions.Recording
			err := row.Scan(&after, &r.ID, &r.Turn, &r.At, &r.Upper, &r.Template, &r.Upto, &r.Tail, &r.MaxTokens, &r.Digest)
			rs = append(rs, r)
			return err
		})
		return rs, err
	}, yield)
	return rules.While(err, "read what session %s asked", id)
}

// RequestTemplate implements [sessions.Recordings].
func (ar archive) RequestTemplate(ctx context.Context, name string) (body []byte, err error) {
	found, err := ar.queryRow(ctx, "SELECT body FROM frames WHERE name = ?", args(name), &body)
	if err == nil && !found {
		err = sessions.ErrNotFound
	}
	return body, rules.While(err, "read the frame %s", name)
}

// MessagesAfter implements [sessions.Turns].
func (ar archive) MessagesAfter(ctx context.Context, id sessionkeys.SessionID, after, limit int) (ms []transcript.Message, err error) {
	err = ar.queryRows(ctx, `SELECT 0, seq, id, role, parts, model, native, created_at, sum FROM messages
		WHERE session = ? AND seq > ? ORDER BY seq`, args(id, after), func(r scanner) error {
		if len(ms) >= limit {
			return errEnough
		}
		var m storedMessage
		if err := m.scan(r); err != nil {
			return err
		}
		read, err := m.message(ar.path, after+len(ms)+1)
		ms = append(ms, read)
		return err
	})
	return ms, rules.While(err, "read the messages of session %s", id)
}

// Deliveries implements [sessions.Recordings]. It reads through the whole
// outbox: an index for it would cost every answer something.
func (ar archive) Deliveries(ctx context.Context, id sessionkeys.SessionID, yield func(sessions.Delivery) bool) error {
	const most = 64
	var after uint64
	err := rules.Pages(most, func() (ds []sessions.Delivery, err error) {
		err = ar.read(ctx, func(v *view) (err error) {
			v.long = true
			ds, err = deliveries(v, most, "o.session = ? AND o.no > ?", id, min(after, math.MaxInt64))
			return err
		})
		return ds, err
	}, func(d sessions.Delivery) bool {
		after = d.Order
		return yield(d)
	})
	return rules.While(err, "list the answers of session %s", id)
}
