package redis

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// maxExact is the highest number that a sorted set holds exactly.
const maxExact = 1 << 53

// Pending implements [sessions.Outbox].
func (ar archive) Pending(ctx context.Context, channel string, after uint64, limit int) (ds []sessions.Delivery, err error) {
	if limit <= 0 {
		return nil, nil
	}
	a, err := ar.query(ctx, newRead("ZRANGE", ar.key("pending:"+channel), "("+strconv.FormatUint(min(after, maxExact), 10), "+inf",
		"BYSCORE", "LIMIT", "0", strconv.Itoa(limit)).each(ar.answerReads("")...))
	if err == nil {
		ds, err = deliveries(a.list(0))
	}
	return ds, rules.While(err, "list pending answers of %s", channel)
}

// Delivery implements [sessions.Outbox].
func (ar archive) Delivery(ctx context.Context, id string) (d sessions.Delivery, err error) {
	a, err := ar.query(ctx, ar.answerReads(id)...)
	if err == nil {
		d, err = deliveryOf(a)
	}
	return d, rules.While(err, "read answer %s", id)
}

func deliveries(a answer) (ds []sessions.Delivery, err error) {
	err = a.eachName(func(_ string, found answer) error {
		d, err := deliveryOf(found)
		ds = append(ds, d)
		return err
	})
	return ds, err
}

// answerReads read an answer, and the preview of its turn and when that was asked: of
// one, or without an id for each name.
func (ks keyspace) answerReads(id string) []read {
	key := ks.key("out:" + id)
	return []read{
		newRead("HGETALL", key).at(2),
		newRead("HGET", key, "turn").at(2).each(newRead("HMGET", ks.key("turn:"), "preview", "received_at").at(2)),
	}
}

// deliveryOf is an answer as answerReads read it; no row is ErrNotFound.
func deliveryOf(a answer) (d sessions.Delivery, err error) {
	f, turn := a.row(0), a.list(1).below().list(0)
	stored, err := decodeAnswer(f)
	d = sessions.Delivery{Outgoing: stored.Outgoing, Order: stored.Order, Preview: previewOf(turn.text(0)), Parts: stored.Parts}
	err = errors.Join(err, rules.Load(&d.AskedAt, turn.text(1)))
	for i := range d.Parts {
		var bad error
		d.Parts[i].Body, bad = base64.StdEncoding.DecodeString(f["b"+strconv.Itoa(i+1)])
		err = errors.Join(err, bad)
	}
	return d, rules.While(err, "answer %s", d.ID)
}

// timeText is a time as it is stored in a row; the zero time is none.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(micros(t), 10)
}

// Deliveries implements [sessions.Recordings].
func (ar archive) Deliveries(ctx context.Context, id sessionkeys.SessionID, yield func(sessions.Delivery) bool) error {
	const most = 64
	first := 0
	err := rules.Pages(most, func() ([]sessions.Delivery, error) {
		a, err := ar.query(ctx, newRead("LRANGE", ar.key("outs:"+string(id)), strconv.Itoa(first), strconv.Itoa(first+most-1)).each(ar.answerReads("")...))
		if err != nil {
			return nil, err
		}
		first += most
		return deliveries(a.list(0))
	}, yield)
	return rules.While(err, "read the answers of session %s", id)
}
