package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	deadEventTTL = 30 * 24 * time.Hour // of letters that give way
	deadSpare    = 64 << 10            // more than the server adds to a letter, and others take meanwhile
)

// deadLetters is the stream of messages that were given up.
type deadLetters struct {
	*conn
	dead        jetstream.Stream
	deadDropped atomic.Uint64
	deadFull    atomic.Bool // the last letter that must be kept found no room
}

// DeadLetter stores l for people to look at. The same ID again stores nothing,
// however late. A Body that is not JSON is kept too and read back as a JSON
// string. Where there is no room, the oldest letters with Event make it, and what
// they make none for is ErrFull. ErrTooLarge as for Publish; here id, key, texts and
// body together may be as large as an envelope.
func (b *deadLetters) DeadLetter(ctx context.Context, l DeadLetter) error {
	if l.ID == "" {
		return errors.New("store a dead letter: it has no id")
	}
	body := []byte(l.Body)
	l.Body = nil
	if l.At.IsZero() {
		l.At = b.o.Now()
	}
	meta, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("store a dead letter: %w", err)
	}
	if len(meta)+len(body) > b.maxBody+maxMeta {
		return fmt.Errorf("store a dead letter: %w: %d bytes", ErrTooLarge, len(meta)+len(body))
	}
	// A subject of its own, which takes one message: no window of time that ends.
	subject, header := prefixDead+messageID("", l.ID), nats.Header(nil)
	if l.Event {
		subject, header = prefixDeadEvent+messageID("", l.ID), nats.Header{jetstream.MsgTTLHeader: {deadEventTTL.String()}}
	}
	frame := encodeFrame(body, string(meta))
	for room := 0; ; {
		_, err = b.store(ctx, "store a dead letter", streamDead, subject, "", frame, header)
		if !errors.Is(err, ErrFull) || room > 2*len(frame)+deadSpare { // else it is not their limit that is reached, but the disk's
			break
		}
		size, merr := b.dropOldestEvent(ctx)
		if merr != nil || size == 0 {
			err = errors.Join(err, merr)
			break
		}
		room += size
	}
	if !l.Event {
		b.deadFull.Store(errors.Is(err, ErrFull))
	}
	if errors.Is(err, errStoredBefore) {
		return nil
	}
	return err
}

// dropOldestEvent deletes the oldest letter that gives way, unless another process has
// just done so, and returns its size; 0 when there is none.
func (b *deadLetters) dropOldestEvent(ctx context.Context) (size int, err error) {
	err = b.retry(ctx, "make room among the dead letters", func(ctx context.Context) error {
		m, err := b.dead.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(deadEvents))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		size = len(m.Data)
		err = b.dead.DeleteMsg(ctx, m.Sequence)
		if err == nil {
			b.deadDropped.Add(1)
		}
		if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
			return nil
		}
		return err
	})
	return size, err
}

// DeadLetters returns up to limit dead letters above place after, oldest first.
// Their Seq is the place among the dead letters, to go on from; what stood in
// the stored letter's Seq is gone. No more: an empty slice.
func (b *deadLetters) DeadLetters(ctx context.Context, after uint64, limit int) ([]DeadLetter, error) {
	var letters []DeadLetter
	for len(letters) < limit {
		var m *jetstream.RawStreamMsg
		err := b.retry(ctx, "read dead letters", func(ctx context.Context) (err error) {
			m, err = b.dead.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(">"))
			return err
		})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return letters, nil
		}
		if err != nil {
			return letters, err
		}
		after = m.Sequence
		letters = append(letters, decodeDead(m))
	}
	return letters, nil
}

func decodeDead(m *jetstream.RawStreamMsg) DeadLetter {
	var meta string
	var l DeadLetter
	body, err := decodeFrame(m.Data, &meta)
	if err == nil {
		err = json.Unmarshal([]byte(meta), &l)
	}
	if err != nil {
		l = DeadLetter{Reason: "foreign", Problem: "dead letter unreadable: " + err.Error(), At: m.Time}
		body = m.Data
	}
	l.Seq = m.Sequence
	l.Body = body
	if !json.Valid(body) {
		// Marshal of a string cannot fail.
		l.Body, _ = json.Marshal(string(body))
	}
	return l
}

// DeleteDeadLetter removes the dead letter at the place seq; its ID may then be stored
// again. It changes nothing when there is none.
func (b *deadLetters) DeleteDeadLetter(ctx context.Context, seq uint64) error {
	return b.retry(ctx, "forget a dead letter", func(ctx context.Context) error {
		_, err := b.dead.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return b.dead.DeleteMsg(ctx, seq)
	})
}
