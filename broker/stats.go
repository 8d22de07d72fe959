package broker

import (
	"context"
	"errors"
)

// Stats are the numbers of one moment; those of the engine may be a few
// milliseconds behind. Counters count from Open.
type Stats struct {
	Stream   string // the name of the log's stream, always the same
	Consumer string // and of what hands its messages out

	Pending      uint64 // messages that were delivered to nobody yet
	AckPending   int    // delivered, not confirmed
	Redelivered  int    // of those, delivered more than once
	Messages     uint64 // in the log
	Bytes        uint64 // of the log
	MaxBytes     int64  // what it may hold, 0 for any
	DeadLetters  uint64 // waiting for people
	DeadBytes    uint64 // of dead letters
	DeadMaxBytes int64  // what they may have, 0 for any
	DeadFull     bool   // the last that must be kept found no room
	DeadDropped  uint64 // counter: dead letters that gave way to others
	Redeliveries uint64 // counter: deliveries to this process that were not the first
	SignalDrops  uint64 // counter: signals dropped because a listener was slow
	Reopened     uint64 // counter: times the server in this process was reopened
}

// Stats asks the engine. The counters are filled also beside an error.
func (b *Broker) Stats(ctx context.Context) (Stats, error) {
	s := Stats{
		Stream: streamInbound, Consumer: consumerDispatch,
		Redeliveries: b.redeliveries.Load(),
		SignalDrops:  b.signalDrops.Load(),
		Reopened:     b.reopened.Load(),
		DeadFull:     b.deadFull.Load(),
		DeadDropped:  b.deadDropped.Load(),
	}
	err := b.retry(ctx, "read the log's numbers", func(ctx context.Context) error {
		cons, err := b.js.Consumer(ctx, streamInbound, consumerDispatch)
		if err != nil {
			return err
		}
		log, err1 := b.inbound.Info(ctx)
		dead, err2 := b.dead.Info(ctx)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		info := cons.CachedInfo()
		s.Pending, s.AckPending, s.Redelivered = info.NumPending, info.NumAckPending, info.NumRedelivered
		s.Messages, s.Bytes, s.MaxBytes = log.State.Msgs, log.State.Bytes, max(log.Config.MaxBytes, 0)
		s.DeadLetters, s.DeadBytes, s.DeadMaxBytes = dead.State.Msgs, dead.State.Bytes, max(dead.Config.MaxBytes, 0)
		return nil
	})
	return s, err
}
