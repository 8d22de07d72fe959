package sqlite

import (
	"context"
	"fmt"
	"math"

	"parley/sessions"
	"parley/sessions/rules"
)

var (
	selectParts  = "SELECT " + rules.PartColumns + " FROM outbox_parts WHERE outbox = ? ORDER BY idx"
	insertPart   = insertOf("outbox_parts", rules.PartColumns+", body, outbox, idx")
	updatePart   = updateOf("outbox_parts", rules.PartColumns, "outbox = ? AND idx")
	insertAnswer = insertOf("outbox", rules.OutgoingColumns)
)

// loadAnswer reads how far an answer got: its parts without their bodies.
func loadAnswer(s source, id string) (a rules.Answer, found bool, err error) {
	a.ID = id
	found, err = s.queryRow("SELECT no, done FROM outbox WHERE id = ?", args(id), &a.Order, &a.Done)
	if err != nil || !found {
		return a, found, err
	}
	err = s.queryRows(selectParts, args(a.Order), func(r scanner) error {
		var p sessions.Part
		err := r.Scan(rules.PartPlaces(&p)...)
		a.Parts = append(a.Parts, p)
		return err
	})
	return a, err == nil, err
}

// putAnswer inserts an answer that is new, and else what changed of its parts.
func (t *tx) putAnswer(a rules.Answer) error {
	before, err := t.storedAnswer(&a)
	if err != nil {
		return err
	}
	for i, p := range a.Parts {
		switch {
		case i >= len(before.Parts):
			err = t.exec(insertPart, append(rules.PartPlaces(&p), p.Body, a.Order, i)...)
			a.Parts[i].Body = nil
		case !rules.SamePart(before.Parts[i], p):
			err = t.exec(updatePart, append(rules.PartPlaces(&p), a.Order, i)...)
		}
		if err != nil {
			return fmt.Errorf("store part %d of answer %s: %w", i, a.ID, err)
		}
	}
	if !a.Done {
		t.learn(a)
		return nil
	}
	t.rows.drop(a.Key())
	t.queue.remove(a.ID)
	return rules.While(t.exec("UPDATE outbox SET done = 1 WHERE no = ?", a.Order), "end answer %s", a.ID)
}

// storedAnswer returns what is stored of an answer: what was inserted just now, of one that is new.
func (t *tx) storedAnswer(a *rules.Answer) (before rules.Answer, err error) {
	if a.Order != 0 {
		if known, ok := t.rows.get(a.Key()); ok {
			before, _ = known.(rules.Answer)
			return before, nil
		}
		before, _, err = loadAnswer(t, a.ID) // it was read without being kept
		return before, err
	}
	_, no, err := t.insert(insertAnswer, rules.OutgoingPlaces(&a.Outgoing)...)
	if err != nil {
		return before, fmt.Errorf("queue answer %s: %w", a.ID, err)
	}
	t.queue.add(a.ID, chatOf(a.To))
	a.Order = uint64(no) // it counts from 1
	a.Outgoing = sessions.Outgoing{ID: a.ID}
	return before, nil
}

// deliveries are up to limit answers with their parts, in order.
func deliveries(s source, limit int, where string, a ...any) (ds []sessions.Delivery, err error) {
	query := "SELECT o.no, " + behind("o.", rules.OutgoingColumns) + ", t.preview_state, t.preview, t.received_at, p.idx, p.body, " + behind("p.", rules.PartColumns) + `
		FROM outbox AS o LEFT JOIN turns AS t ON t.id = o.turn AND o.turn <> '' LEFT JOIN outbox_parts AS p ON p.outbox = o.no
		WHERE ` + where + ` ORDER BY o.no, p.idx`
	err = s.queryRows(query, a, func(r scanner) error {
		var d sessions.Delivery
		var p sessions.Part
		idx := -1
		at := append([]any{&d.Order}, rules.OutgoingPlaces(&d.Outgoing)...)
		at = append(at, nullable{&d.Preview.State}, nullable{&d.Preview.ID}, nullable{&d.AskedAt}, nullable{&idx}, &p.Body)
		for _, place := range rules.PartPlaces(&p) {
			at = append(at, nullable{place})
		}
		if err := r.Scan(at...); err != nil {
			return err
		}
		if len(ds) == 0 || ds[len(ds)-1].Order != d.Order {
			if len(ds) == limit {
				return errEnough
			}
			ds = append(ds, d)
		}
		if idx >= 0 {
			last := &ds[len(ds)-1]
			last.Parts = append(last.Parts, p)
		}
		return nil
	})
	return ds, err
}

// Pending implements [sessions.Outbox].
func (ar archive) Pending(ctx context.Context, channel string, after uint64, limit int) ([]sessions.Delivery, error) {
	if limit <= 0 {
		return nil, nil
	}
	ds, err := deliveries(ar.direct(ctx), limit, "o.channel = ? AND o.no > ? AND o.done = 0", channel, min(after, math.MaxInt64))
	return ds, rules.While(err, "list pending answers of %s", channel)
}

// Delivery implements [sessions.Outbox].
func (ar archive) Delivery(ctx context.Context, id string) (sessions.Delivery, error) {
	ds, err := deliveries(ar.direct(ctx), 1, "o.id = ?", id)
	if err == nil && len(ds) == 0 {
		err = sessions.ErrNotFound
	}
	if err != nil {
		return sessions.Delivery{}, fmt.Errorf("read answer %s: %w", id, err)
	}
	return ds[0], nil
}
