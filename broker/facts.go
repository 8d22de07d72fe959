package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Fact is something that a store which may forget its last writes must not
// forget. What it means is the store's business.
type Fact struct {
	ID   string
	Body []byte
	Seq  uint64    // place among the facts: from 1, one after another, but where files were damaged
	At   time.Time // when it was stored
}

// factLog is the stream of facts.
type factLog struct {
	*conn
	facts jetstream.Stream
}

// AppendFact stores a fact behind all others and returns its place. Nil means
// stored, as durably as an envelope, on Options.Replicas servers. The same id
// again within 10 minutes stores nothing and returns the first one's place.
// Facts that one caller appends one after the other keep that order. Errors and
// repeating are those of Publish; a body may be as large as an envelope's.
func (b *factLog) AppendFact(ctx context.Context, id string, body []byte) (seq uint64, err error) {
	switch {
	case id == "":
		return 0, errors.New("append a fact: it has no id")
	case len(body) > b.maxBody:
		return 0, fmt.Errorf("append a fact: %w: %d bytes, %d are taken", ErrTooLarge, len(body), b.maxBody)
	case len(id) > maxMeta:
		return 0, fmt.Errorf("append a fact: %w: an id of %d bytes", ErrTooLarge, len(id))
	}
	return b.store(ctx, "append a fact", streamFacts, subjectFacts, messageID("", id), encodeFrame(body, id), nil)
}

// Facts calls yield with each fact above place after, in their order, until it
// says false; and ends, with nil, after the last that was confirmed before it
// was called. What yield gets is its own. ErrUnavailable when the engine went
// away between: go on from the last place that came.
func (b *factLog) Facts(ctx context.Context, after uint64, yield func(Fact) bool) error {
	last, err := b.LastFact(ctx)
	if err != nil {
		return err
	}
	var failed error
	for after < last && failed == nil {
		begin := after
		cfg := jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1}
		stopped := false
		err := b.readStream(ctx, "read facts", streamFacts, cfg, func(m jetstream.Msg, meta *jetstream.MsgMetadata) bool {
			f := Fact{Seq: meta.Sequence.Stream, At: meta.Timestamp}
			if f.Body, failed = decodeFrame(m.Data(), &f.ID); failed != nil {
				failed = fmt.Errorf("read facts: place %d: %w", f.Seq, failed)
				return false
			}
			after = f.Seq
			stopped = !yield(f)
			return !stopped
		})
		if err != nil || stopped {
			return err
		}
		// The server that was asked had not heard of the last ones yet.
		if after == begin && !sleep(ctx, b.done, stalePause) {
			return fmt.Errorf("read facts: %w", context.Cause(ctx))
		}
	}
	return failed
}

// LastFact returns the place of the newest fact, 0 when there was none ever. The
// leader answers.
func (b *factLog) LastFact(ctx context.Context) (last uint64, err error) {
	err = b.retry(ctx, "ask for the last fact", func(ctx context.Context) error {
		info, err := b.facts.Info(ctx)
		if err != nil {
			return err
		}
		last = info.State.LastSeq
		return nil
	})
	return last, err
}

// PruneFacts deletes the facts up to place applied that are older than before:
// call it with what every copy of the store has applied and will not lose again.
// The newest fact always stays. It returns how many were deleted, and may be
// called again after an error.
func (b *factLog) PruneFacts(ctx context.Context, before time.Time, applied uint64) (int, error) {
	newest, err := b.LastFact(ctx)
	if err != nil {
		return 0, fmt.Errorf("prune facts: %w", err)
	}
	var upTo uint64
	count := 0
	cfg := jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy, HeadersOnly: true}
	err = b.readStream(ctx, "prune facts", streamFacts, cfg, func(_ jetstream.Msg, meta *jetstream.MsgMetadata) bool {
		seq := meta.Sequence.Stream
		if seq >= newest || seq > applied || !meta.Timestamp.Before(before) {
			return false
		}
		upTo, count = seq, count+1
		return true
	})
	if err != nil || count == 0 {
		return 0, err
	}
	err = b.retry(ctx, "prune facts", func(ctx context.Context) error {
		return b.facts.Purge(ctx, jetstream.WithPurgeSequence(upTo+1))
	})
	if err != nil {
		return 0, err
	}
	return count, nil
}
