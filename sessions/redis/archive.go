package redis

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
	"parley/transcript"
)

// maxExact is the highest number that a sorted set holds exactly.
const maxExact = 1 << 53

// Pending implements [sessions.Outbox].
func (ar archive) Pending(ctx context.Context, channel string, after uint64, limit int) (ds []sessions.Delivery, err error) {
	if limit <= 0 {
		return nil, nil
	}
	era := *ar.era.Load()
	a, err := ar.query(ctx, newRead("ZRANGE", ar.key("pending:"+channel), "("+strconv.FormatUint(min(after, maxExact), 10), "+inf",
		"BYSCORE", "LIMIT", "0", strconv.Itoa(limit)).each(ar.answerReads("")...))
	if err == nil {
		ds, err = deliveries(a.list(0))
	}
	if err == nil {
		err = ar.learn(era, a.list(0))
	}
	return ds, rules.While(err, "list pending answers of %s", channel)
}

// learn notes answers that were read: who asked for them is about to deliver them.
func (ar archive) learn(era string, a answer) error {
	return a.eachName(func(_ string, found answer) error {
		f := found.row(0)
		stored, err := decodeAnswer(f)
		if err == nil {
			ar.known.learnRead(era, stored.Key(), &storedRow{stored, f})
		}
		return err
	})
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

// archive is what was said, asked and answered.
type archive struct {
	*connection
	known *rowCache
}

// message is one that is added: Body is what is stored.
type message struct {
	ID   string `json:"id"`
	Body string `json:"body"`
}

func messagesOf(ms []transcript.Message) ([]message, error) {
	bodies := make([]message, len(ms))
	for i, m := range ms {
		if m.ID == "" {
			return nil, errors.New("add a message: it has no id")
		}
		b, err := m.MarshalJSON() // json.Marshal would write native parts in another way
		if err != nil {
			return nil, fmt.Errorf("add message %s: %w", m.ID, err)
		}
		bodies[i] = message{m.ID, checksum(b) + string(b)}
	}
	return bodies, nil
}

const sumWidth = 8

// checksum is kept before a message, so that one that was changed is noticed.
func checksum(body []byte) string {
	return fmt.Sprintf("%0*x", sumWidth, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

func isIntact(stored string) bool {
	return len(stored) >= sumWidth && checksum([]byte(stored[sumWidth:])) == stored[:sumWidth]
}

// readMessage is number no of its session, as it is stored.
func readMessage(stored string, no int) (m transcript.Message, err error) {
	if !isIntact(stored) {
		return m, damaged("message %d was changed", no)
	}
	if err := json.Unmarshal([]byte(stored[sumWidth:]), &m); err != nil {
		return m, fmt.Errorf("message %d: %w", no, err)
	}
	return m, nil
}

// advice ends every report of damage.
const advice = "nothing was changed; restore a backup of the Redis data, or choose another prefix to start with none"

func damaged(format string, a ...any) error {
	return fmt.Errorf("%w: %w; %s", sessions.ErrDamaged, fmt.Errorf(format, a...), advice)
}

// Messages implements [sessions.Turns]. A history with a message missing or
// changed is ErrDamaged, never a shorter one.
func (ar archive) Messages(ctx context.Context, id sessionkeys.SessionID) ([]transcript.Message, error) {
	ms, count, err := ar.history(ctx, id, 0, -1)
	if err == nil && len(ms) != count {
		err = damaged("%d of %d messages are there", len(ms), count)
	}
	return ms, rules.While(err, "read the messages of session %s", id)
}

// MessagesAfter implements [sessions.Turns].
func (ar archive) MessagesAfter(ctx context.Context, id sessionkeys.SessionID, after, limit int) ([]transcript.Message, error) {
	if limit <= 0 {
		return nil, nil
	}
	ms, count, err := ar.history(ctx, id, after, after+limit-1)
	if errors.Is(err, sessions.ErrNotFound) {
		return nil, nil
	}
	if want := min(limit, max(0, count-after)); err == nil && len(ms) != want {
		err = damaged("%d of the %d messages behind number %d are there", len(ms), want, after)
	}
	return ms, rules.While(err, "read the messages of session %s", id)
}

// historyReads read how many messages a session has, and those from first to last.
func (ks keyspace) historyReads(id sessionkeys.SessionID, first, last int) []read {
	return []read{
		newRead("HGET", ks.key("sess:"+string(id)), "messages"),
		newRead("LRANGE", ks.key("msgs:"+string(id)), strconv.Itoa(first), strconv.Itoa(last)),
	}
}

// history is the messages from first to last, counted from 0, and how many the
// session has.
func (ar archive) history(ctx context.Context, id sessionkeys.SessionID, first, last int) ([]transcript.Message, int, error) {
	a, err := ar.query(ctx, ar.historyReads(id, first, last)...)
	if err != nil {
		return nil, 0, err
	}
	if a.at(0) == nil {
		return nil, 0, sessions.ErrNotFound
	}
	count, err := a.int(0)
	if err != nil {
		return nil, 0, err
	}
	stored := a.list(1)
	ms := make([]transcript.Message, len(stored))
	for i := range stored {
		if ms[i], err = readMessage(stored.text(i), first+i+1); err != nil {
			return nil, 0, err
		}
	}
	return ms, int(count), nil
}
