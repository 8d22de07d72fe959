package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	attemptTimeout = 2 * time.Second
	firstPause     = 25 * time.Millisecond
	longestPause   = 500 * time.Millisecond
	closeTries     = 3
)

// ErrClosed means that the broker was closed.
var ErrClosed = errors.New("the message log is closed")

// retry runs f until it succeeds, fails for a reason that waiting does not mend,
// or the time is up; then the error is ErrUnavailable, or the context's.
func (b *conn) retry(ctx context.Context, what string, f func(ctx context.Context) error) error {
	return b.retryFor(ctx, b.o.Timeout, what, f)
}

// retryFor is like retry with a time of its own.
func (b *conn) retryFor(ctx context.Context, within time.Duration, what string, f func(ctx context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	pause := firstPause
	for {
		attempt, stop := b.link.untilDown(bounded)
		err := f(attempt)
		stop()
		switch {
		case err == nil:
			return nil
		case b.isClosed():
			return fmt.Errorf("%s: %w", what, ErrClosed)
		case ctx.Err() != nil:
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				b.kick.Send()
			}
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		case !isTransient(err) && !b.isElsewhere(err):
			return fmt.Errorf("%s: %w", what, err)
		}
		b.kick.Send()
		if !sleep(bounded, b.done, pause) {
			if b.isClosed() {
				return fmt.Errorf("%s: %w", what, ErrClosed)
			}
			if ctx.Err() != nil {
				return fmt.Errorf("%s: %w", what, context.Cause(ctx))
			}
			return fmt.Errorf("%s: %w: %w", what, ErrUnavailable, err)
		}
		pause = min(2*pause, longestPause)
	}
}

// isTransient reports whether err may be gone at the next attempt.
func isTransient(err error) bool {
	for _, e := range []error{
		nats.ErrNoResponders, nats.ErrTimeout, nats.ErrDisconnected, nats.ErrReconnectBufExceeded,
		nats.ErrConnectionReconnecting, nats.ErrConnectionClosed, nats.ErrStaleConnection,
		jetstream.ErrNoStreamResponse, jetstream.ErrInvalidJSAck, context.DeadlineExceeded, context.Canceled,
		io.ErrClosedPipe, // of the server in this process, while a message larger than the buffer was written
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	if _, ok := errors.AsType[*net.OpError](err); ok { // the same, of one at a URL
		return true
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.Code == 503 || api.ErrorCode == jetstream.JSErrCodeJetStreamNotEnabled || api.ErrorCode == errCodeInProcess || isPeerOffline(api))
}

// errCodeInProcess means that the leader of a stream has a message of the same id on its
// way to the other servers: an earlier attempt of ours, whose place it tells in a moment.
const errCodeInProcess jetstream.ErrorCode = 10158

// errCodeStore means that a server could not make the store of a stream. A cluster says
// so, too, while one of its servers still removes an earlier stream of the name.
const errCodeStore jetstream.ErrorCode = 10049

// isElsewhere reports whether err is of a server at a URL, where it may be gone at the
// next attempt, while from the server in this process it tells of its disk.
func (b *conn) isElsewhere(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && b.o.URL != "" && api.ErrorCode == errCodeStore
}

// isPeerOffline reports whether a server of the cluster is not there yet, or not at
// present: a cluster that has just begun says so of its last server, in words only.
func isPeerOffline(e *jetstream.APIError) bool {
	return e.ErrorCode == errCodeNoPeers && strings.Contains(e.Description, "peer offline")
}

// sleep waits for d and reports whether ctx and done let it.
func sleep(ctx context.Context, done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-done:
		return false
	case <-ctx.Done():
		return false
	}
}
