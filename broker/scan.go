package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const scanBatch = 2000

// scan reads places of the log, not bodies, in rising order. It ends after what
// was there at the beginning, at an error, or when yield says false.
func (b *inboundLog) scan(ctx context.Context, what string, cfg jetstream.ConsumerConfig, yield func(subject string, meta *jetstream.MsgMetadata) bool) error {
	cfg.HeadersOnly = true
	return b.readStream(ctx, what, streamInbound, cfg, func(m jetstream.Msg, meta *jetstream.MsgMetadata) bool {
		return yield(m.Subject(), meta)
	})
}

// LastAll calls yield with each mailbox that has messages and the place of its
// newest, in rising order of places, until yield says false. What was confirmed
// before the call is in it, whichever server answers. A mailbox that gets a message
// meanwhile may come again, with the higher place. ErrUnavailable when the engine
// went away between: begin again.
func (b *inboundLog) LastAll(ctx context.Context, yield func(token string, seq uint64) bool) error {
	const what = "read the mailboxes' last places"
	newest, err := b.askLeader(ctx, leaderRequest{LastFor: subjectsInbound})
	if errors.Is(err, ErrNone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	cfg := jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubject: subjectsInbound}
	for seen := uint64(0); seen < newest.Sequence; {
		before, stopped := seen, false
		err := b.scan(ctx, what, cfg, func(subject string, meta *jetstream.MsgMetadata) bool {
			if meta.Sequence.Stream <= before {
				return true
			}
			seen = meta.Sequence.Stream
			if token, ok := tokenOf(subject); ok {
				stopped = !yield(token, seen)
			}
			return !stopped
		})
		if err != nil || stopped {
			return err
		}
		// The server that was asked had not heard of the last ones yet.
		if seen < newest.Sequence && !sleep(ctx, b.done, stalePause) {
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
	return nil
}

// Prune deletes the messages that are older than before and whose place is not
// above read(token): what was read, and nothing else. For a mailbox that it does
// not know, read says 0. The log's newest message always stays. It returns how
// many were deleted, and may be called again after an error. In a cluster, what the
// server that was asked has not heard of yet is left to the next call.
func (b *inboundLog) Prune(ctx context.Context, before time.Time, read func(token string) uint64) (int, error) {
	_, newest, err := b.Generation(ctx)
	if err != nil {
		return 0, fmt.Errorf("prune the log: %w", err)
	}
	type cut struct {
		upTo  uint64
		count int
	}
	cuts := map[string]cut{} // by subject
	reads := map[string]uint64{}
	cfg := jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy, FilterSubject: subjectsInbound}
	err = b.scan(ctx, "prune the log", cfg, func(subject string, meta *jetstream.MsgMetadata) bool {
		seq := meta.Sequence.Stream
		if seq >= newest || !meta.Timestamp.Before(before) {
			return false
		}
		if subject != subjectFiller {
			token, ok := tokenOf(subject)
			if !ok {
				return true
			}
			upTo, known := reads[token]
			if !known {
				upTo = read(token)
				reads[token] = upTo
			}
			if seq > upTo {
				return true
			}
		}
		c := cuts[subject]
		cuts[subject] = cut{seq, c.count + 1}
		return true
	})
	if err != nil {
		return 0, err
	}
	pruned := 0
	for subject, c := range cuts {
		err := b.retry(ctx, "prune the log", func(ctx context.Context) error {
			return b.inbound.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(c.upTo+1))
		})
		if err != nil {
			return pruned, err
		}
		pruned += c.count
	}
	return pruned, nil
}

// Envelopes calls yield with what came into the mailboxes since, oldest first, until yield says
// false. What is no envelope is left out. In a cluster the newest may be missing.
func (b *inboundLog) Envelopes(ctx context.Context, since time.Time, yield func(Envelope) bool) error {
	cfg := jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &since, FilterSubject: subjectsInbound}
	return b.readStream(ctx, "read what came in", streamInbound, cfg, func(m jetstream.Msg, meta *jetstream.MsgMetadata) bool {
		e, err := decodeEnvelope(m.Subject(), m.Data())
		if err != nil {
			return true
		}
		e.Seq, e.At = meta.Sequence.Stream, meta.Timestamp
		return yield(e)
	})
}
