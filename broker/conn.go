package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"parley/wake"
)

// conn is a connection to the engine, and what every part of the log does with it:
// repeat until the engine answers, store a message, read from a stream.
type conn struct {
	o       Options
	maxBody int
	nc      *nats.Conn
	js      jetstream.JetStream

	done chan struct{} // closed by Close
	kick wake.Signal   // an operation had to be repeated: look now

	link  connState
	stuck stuckStreams // streams that did not confirm lately
}

// MaxBody returns how many bytes a body may have.
func (b *conn) MaxBody() int { return b.maxBody }

func (b *conn) isClosed() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// untilClosed returns ctx, ended also by Close.
func (b *conn) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-b.done:
			cancel(ErrClosed)
		case <-stop:
		}
	})
	return ctx, func() {
		close(stop)
		cancel(nil)
		wg.Wait()
	}
}

// store publishes until there is a clear answer.
func (b *conn) store(ctx context.Context, what, stream, subject, id string, data []byte, header nats.Header) (seq uint64, err error) {
	err = b.retry(ctx, what, func(ctx context.Context) error {
		m := &nats.Msg{Subject: subject, Data: data, Header: nats.Header{}}
		maps.Copy(m.Header, header)
		opts := []jetstream.PublishOpt{jetstream.WithExpectStream(stream), jetstream.WithRetryAttempts(0)}
		if id != "" {
			opts = append(opts, jetstream.WithMsgID(id))
		}
		ack, err := b.js.PublishMsg(ctx, m, opts...)
		if err != nil {
			err = translateError(err)
			b.stuck.note(stream, isTransient(err))
			return err
		}
		b.stuck.note(stream, false)
		seq = ack.Sequence
		return nil
	})
	return seq, err
}

// readStream scans any stream, by a consumer that exists only meanwhile. In a
// cluster the server that holds the consumer may be a moment behind the leader.
func (b *conn) readStream(ctx context.Context, what, stream string, cfg jetstream.ConsumerConfig, yield func(m jetstream.Msg, meta *jetstream.MsgMetadata) bool) error {
	cfg.AckPolicy = jetstream.AckNonePolicy
	cfg.MemoryStorage = true
	cfg.InactiveThreshold = time.Minute
	cfg.Replicas = 1
	var cons jetstream.Consumer
	err := b.retry(ctx, what, func(ctx context.Context) (err error) {
		cons, err = b.js.CreateConsumer(ctx, stream, cfg)
		return err
	})
	if err != nil {
		return err
	}
	info := cons.CachedInfo()
	defer func() {
		// Best effort: it goes away by itself.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTimeout)
		defer cancel()
		_ = b.js.DeleteConsumer(ctx, stream, info.Name)
	}()
	next := uint64(1)
	patience := b.o.Timeout / stalePause // of requests that nobody took
	for left := info.NumPending; left > 0; {
		batch, err := cons.FetchNoWait(int(min(left, scanBatch)))
		if err != nil {
			return fmt.Errorf("%s: %w: %w", what, ErrUnavailable, err)
		}
		got := 0
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			if meta.Sequence.Consumer != next {
				return fmt.Errorf("%s: %w: a part of the answer was lost", what, ErrUnavailable)
			}
			next++
			got++
			left = min(left-1, meta.NumPending)
			if !yield(m, meta) {
				return nil
			}
			if left == 0 {
				return nil
			}
		}
		if got == 0 && errors.Is(batch.Error(), nats.ErrNoResponders) && patience > 0 {
			// In a cluster its server may not listen for a new consumer yet.
			patience--
			if !sleep(ctx, b.done, stalePause) {
				return fmt.Errorf("%s: %w", what, context.Cause(ctx))
			}
			continue
		}
		if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%s: %w: %w", what, ErrUnavailable, err)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
		if got == 0 {
			return fmt.Errorf("%s: %w: the answer stopped", what, ErrUnavailable)
		}
	}
	return nil
}

type leaderRequest struct {
	Seq     uint64 `json:"seq,omitempty"`
	NextFor string `json:"next_by_subj,omitempty"`
	LastFor string `json:"last_by_subj,omitempty"`
}

// askLeaderOf reads one message where nothing can be stale. The client library
// never does for a stream that any server may answer for.
func (b *conn) askLeaderOf(ctx context.Context, stream string, r leaderRequest) (*jetstream.RawStreamMsg, error) {
	request, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("ask the leader: %w", err)
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message *struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Header  []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	err = b.retry(ctx, "ask the leader", func(ctx context.Context) error {
		m, err := b.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, request)
		if err != nil {
			return err
		}
		answer.Error, answer.Message = nil, nil
		if err := json.Unmarshal(m.Data, &answer); err != nil {
			return jetstream.ErrInvalidJSAck
		}
		if answer.Error != nil {
			if answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
				return ErrNone
			}
			return answer.Error
		}
		if answer.Message == nil {
			return jetstream.ErrInvalidJSAck
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	m := answer.Message
	raw := &jetstream.RawStreamMsg{Subject: m.Subject, Sequence: m.Seq, Data: m.Data, Time: m.Time}
	if len(m.Header) > 0 {
		if raw.Header, err = nats.DecodeHeadersMsg(m.Header); err != nil {
			return nil, fmt.Errorf("ask the leader: %w", err)
		}
	}
	return raw, nil
}
