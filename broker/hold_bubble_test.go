package broker

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// inBubbleBroker opens a broker in a bubble; end closes it.
func inBubbleBroker(t *testing.T, dir string) (b *Broker, end func()) {
	t.Helper()
	b, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return b, func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestALeaseOfTheDeadIsTakenOverWhenItEndsAndNotBefore(t *testing.T) {
	dir := t.TempDir()
	bubble(t, func(t *testing.T) {
		b, end := inBubbleBroker(t, dir)
		defer end()
		const ttl = 8 * time.Second
		for i := range 20 {
			dead := newLease(b.conn, "a", ttl)
			if got, _, err := dead.tryAcquire(t.Context()); !got || err != nil {
				t.Fatal(got, err)
			}
			began := time.Now()
			time.Sleep(time.Duration(i) * 77 * time.Millisecond)
			ctx, cancel := context.WithCancel(t.Context())
			err := b.Hold(ctx, "a", ttl, func(_ context.Context, rev uint64) error {
				if took := time.Since(began); took < ttl || took > ttl+2*time.Second {
					t.Errorf("taken over after %s", took)
				}
				if dead.deadline().After(time.Now()) {
					t.Error("the dead one might still work")
				}
				if rev <= dead.token {
					t.Errorf("token %d after %d", rev, dead.token)
				}
				return errEnough
			})
			cancel()
			if !errors.Is(err, errEnough) {
				t.Error(err)
			}
		}
	})
}

func TestAHolderWhoseServerDoesNotAnswerStopsBeforeTheLeaseEnds(t *testing.T) {
	dir := t.TempDir()
	bubble(t, func(t *testing.T) {
		b, _ := inBubbleBroker(t, dir)
		const ttl = 10 * time.Second
		ctx, cancel := context.WithCancel(t.Context())
		begun := make(chan struct{})
		stopped := make(chan time.Time, 1)
		ended := make(chan error, 1)
		go func() {
			ended <- b.Hold(ctx, "a", ttl, func(ctx context.Context, _ uint64) error {
				close(begun)
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), ErrLeaseLost) {
					t.Errorf("stopped with %v", context.Cause(ctx))
				}
				stopped <- time.Now()
				return ctx.Err()
			})
		}()
		<-begun
		time.Sleep(time.Minute) // renewed many times
		b.host.mu.Lock()
		srv := b.host.srv
		b.host.mu.Unlock()
		frozen := time.Now()
		if err := srv.DisableJetStream(); err != nil {
			t.Fatal(err)
		}
		// The last renewal was at most a fifth of the ttl before.
		if after := (<-stopped).Sub(frozen); after < ttl*3/5-time.Second || after > ttl*4/5 {
			t.Errorf("stopped %s after the server froze", after)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		_ = b.Close(context.Background()) // its log is frozen
	})
}

// Long times of leases: holders that end in order, whose work ends by itself, that
// die without a word, and that are frozen and come back. Never do two work at
// the same time, and each tenure has a higher token than all before.
func TestTwoNeverHoldALeaseAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	bubble(t, func(t *testing.T) {
		b, end := inBubbleBroker(t, dir)
		defer end()
		const ttl, callers = 8 * time.Second, 5
		enough := 40                        // tenures
		if os.Getenv("PARLEY_LONG") != "" { // make test-long
			enough = 500
		}
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		day, over := context.WithTimeout(t.Context(), 24*time.Hour)
		defer over()

		var mu sync.Mutex
		working, tenures, deaths, longest := 0, 0, 0, time.Duration(0)
		var last uint64
		idle := time.Now()
		begin := func(rev uint64) {
			mu.Lock()
			defer mu.Unlock()
			if working++; working != 1 {
				t.Errorf("%d hold the lease", working)
			}
			if rev <= last {
				t.Errorf("token %d after %d", rev, last)
			}
			last = rev
			if tenures++; tenures >= enough && deaths >= enough/8 {
				over()
			}
			longest = max(longest, time.Since(idle))
		}
		finish := func() {
			mu.Lock()
			defer mu.Unlock()
			working--
			idle = time.Now()
		}
		var group sync.WaitGroup
		for n := range callers {
			rng := rand.New(rand.NewPCG(seed, uint64(n)))
			some := func(d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }
			group.Go(func() {
				for day.Err() == nil {
					switch rng.IntN(3) {
					case 0: // its work ends, or the process ends in order
						ctx, cancel := context.WithTimeout(day, some(2*time.Minute))
						work := some(time.Minute)
						_ = b.Hold(ctx, "a", ttl, func(ctx context.Context, rev uint64) error {
							begin(rev)
							defer finish()
							sleep(ctx, b.done, work)
							return errEnough
						})
						cancel()
					case 1: // it dies without a word while it works
						l := newLease(b.conn, "a", ttl)
						if l.acquire(day) != nil {
							return
						}
						begin(l.token)
						keep, cancel := context.WithTimeout(day, some(10*time.Second))
						l.keep(keep)
						cancel()
						finish()
						mu.Lock()
						deaths++
						mu.Unlock()
					case 2: // it is cut off from the servers, and stops by its own clock
						l := newLease(b.conn, "a", ttl)
						if l.acquire(day) != nil {
							return
						}
						begin(l.token)
						sleep(day, b.done, time.Until(l.deadline()))
						finish()
						time.Sleep(some(2 * ttl))
						if err := l.renew(day); err == nil { // nobody wanted it meanwhile
							begin(l.rev)
							finish()
							l.release(day)
						}
					}
					sleep(day, b.done, some(5*time.Second))
				}
			})
		}
		group.Wait()
		synctest.Wait()
		t.Logf("%d tenures, %d deaths, longest without a holder %s", tenures, deaths, longest)
		if tenures < enough || deaths < enough/8 {
			t.Error("too little happened in a day")
		}
		if longest > ttl+7*time.Second { // up to 5 s nobody wants it
			t.Errorf("nobody had the lease for %s", longest)
		}
	})
}
