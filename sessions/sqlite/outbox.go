package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

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
		file := ""
		if o.File != nil {
			if file, err = text(o.File); err != nil {
				return err
			}
		}
		n, no, err := x.insert(`INSERT INTO outbox (id, channel, session, turn, target, reply_to, body, at, again, file)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			o.ID, o.Channel, o.Session, o.Turn, to, o.ReplyTo, o.Text, micros(o.At), o.Again, file)
		if err != nil {
			return fmt.Errorf("queue answer %s: %w", o.ID, err)
		}
		if n == 1 {
			x.outbox.learn(o.ID, sending{no: no})
		}
	}
	return nil
}

// Post implements [sessions.Turns].
func (s *Store) Post(ctx context.Context, f sessions.Fence, turn string, replies ...sessions.Outgoing) error {
	_, err := write(ctx, s, func(x *tx) (struct{}, error) {
		if _, err := openTurnOf(x, f, turn); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, queue(x, replies)
	})
	if err != nil {
		return fmt.Errorf("queue answers of turn %s: %w", turn, err)
	}
	return nil
}

// deliveries are up to limit answers with their parts, in order.
func deliveries(s source, limit int, where string, a ...any) (ds []sessions.Delivery, err error) {
	query := `SELECT o.no, o.id, o.channel, o.session, o.turn, o.target, o.reply_to, o.body, o.at, o.again, o.file, t.preview, t.received_at,
			p.idx, p.body, p.state, p.attempts, p.message_id, p.problem, p.at, p.by
		FROM outbox AS o LEFT JOIN turns AS t ON t.id = o.turn AND o.turn <> '' LEFT JOIN outbox_parts AS p ON p.outbox = o.no
		WHERE ` + where + ` ORDER BY o.no, p.idx`
	err = s.each(query, a, func(r scanner) error {
		var d sessions.Delivery
		var p sessions.Part
		var to, file string
		var at, partAt int64
		asked, idx := int64(math.MinInt64), -1
		err := r.Scan(&d.Order, &d.ID, &d.Channel, &d.Session, &d.Turn, &to, &d.ReplyTo, &d.Text, &at, &d.Again, &file, orNothing{&d.Preview}, orNothing{&asked},
			orNothing{&idx}, &p.Body, orNothing{&p.State}, orNothing{&p.Attempts}, orNothing{&p.MessageID}, orNothing{&p.Problem}, orNothing{&partAt}, orNothing{&p.By})
		if err != nil {
			return err
		}
		if len(ds) == 0 || ds[len(ds)-1].Order != d.Order {
			d.At = instant(at)
			if asked != math.MinInt64 {
				d.Asked = instant(asked)
			}
			if len(ds) == limit {
				return errEnough
			}
			if err := parse(to, &d.To); err != nil {
				return err
			}
			if file != "" {
				if err := parse(file, &d.File); err != nil {
					return err
				}
			}
			ds = append(ds, d)
		}
		if idx >= 0 {
			p.At = instant(partAt)
			last := &ds[len(ds)-1]
			last.Parts = append(last.Parts, p)
		}
		return nil
	})
	return ds, err
}

// Pending implements [sessions.Outbox].
func (s *Store) Pending(ctx context.Context, channel string, after uint64, limit int) ([]sessions.Delivery, error) {
	if limit <= 0 {
		return nil, nil
	}
	ds, err := deliveries(direct{ctx, s}, limit, "o.channel = ? AND o.no > ? AND o.done = 0", channel, min(after, math.MaxInt64))
	if err != nil {
		return nil, fmt.Errorf("list pending answers of %s: %w", channel, err)
	}
	return ds, nil
}

// Delivery implements [sessions.Outbox].
func (s *Store) Delivery(ctx context.Context, id string) (sessions.Delivery, error) {
	ds, err := deliveries(direct{ctx, s}, 1, "o.id = ?", id)
	if err == nil && len(ds) == 0 {
		err = sessions.ErrNotFound
	}
	if err != nil {
		return sessions.Delivery{}, fmt.Errorf("read answer %s: %w", id, err)
	}
	return ds[0], nil
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

// Previewed implements [sessions.Outbox].
func (s *Store) Previewed(ctx context.Context, turn string) (messageID string, err error) {
	found, err := direct{ctx, s}.one("SELECT preview FROM turns WHERE id = ?", args(turn), &messageID)
	if err == nil && !found {
		err = sessions.ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("read the preview of turn %s: %w", turn, err)
	}
	return messageID, nil
}

// Advance implements [sessions.Outbox].
func (s *Store) Advance(ctx context.Context, id string, p sessions.Progress) error {
	_, err := write(ctx, s, func(x *tx) (struct{}, error) { return struct{}{}, advance(x, id, p) })
	if err != nil {
		return fmt.Errorf("advance answer %s: %w", id, err)
	}
	return nil
}

// sending is what the writer knows of an answer on its way out: its parts
// without their bodies.
type sending struct {
	no    int64
	done  bool
	parts []sessions.Part
}

func (t *tx) sending(id string) (s sending, err error) {
	if s, ok := t.outbox.get(id); ok {
		return s, nil
	}
	found, err := t.one("SELECT no, done FROM outbox WHERE id = ?", args(id), &s.no, &s.done)
	if err != nil {
		return s, err
	}
	if !found {
		return s, sessions.ErrNotFound
	}
	err = t.each("SELECT state, attempts, message_id, problem, at, by FROM outbox_parts WHERE outbox = ? ORDER BY idx", args(s.no), func(r scanner) error {
		var p sessions.Part
		var at int64
		err := r.Scan(&p.State, &p.Attempts, &p.MessageID, &p.Problem, &at, &p.By)
		p.At = instant(at)
		s.parts = append(s.parts, p)
		return err
	})
	if err != nil {
		return s, fmt.Errorf("read its parts: %w", err)
	}
	t.outbox.learn(id, s)
	return s, nil
}

func advance(x *tx, id string, p sessions.Progress) error {
	s, err := x.sending(id)
	if err != nil {
		return err
	}
	before := len(s.parts)
	s.parts = slices.Clone(s.parts)
	if before == 0 && !s.done {
		for range p.Bodies {
			s.parts = append(s.parts, sessions.Part{State: sessions.Queued})
		}
	}
	if p.Close && len(s.parts) > 0 {
		return errors.New("close it: it has parts")
	}
	moved := make([]bool, len(s.parts))
	for _, m := range p.Marks {
		if err := mark(s.parts, moved, m); err != nil {
			return err
		}
	}
	for i, part := range s.parts {
		switch {
		case i >= before:
			err = insertPart(x, s.no, i, p.Bodies[i], part)
		case moved[i]:
			err = x.do("UPDATE outbox_parts SET state = ?, attempts = ?, message_id = ?, problem = ?, at = ?, by = ? WHERE outbox = ? AND idx = ?",
				part.State, part.Attempts, part.MessageID, part.Problem, micros(part.At), part.By, s.no, i)
		}
		if err != nil {
			return fmt.Errorf("store part %d: %w", i, err)
		}
	}
	if s.done || !p.Close && !finishedParts(s.parts) {
		x.outbox.learn(id, s)
		return nil
	}
	x.outbox.drop(id)
	return x.do("UPDATE outbox SET done = 1 WHERE no = ?", s.no)
}

func insertPart(x *tx, no int64, idx int, body []byte, p sessions.Part) error {
	if body == nil {
		body = []byte{}
	}
	return x.do("INSERT INTO outbox_parts (outbox, idx, body, state, attempts, message_id, problem, at, by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		no, idx, body, p.State, p.Attempts, p.MessageID, p.Problem, micros(p.At), p.By)
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
func mark(ps []sessions.Part, moved []bool, m sessions.Mark) error {
	if m.Index < 0 || m.Index >= len(ps) {
		return fmt.Errorf("part %d of %d: %w", m.Index, len(ps), sessions.ErrNotFound)
	}
	if !follows(m.From, m.To) {
		return fmt.Errorf("part %d from %s to %s: %w", m.Index, m.From, m.To, sessions.ErrFenced)
	}
	p := &ps[m.Index]
	if p.State == m.To && p.MessageID == m.MessageID && p.Problem == m.Problem && micros(p.At) == micros(m.At) && p.By == m.By {
		return nil
	}
	if p.State != m.From {
		return fmt.Errorf("part %d is %s, not %s: %w", m.Index, p.State, m.From, sessions.ErrFenced)
	}
	p.State, p.MessageID, p.Problem, p.At, p.By = m.To, m.MessageID, m.Problem, m.At, m.By
	if m.To == sessions.Sending {
		p.Attempts++
	}
	moved[m.Index] = true
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
