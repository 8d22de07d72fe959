package broker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

var errEnough = errors.New("enough")

// holding is a tenure that a test watches.
type holding struct {
	rev  uint64
	ctx  context.Context
	done chan error // what f returns
}

// holder runs Hold and reports each tenure; stop ends it in order.
func holder(t *testing.T, b *Broker, name string, ttl time.Duration) (tenures <-chan holding, ended <-chan error, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c, e := make(chan holding, 10), make(chan error, 1)
	go func() {
		defer close(e)
		e <- b.Hold(ctx, name, ttl, func(ctx context.Context, rev uint64) error {
			h := holding{rev: rev, ctx: ctx, done: make(chan error)}
			c <- h
			select {
			case err := <-h.done:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	stop = func() {
		cancel()
		if err := receive(t, e); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("hold ended with %v", err)
		}
	}
	t.Cleanup(stop)
	return c, e, stop
}

func testHold(t *testing.T, open opener) {
	b := open(t)
	// A lease of an hour: nobody gets it by waiting for its end.
	first, _, stop := holder(t, b, "chan.tg_1", time.Hour)
	a := receive(t, first)
	other, _, _ := holder(t, b, "chan.other", time.Hour)
	receive(t, other) // another lease is another's
	wanted := func() bool {
		t.Helper()
		yes, err := b.IsWanted(t.Context(), "chan.tg_1")
		if err != nil {
			t.Fatal(err)
		}
		return yes
	}
	if wanted() {
		t.Error("somebody waits for a lease that one alone wants")
	}
	second, ended, _ := holder(t, b, "chan.tg_1", time.Hour)
	for end := time.Now().Add(time.Minute); !wanted(); {
		if time.Now().After(end) {
			t.Fatal("nobody waits for the lease")
		}
	}
	if got, by, err := newLease(b.conn, "chan.tg_1", time.Hour).tryAcquire(t.Context()); got || by != "parley" || err != nil {
		t.Errorf("the lease was given twice: %v, held by %q, %v", got, by, err)
	}
	select {
	case h := <-second:
		t.Fatalf("two hold the lease, under %d and %d", a.rev, h.rev)
	default:
	}
	stop()
	h := receive(t, second)
	if wanted() {
		t.Error("somebody waits for the lease that it got")
	}
	if h.rev <= a.rev || context.Cause(a.ctx) == nil {
		t.Errorf("tenure %d after %d, whose context says %v", h.rev, a.rev, context.Cause(a.ctx))
	}
	third, _, _ := holder(t, b, "chan.tg_1", time.Hour)
	h.done <- errEnough // its work is done
	if err := receive(t, ended); !errors.Is(err, errEnough) {
		t.Errorf("hold ended with %v", err)
	}
	if next := receive(t, third); next.rev <= h.rev {
		t.Errorf("tenure %d after %d", next.rev, h.rev)
	}
}

func testHoldRefused(t *testing.T, open opener) {
	b := open(t)
	for _, c := range []struct {
		name string
		ttl  time.Duration
	}{{"", time.Hour}, {"a.>", time.Hour}, {"*", time.Hour}, {"A", time.Hour}, {"a", time.Second}, {"a", 2500 * time.Millisecond}, {"a", 2 * time.Hour}} {
		err := b.Hold(t.Context(), c.name, c.ttl, func(context.Context, uint64) error { t.Error("held"); return nil })
		if err == nil {
			t.Errorf("the lease %q for %s was taken", c.name, c.ttl)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Hold(ctx, "a", time.Hour, func(context.Context, uint64) error { t.Error("held"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A lease that is renewed lives on; one that another took is noticed, and its
// holder's work ended; and then it is waited for again. All of them are of an
// hour: none ends by itself, however slowly this goes.
func testHoldLost(t *testing.T, open opener) {
	b := open(t, func(o *Options) { o.renewal = 20 * time.Millisecond })
	tenures, _, _ := holder(t, b, "a", time.Hour)
	h := receive(t, tenures)
	first, _, err := newLease(b.conn, "a", time.Hour).fetch(t.Context())
	if err != nil || first != h.rev {
		t.Fatalf("the token is %d, the key's revision %d, %v", h.rev, first, err)
	}
	// An operator, or a program that does not keep the rules.
	thief := newLease(b.conn, "a", time.Hour)
	for {
		rev, _, err := thief.fetch(t.Context())
		if err == nil && rev == first {
			continue // not renewed yet
		}
		if err == nil {
			err = thief.write(t.Context(), rev)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, errTaken) {
			t.Fatal(err)
		}
	}
	select {
	case <-h.ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("nobody noticed")
	}
	if err := context.Cause(h.ctx); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("the context ended with %v", err)
	}
	thief.release(t.Context())
	if again := receive(t, tenures); again.rev <= thief.rev {
		t.Errorf("held again under %d, the thief had %d", again.rev, thief.rev)
	}
}

// What the server keeps of a lease that nobody renews ends by itself, also
// after it was renewed: an update of a key-value bucket would make it immortal.
func testHoldEnds(t *testing.T, open opener) {
	b := open(t)
	l := newLease(b.conn, "a", time.Hour)
	if got, _, err := l.tryAcquire(t.Context()); !got || err != nil {
		t.Fatal(got, err)
	}
	if err := l.renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := b.askLeaderOf(t.Context(), streamLeases, leaderRequest{LastFor: l.subject()})
	if err != nil || m.Header.Get(jetstream.MsgTTLHeader) == "" {
		t.Errorf("the renewed lease has no time to live: %v, %v", m, err)
	}
	l.ttl = time.Second // the last renewal is for so long, the least that servers know
	if err := l.renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	tenures, _, _ := holder(t, b, "a", time.Hour)
	if h := receive(t, tenures); h.rev <= l.rev {
		t.Errorf("tenure %d after %d", h.rev, l.rev)
	}
	if err := l.renew(t.Context()); !errors.Is(err, errTaken) {
		t.Errorf("one that came back from the dead renewed: %v", err)
	}
}

// A renewal that was stored, but whose answer never came, is not the loss of
// the lease; nor is a lease that was taken so.
func testHoldAnswersLost(t *testing.T, open opener) {
	b := open(t)
	l := newLease(b.conn, "a", time.Hour)
	for range 2 {
		if got, _, err := l.tryAcquire(t.Context()); !got || err != nil {
			t.Fatal(got, err)
		}
		l.rev, l.renewed = 0, time.Time{} // it did not hear of it
	}
	if got, _, err := l.tryAcquire(t.Context()); !got || err != nil {
		t.Fatal(got, err)
	}
	before := l.rev
	if err := l.write(t.Context(), l.rev); err != nil {
		t.Fatal(err)
	}
	l.rev = before
	if err := l.renew(t.Context()); err != nil || l.rev <= before {
		t.Errorf("revision %d after %d, %v", l.rev, before, err)
	}
	if err := l.write(t.Context(), l.rev); err != nil {
		t.Fatal(err)
	}
	l.rev--
	l.release(t.Context())
	if _, v, err := l.fetch(t.Context()); err != nil || v.Holder != "" {
		t.Errorf("after it was freed it is held by %+v, %v", v, err)
	}
}
