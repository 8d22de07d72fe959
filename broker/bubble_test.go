package broker

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server/ats"
)

// inBubble is set in the process of a test that runs in fake time.
const inBubble = "PARLEY_TEST_BUBBLE"

// bubble runs f in fake time, in a process of its own: the NATS client keeps
// timers for the whole process, and one from another bubble is fatal.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if os.Getenv(inBubble) == "" {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=10m", "-test.v")
		cmd.Env = append(os.Environ(), inBubble+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	// The server's clock for access times makes a channel when its package is
	// loaded, outside of every bubble; so it must run before the bubble begins.
	ats.Register()
	defer ats.Unregister()
	synctest.Test(t, f)
}

func TestWhatAWorkerTookAndNeverConfirmedComesAgainAfterAckWait(t *testing.T) {
	dir := t.TempDir()
	bubble(t, func(t *testing.T) {
		b, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		seq, err := b.Publish(t.Context(), envelope(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		first := make(chan time.Time, 1)
		again := make(chan time.Duration, 1)
		go func() {
			ended <- b.Consume(ctx, func(ctx context.Context, d WakeUp) error {
				if d.Tries == 1 {
					first <- time.Now()
					<-ctx.Done() // a frozen worker
					return ctx.Err()
				}
				if d.Seq != seq {
					t.Errorf("delivered %+v", d)
				}
				again <- time.Since(<-first)
				return nil
			})
		}()
		if d := <-again; d < ackWait || d > ackWait+time.Second {
			t.Errorf("came again after %v", d)
		}
		// An hour in which nothing happens delivers nothing twice.
		time.Sleep(time.Hour)
		select {
		case d := <-again:
			t.Errorf("came once more, %v after the first", d)
		default:
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestAFrozenLogIsNoticedWithinFiveSeconds(t *testing.T) {
	dir := t.TempDir()
	bubble(t, func(t *testing.T) {
		b, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Watch(ctx) }()
		synctest.Wait()
		time.Sleep(time.Minute)
		if ok, why := b.Healthy(); !ok {
			t.Fatal(why)
		}
		b.host.mu.Lock()
		srv := b.host.srv
		b.host.mu.Unlock()
		if err := srv.DisableJetStream(); err != nil { // what a full disk does
			t.Fatal(err)
		}
		began := time.Now()
		for ok, _ := b.Healthy(); ok; ok, _ = b.Healthy() {
			time.Sleep(10 * time.Millisecond)
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("noticed after %v", d)
		}
		for ok, _ := b.Healthy(); !ok; ok, _ = b.Healthy() {
			time.Sleep(10 * time.Millisecond)
		}
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("well again after %v", d)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
