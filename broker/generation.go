package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Generation names this log and says how far it reaches. Places of different
// generations have nothing to do with each other: a store that remembers places
// remembers the generation beside them.
func (b *inboundLog) Generation(ctx context.Context) (generation string, lastSeq uint64, err error) {
	err = b.retry(ctx, "ask for the log's state", func(ctx context.Context) error {
		generation, lastSeq, err = b.state(ctx)
		return err
	})
	return generation, lastSeq, err
}

func (b *inboundLog) state(ctx context.Context) (generation string, lastSeq uint64, err error) {
	info, err := b.inbound.Info(ctx)
	if err != nil {
		return "", 0, fmt.Errorf("ask for the log's state: %w", err)
	}
	return generationOf(info), info.State.LastSeq, nil
}

// generationKey is where a stream says which log it is, also after it was restored from a copy:
// the server takes the moment of the restoring for that of its making. A log that says nothing is
// named by that moment.
const generationKey = "parley.generation"

func generationOf(info *jetstream.StreamInfo) string {
	if name := info.Config.Metadata[generationKey]; name != "" {
		return name
	}
	return info.Created.UTC().Format(time.RFC3339Nano)
}

// ConfirmedThrough returns a place up to which every message of a mailbox was confirmed by
// [Broker.Deliveries], so that the worker which confirmed it had noted it durably. A few more
// may have been.
func (b *inboundLog) ConfirmedThrough(ctx context.Context) (seq uint64, err error) {
	err = b.retry(ctx, "ask what was confirmed", func(ctx context.Context) error {
		cons, err := b.js.Consumer(ctx, streamInbound, consumerDispatch)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		seq = cons.CachedInfo().AckFloor.Stream
		return nil
	})
	return seq, err
}

// Advance raises the log's last place to at least to, with messages that no
// mailbox holds. A store that knows of higher places than the log calls it
// before anything is published: otherwise the places would be given out twice,
// and new messages taken for old ones. It changes nothing when the log is
// there already.
func (b *inboundLog) Advance(ctx context.Context, to uint64) error {
	_, last, err := b.Generation(ctx)
	if err != nil {
		return err
	}
	for last < to {
		if last, err = b.store(ctx, "advance the log", streamInbound, subjectFiller, "", []byte{frameVersion}, nil); err != nil {
			return err
		}
	}
	b.noteSeq(last)
	return nil
}

// advanceOn calls Advance on a connection of its own, before anybody else has one.
func advanceOn(ctx context.Context, js jetstream.JetStream, last, to uint64) error {
	for last < to {
		ack, err := js.PublishMsg(ctx, &nats.Msg{Subject: subjectFiller, Data: []byte{frameVersion}})
		if err != nil {
			return fmt.Errorf("advance the log: %w", err)
		}
		last = ack.Sequence
	}
	return nil
}

// noteSeq remembers the highest place that was confirmed.
func (b *inboundLog) noteSeq(seq uint64) {
	for {
		have := b.lastSeq.Load()
		if seq <= have || b.lastSeq.CompareAndSwap(have, seq) {
			return
		}
	}
}
