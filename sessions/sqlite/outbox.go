package sqlite

import (
	"context"
	"fmt"
	"math"

	"parley/sessions"
	"parley/sessions/rules"
)

// loadAnswer reads how far an answer got: its parts without their bodies.
func loadAnswer(s source, id string) (a rules.Answer, found bool, err error) {
	a.ID = id
	found, err = s.one("SELECT no, done FROM outbox WHERE id = ?", args(id), &a.Order, &a.Done)
	if err != nil || !found {
		return a, found, err
	}
	err = s.each("SELECT state, attempts, message_id, repeats, reason, problem, at, by FROM outbox_parts WHERE outbox = ? ORDER BY idx", args(a.Order), func(r scanner) error {
		var p sessions.Part
		var at int64
		err := r.Scan(&p.State, &p.Attempts, &p.MessageID, &p.Repeats, &p.Reason, &p.Problem, &at, &p.By)
		p.At = instant(at)
		a.Parts = append(a.Parts, p)
		return err
	})
	return a, err == nil, err
}

// putAnswer inserts an answer that is new, and else what changed of its parts.
func (t *tx) putAnswer(a rules.Answer) error {
	if a.Order == 0 {
		return t.insertAnswer(a)
	}
	before, ok := t.outbox.get(a.ID)
	if !ok { // it was read without being kept
		var err error
		if before, _, err = loadAnswer(t, a.ID); err != nil {
			return err
		}
	}
	for i, p := range a.Parts {
		var err error
		switch {
		case i >= len(before.Parts):
			err = t.do(`INSERT INTO outbox_parts (outbox, idx, body, state, attempts, message_id, repeats, reason, problem, at, by)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				a.Order, i, p.Body, p.State, p.Attempts, p.MessageID, p.Repeats, p.Reason, p.Problem, micros(p.At), p.By)
			a.Parts[i].Body = nil
		case !rules.SamePart(before.Parts[i], p):
			err = t.do(`UPDATE outbox_parts SET state = ?, attempts = ?, message_id = ?, repeats = ?, reason = ?, problem = ?, at = ?, by = ?
				WHERE outbox = ? AND idx = ?`,
				p.State, p.Attempts, p.MessageID, p.Repeats, p.Reason, p.Problem, micros(p.At), p.By, a.Order, i)
		}
		if err != nil {
			return fmt.Errorf("store part %d of answer %s: %w", i, a.ID, err)
		}
	}
	if !a.Done {
		t.outbox.learn(a.ID, a)
		return nil
	}
	t.outbox.drop(a.ID)
	if err := t.do("UPDATE outbox SET done = 1 WHERE no = ?", a.Order); err != nil {
		return fmt.Errorf("end answer %s: %w", a.ID, err)
	}
	return nil
}

func (t *tx) insertAnswer(a rules.Answer) error {
	to, err := text(a.To)
	if err != nil {
		return err
	}
	file := ""
	if a.File != nil {
		if file, err = text(a.File); err != nil {
			return err
		}
	}
	_, no, err := t.insert(`INSERT INTO outbox (id, channel, session, turn, target, reply_to, body, at, again, file)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.ID, a.Channel, a.Session, a.Turn, to, a.ReplyTo, a.Text, micros(a.At), a.Again, file)
	if err != nil {
		return fmt.Errorf("queue answer %s: %w", a.ID, err)
	}
	t.outbox.learn(a.ID, rules.Answer{Outgoing: sessions.Outgoing{ID: a.ID}, Order: uint64(no)}) //nolint:gosec // it counts from 1
	return nil
}

// deliveries are up to limit answers with their parts, in order.
func deliveries(s source, limit int, where string, a ...any) (ds []sessions.Delivery, err error) {
	query := `SELECT o.no, o.id, o.channel, o.session, o.turn, o.target, o.reply_to, o.body, o.at, o.again, o.file, t.preview_state, t.preview, t.received_at,
			p.idx, p.body, p.state, p.attempts, p.message_id, p.repeats, p.reason, p.problem, p.at, p.by
		FROM outbox AS o LEFT JOIN turns AS t ON t.id = o.turn AND o.turn <> '' LEFT JOIN outbox_parts AS p ON p.outbox = o.no
		WHERE ` + where + ` ORDER BY o.no, p.idx`
	err = s.each(query, a, func(r scanner) error {
		var d sessions.Delivery
		var p sessions.Part
		var to, file string
		var at, partAt int64
		asked, idx := int64(math.MinInt64), -1
		err := r.Scan(&d.Order, &d.ID, &d.Channel, &d.Session, &d.Turn, &to, &d.ReplyTo, &d.Text, &at, &d.Again, &file,
			orNothing{&d.Preview.State}, orNothing{&d.Preview.ID}, orNothing{&asked},
			orNothing{&idx}, &p.Body, orNothing{&p.State}, orNothing{&p.Attempts}, orNothing{&p.MessageID}, orNothing{&p.Repeats}, orNothing{&p.Reason},
			orNothing{&p.Problem}, orNothing{&partAt}, orNothing{&p.By})
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
