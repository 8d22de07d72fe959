package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"parley/wake"
)

const (
	leaseLook     = 500 * time.Millisecond // between two looks at a lease that another holds
	leaseRenewals = 5                      // in one ttl
	leaseMargin   = 5                      // the holder stops a fifth of the ttl before others may begin
	leaseMost     = time.Hour
)

// ErrLeaseLost ends the context of a holder that could not renew its lease.
var ErrLeaseLost = errors.New("lease lost")

// leases are what only one process may have at a time.
type leases struct{ *conn }

// Hold waits until this process has the lease of that name, which only one in
// the world can have at a time, and runs f. f's context ends, with ErrLeaseLost
// as its cause, when the lease can no longer be relied on; f must return soon
// after that. Then Hold tries to get the lease again, and so on until ctx ends;
// f's context ends with it, Hold waits for f, gives the lease free at once, and
// returns ctx's error. When f returns although it still has the lease, Hold
// gives it free and returns what f did.
//
// rev is the fencing token: higher than that of everybody who held the lease
// before. ttl, of whole seconds and at least 2, is how long the lease of a
// holder that died is kept from the others. It is renewed five times in that;
// a holder that could not renew it stops by its own clock when a fifth of ttl
// is left. This relies on clocks: those of servers and holders run about equally
// fast, and those of the servers differ by less than that fifth of ttl, since the
// one that leads them may change. A process that was frozen may still act
// for a moment after it wakes: what must not happen twice has to check rev.
//
// name is made of a-z, 0-9, _, - and dots. Several may hold leases through one
// broker; they exclude each other as other processes do.
func (b leases) Hold(ctx context.Context, name string, ttl time.Duration, f func(ctx context.Context, rev uint64) error) error {
	if !isTopic(name) {
		return errors.New("hold a lease: lease name is not [a-z0-9_.-]+")
	}
	if ttl < 2*time.Second || ttl > leaseMost || ttl%time.Second != 0 {
		return fmt.Errorf("hold the lease %s: a ttl of %s, want whole seconds from 2 to 3600", name, ttl)
	}
	ctx, cancel := b.untilClosed(ctx)
	defer cancel()
	l := newLease(b.conn, name, ttl)
	for {
		if err := l.acquire(ctx); err != nil {
			return err
		}
		ended, err := l.hold(ctx, f)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("hold the lease %s: %w", name, context.Cause(ctx))
		case ended:
			return err
		}
		b.o.Log.Warn("lease lost, reacquiring", "lease", name)
	}
}

// IsWanted reports whether anybody waits in Hold for the lease at this moment. Who
// holds it and could go on for a while, but need not, asks before it ends.
func (b leases) IsWanted(ctx context.Context, name string) (bool, error) {
	if !isTopic(name) {
		return false, errors.New("ask who waits for a lease: lease name is not [a-z0-9_.-]+")
	}
	wanted := false
	err := b.retry(ctx, "ask who waits for the lease "+name, func(ctx context.Context) error {
		_, err := b.nc.RequestWithContext(ctx, prefixSignal+leaseTopic(name), nil)
		wanted = err == nil
		if errors.Is(err, nats.ErrNoResponders) {
			return nil
		}
		return err
	})
	return wanted, err
}

// acquire waits for the lease.
func (l *lease) acquire(ctx context.Context) error {
	freed := wake.New()
	var waiting *nats.Subscription
	defer func() {
		if waiting != nil {
			_ = waiting.Unsubscribe()
		}
	}()
	told := false
	for ctx.Err() == nil {
		got, by, err := l.tryAcquire(ctx)
		if got {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			l.b.o.Log.Warn("lease lookup failed, retrying", "lease", l.name, "error", err)
		}
		if err == nil && !told {
			told = true
			l.b.o.Log.Info("lease held by another process, waiting", "lease", l.name, "holder", by)
		}
		if waiting == nil {
			if waiting, err = l.listen(freed); err == nil {
				continue // it may have been freed before
			}
		}
		t := time.NewTimer(leaseLook)
		select {
		case <-t.C:
		case <-freed:
		case <-ctx.Done():
		}
		t.Stop()
	}
	return fmt.Errorf("wait for the lease %s: %w", l.name, context.Cause(ctx))
}

// listen hears when the lease is freed, and answers that it is waited for. No
// more than time is lost when it hears nothing.
func (l *lease) listen(freed wake.Signal) (*nats.Subscription, error) {
	sub, err := l.b.nc.Subscribe(prefixSignal+leaseTopic(l.name), func(m *nats.Msg) {
		if m.Reply != "" {
			_ = m.Respond(nil)
			return
		}
		freed.Send()
	})
	if err != nil {
		return nil, fmt.Errorf("listen for the lease %s: %w", l.name, err)
	}
	return sub, nil
}

// hold runs f while the lease is renewed. ended: f returned by itself.
func (l *lease) hold(ctx context.Context, f func(ctx context.Context, rev uint64) error) (ended bool, err error) {
	working, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	// The lease is kept until f has returned, also while it does so.
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var lost bool
	var keeper sync.WaitGroup
	keeper.Go(func() {
		if !l.keep(renewing) {
			lost = true
			lose(ErrLeaseLost)
		}
	})
	err = f(working, l.token)
	ended = working.Err() == nil
	stop()
	keeper.Wait()
	if !lost {
		l.release(ctx)
	}
	return ended, err
}
