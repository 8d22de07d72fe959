package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"parley/sessions"
)

// queue adds answers that are not there yet.
func queue(x *tx, replies []sessions.Outgoing) error {
	for _, o := range replies {
		if o.ID == "" {
			return errors.New("queue an answer: it has no id")
		}
		to, err := text(o.To)
		if err != nil {
			return err
		}
		err = x.do(`INSERT INTO outbox (id, channel, session, turn, target, reply_to, body, at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			o.ID, o.Channel, o.Session, o.Turn, to, o.ReplyTo, o.Text, micros(o.At))
		if err != nil {
			return fmt.Errorf("queue answer %s: %w", o.ID, err)
		}
	}
	return nil
}

const deliveryColumns = `o.no, o.id, o.channel, o.session, o.turn, o.target, o.reply_to, o.body, o.at, coalesce(t.preview, ''), t.received_at
	FROM outbox AS o LEFT JOIN turns AS t ON t.id = o.turn AND o.turn <> ''`

func scanDelivery(r scanner) (d sessions.Delivery, err error) {
	var no, at int64
	var to string
	var asked sql.NullInt64
	if err := r.Scan(&no, &d.ID, &d.Channel, &d.Session, &d.Turn, &to, &d.ReplyTo, &d.Text, &at, &d.Preview, &asked); err != nil {
		return d, err
	}
	if asked.Valid {
		d.Asked = instant(asked.Int64)
	}
	d.Order, d.At = uint64(no), instant(at)
	return d, parse(to, &d.To)
}

// Pending implements [sessions.Outbox].
func (s *Store) Pending(ctx context.Context, channel string, after uint64, limit int) (ds []sessions.Delivery, err error) {
	err = s.snapshot(ctx, func(v *view) error {
		err := v.each("SELECT "+deliveryColumns+" WHERE o.channel = ? AND o.no > ? AND o.done = 0 ORDER BY o.no LIMIT ?", args(channel, int64(min(after, math.MaxInt64)), limit), func(r scanner) error {
			d, err := scanDelivery(r)
			ds = append(ds, d)
			return err
		})
		if err != nil {
			return err
		}
		for i := range ds {
			if ds[i].Parts, err = parts(v, int64(ds[i].Order)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list pending answers of %s: %w", channel, err)
	}
	return ds, nil
}

// Delivery implements [sessions.Outbox].
func (s *Store) Delivery(ctx context.Context, id string) (d sessions.Delivery, err error) {
	err = s.snapshot(ctx, func(v *view) (err error) {
		d, err = scanDelivery(single(v, "SELECT "+deliveryColumns+" WHERE o.id = ?", id))
		if errors.Is(err, errNone) {
			return sessions.ErrNotFound
		}
		if err == nil {
			d.Parts, err = parts(v, int64(d.Order))
		}
		return err
	})
	if err != nil {
		return sessions.Delivery{}, fmt.Errorf("read answer %s: %w", id, err)
	}
	return d, nil
}

func parts(s source, no int64) (ps []sessions.Part, err error) {
	err = s.each("SELECT body, state, attempts, message_id, problem, at FROM outbox_parts WHERE outbox = ? ORDER BY idx", args(no), func(r scanner) error {
		var p sessions.Part
		var at int64
		err := r.Scan(&p.Body, &p.State, &p.Attempts, &p.MessageID, &p.Problem, &at)
		p.At = instant(at)
		ps = append(ps, p)
		return err
	})
	return ps, err
}

// Preview implements [sessions.Outbox].
func (s *Store) Preview(ctx context.Context, turn, messageID string) error {
	_, err := write(ctx, s, func(x *tx) (struct{}, error) {
		n, err := x.change("UPDATE turns SET preview = ? WHERE id = ?", messageID, turn)
		if err == nil && n == 0 {
			err = sessions.ErrNotFound
		}
		return struct{}{}, err
	})
	if err != nil {
		return fmt.Errorf("note the preview of turn %s: %w", turn, err)
	}
	return nil
}

// Advance implements [sessions.Outbox].
func (s *Store) Advance(ctx context.Context, id string, p sessions.Progress) error {
	_, err := write(ctx, s, func(x *tx) (struct{}, error) { return struct{}{}, advance(x, id, p) })
	if err != nil {
		return fmt.Errorf("advance answer %s: %w", id, err)
	}
	return nil
}

func advance(x *tx, id string, p sessions.Progress) error {
	var no int64
	var done bool
	found, err := x.one("SELECT no, done FROM outbox WHERE id = ?", args(id), &no, &done)
	if err != nil {
		return err
	}
	if !found {
		return sessions.ErrNotFound
	}
	ps, err := parts(x, no)
	if err != nil {
		return fmt.Errorf("read its parts: %w", err)
	}
	if len(ps) == 0 && !done {
		if ps, err = render(x, no, p.Bodies); err != nil {
			return err
		}
	}
	if p.Close && len(ps) > 0 {
		return errors.New("close it: it has parts")
	}
	for _, m := range p.Marks {
		if err := mark(x, no, ps, m); err != nil {
			return err
		}
	}
	if done || !p.Close && !finishedParts(ps) {
		return nil
	}
	return x.do("UPDATE outbox SET done = 1 WHERE no = ?", no)
}

// render stores the parts.
func render(x *tx, no int64, bodies [][]byte) ([]sessions.Part, error) {
	ps := make([]sessions.Part, 0, len(bodies))
	for i, body := range bodies {
		p := sessions.Part{Body: body, State: sessions.Queued}
		if body == nil {
			p.Body = []byte{}
		}
		err := x.do("INSERT INTO outbox_parts (outbox, idx, body, state, at) VALUES (?, ?, ?, ?, ?)", no, i, p.Body, p.State, micros(p.At))
		if err != nil {
			return nil, fmt.Errorf("store part %d: %w", i, err)
		}
		ps = append(ps, p)
	}
	return ps, nil
}

// follows says which states may follow which. What was sent or has failed stays
// so.
func follows(from, to sessions.SendState) bool {
	switch from {
	case sessions.Queued:
		return to == sessions.Sending || to == sessions.Failed
	case sessions.Sending:
		return to == sessions.Sent || to == sessions.Failed || to == sessions.Uncertain || to == sessions.Queued
	case sessions.Uncertain:
		return to == sessions.Sending || to == sessions.Sent || to == sessions.Failed || to == sessions.Queued
	default:
		return false
	}
}

// mark moves one part. One that was made by an earlier try of the same step
// changes nothing.
func mark(x *tx, no int64, ps []sessions.Part, m sessions.Mark) error {
	if m.Index < 0 || m.Index >= len(ps) {
		return fmt.Errorf("part %d of %d: %w", m.Index, len(ps), sessions.ErrNotFound)
	}
	if !follows(m.From, m.To) {
		return fmt.Errorf("part %d from %s to %s: %w", m.Index, m.From, m.To, sessions.ErrFenced)
	}
	p := &ps[m.Index]
	if p.State == m.To && p.MessageID == m.MessageID && p.Problem == m.Problem && micros(p.At) == micros(m.At) {
		return nil
	}
	if p.State != m.From {
		return fmt.Errorf("part %d is %s, not %s: %w", m.Index, p.State, m.From, sessions.ErrFenced)
	}
	p.State, p.MessageID, p.Problem, p.At = m.To, m.MessageID, m.Problem, m.At
	if m.To == sessions.Sending {
		p.Attempts++
	}
	err := x.do("UPDATE outbox_parts SET state = ?, attempts = ?, message_id = ?, problem = ?, at = ? WHERE outbox = ? AND idx = ?",
		p.State, p.Attempts, p.MessageID, p.Problem, micros(p.At), no, m.Index)
	if err != nil {
		return fmt.Errorf("mark part %d: %w", m.Index, err)
	}
	return nil
}

func finishedParts(ps []sessions.Part) bool {
	for _, p := range ps {
		if p.State != sessions.Sent && p.State != sessions.Failed {
			return false
		}
	}
	return len(ps) > 0
}
