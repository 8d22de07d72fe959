package broker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A lease is a key of a JetStream key-value bucket that forgets it by itself.
// It is renewed by a plain publish with a condition and a time to live: Update
// of a key-value bucket keeps no time to live, and a lease renewed by it would
// never end. The place of the first message of a tenure is its fencing token.

const (
	headerOperation = "KV-Operation"       // of a deleted key
	headerMarker    = "Nats-Marker-Reason" // left where a key was forgotten
)

// errTaken: the lease is not as it was when it was looked at.
var errTaken = errors.New("lease changed by another process")

// lease is one caller's view of one.
type lease struct {
	b      *conn
	name   string
	ttl    time.Duration
	holder string // who holds it, new for each caller

	token   uint64    // of this tenure
	rev     uint64    // of the last renewal
	renewed time.Time // before that one was sent
}

// leaseValue is what stands under the key, for us and for people.
type leaseValue struct {
	Holder string    `json:"holder"` // a nonce
	Name   string    `json:"name"`   // of the process, for people
	Since  time.Time `json:"since"`
}

func leaseTopic(name string) string { return "lease." + name }

func newLease(b *conn, name string, ttl time.Duration) *lease {
	return &lease{b: b, name: name, ttl: ttl, holder: rand.Text()}
}

func (l *lease) subject() string { return prefixLease + l.name }

// deadline returns when the holder stops: before the servers can give it to others,
// who count from when they stored what was sent after renewed.
func (l *lease) deadline() time.Time { return l.renewed.Add(l.ttl - l.ttl/leaseMargin) }

// tryAcquire takes the lease if it is free, or if it is this caller's own: that of a
// tenure that it lost but no other took, or of an attempt whose answer was lost.
// by: who holds it otherwise.
func (l *lease) tryAcquire(ctx context.Context) (got bool, by string, err error) {
	rev, value, err := l.fetch(ctx)
	if err != nil {
		return false, "", err
	}
	if value.Holder != "" && value.Holder != l.holder {
		return false, value.Name, nil
	}
	switch err := l.write(ctx, rev); {
	case errors.Is(err, errTaken):
		return false, "", nil
	case err != nil:
		return false, "", err
	}
	l.token = l.rev
	return true, "", nil
}

// fetch asks the leader for the key. An empty value: the lease is free.
func (l *lease) fetch(ctx context.Context) (rev uint64, v leaseValue, err error) {
	m, err := l.b.askLeaderOf(ctx, streamLeases, leaderRequest{LastFor: l.subject()})
	if errors.Is(err, ErrNone) {
		return 0, leaseValue{}, nil
	}
	if err != nil {
		return 0, leaseValue{}, fmt.Errorf("look at the lease %s: %w", l.name, err)
	}
	if m.Header.Get(headerOperation) != "" || m.Header.Get(headerMarker) != "" {
		return m.Sequence, leaseValue{}, nil
	}
	if err := json.Unmarshal(m.Data, &v); err != nil || v.Holder == "" {
		v = leaseValue{Holder: "?", Name: "somebody else's program"} // it ends with its time to live
	}
	return m.Sequence, v, nil
}

// write writes the lease over rev, for ttl from now.
func (l *lease) write(ctx context.Context, rev uint64) error {
	value, err := json.Marshal(leaseValue{Holder: l.holder, Name: l.b.o.Name, Since: l.b.o.Now()})
	if err != nil {
		return fmt.Errorf("write the lease %s: %w", l.name, err)
	}
	return l.b.retry(ctx, "write the lease "+l.name, func(ctx context.Context) error {
		sent := time.Now()
		ack, err := l.b.js.PublishMsg(ctx, &nats.Msg{Subject: l.subject(), Data: value},
			jetstream.WithRetryAttempts(0), jetstream.WithExpectStream(streamLeases),
			jetstream.WithExpectLastSequencePerSubject(rev), jetstream.WithMsgTTL(l.ttl))
		if err != nil {
			return leaseError(err)
		}
		l.rev, l.renewed = ack.Sequence, sent
		return nil
	})
}

func leaseError(err error) error {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		if api.ErrorCode == errCodeWrongLast || api.ErrorCode == errCodeWrongLastConstant {
			return errTaken
		}
	}
	return err
}

const (
	errCodeWrongLast         = 10071
	errCodeWrongLastConstant = 10164
)

// keep renews the lease until ctx ends, and returns true; or false when it is
// lost: another process has it, or it was not renewed in time.
func (l *lease) keep(ctx context.Context) bool {
	pause := cmp.Or(l.b.o.renewal, l.ttl/leaseRenewals)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return true
		}
		bounded, cancel := context.WithDeadline(ctx, l.deadline())
		err := l.renew(bounded)
		late := bounded.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return true
		case errors.Is(err, errTaken), late:
			l.b.o.Log.Error("lease expired without renewal", "lease", l.name, "error", err)
			return false
		case err != nil:
			l.b.o.Log.Warn("lease renewal failed, retrying", "lease", l.name, "error", err)
			tick.Reset(pause / 4)
		default:
			tick.Reset(pause)
		}
	}
}

// renew writes the lease again. Where an earlier attempt was stored whose answer
// was lost, it finds that and goes on from there.
func (l *lease) renew(ctx context.Context) error {
	err := l.write(ctx, l.rev)
	if !errors.Is(err, errTaken) {
		return err
	}
	rev, value, err := l.fetch(ctx)
	if err != nil {
		return err
	}
	if value.Holder != l.holder {
		return errTaken
	}
	return l.write(ctx, rev)
}

// release gives the lease up, so that another may have it at once. When that does
// not succeed it ends by itself.
func (l *lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTimeout)
	defer cancel()
	err := l.remove(ctx)
	if errors.Is(err, errTaken) { // by the last renewal, whose answer nobody waited for
		if rev, value, lookErr := l.fetch(ctx); lookErr == nil && value.Holder == l.holder {
			l.rev = rev
			err = l.remove(ctx)
		}
	}
	if err == nil {
		err = l.b.nc.Publish(prefixSignal+leaseTopic(l.name), nil) // where it is also asked who waits
	}
	if err != nil && !l.b.isClosed() {
		l.b.o.Log.Warn("lease release failed, the lease will expire", "lease", l.name, "error", err)
	}
}

// remove writes the mark of a deleted key, which is forgotten by itself.
func (l *lease) remove(ctx context.Context) error {
	return l.b.retry(ctx, "free the lease "+l.name, func(ctx context.Context) error {
		_, err := l.b.js.PublishMsg(ctx, &nats.Msg{Subject: l.subject(), Header: nats.Header{headerOperation: []string{"DEL"}}},
			jetstream.WithRetryAttempts(0), jetstream.WithExpectLastSequencePerSubject(l.rev), jetstream.WithMsgTTL(l.ttl))
		if err != nil {
			return leaseError(err)
		}
		return nil
	})
}
