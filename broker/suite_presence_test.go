package broker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// A process is seen for as long as it attends. One that is subscribed and does not answer, as
// one that is stopped, is never reported as gone.
func testPresence(t *testing.T, open opener) {
	b := open(t)
	// A server of the cluster may not know yet that the subscriber at another server has left: it
	// sends the request there, and no answer comes. Then the test asks again.
	ask := func(name string) (there bool, err error) {
		for again := true; again; again = errors.Is(err, context.DeadlineExceeded) && t.Context().Err() == nil {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			there, err = b.IsAttended(ctx, name)
			cancel()
		}
		return there, err
	}
	if there, err := ask("worker.a"); there || err != nil {
		t.Errorf("seen before it came: %v, %v", there, err)
	}
	stop := background(t, func(ctx context.Context) error { return b.Attend(ctx, "worker.a") })
	for {
		there, err := ask("worker.a")
		if err != nil {
			t.Fatal(err)
		}
		if there {
			break
		}
	}
	if there, err := ask("worker.b"); there || err != nil {
		t.Errorf("another is seen: %v, %v", there, err)
	}
	era, connected := b.Era(), b.nc.StatusChanged(nats.CONNECTED)
	if err := b.nc.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	<-connected
	if b.Era() == era {
		t.Error("a connection that was lost begins no other era")
	}
	for there, err := ask("worker.a"); !there; there, err = ask("worker.a") {
		if err != nil && !isTransient(err) {
			t.Fatal(err)
		}
	}
	stop()
	if there, err := ask("worker.a"); there || err != nil {
		t.Errorf("seen after it left: %v, %v", there, err)
	}
	if _, err := b.nc.Subscribe(prefixSignal+presenceTopic("stopped"), func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if there, err := b.IsAttended(ctx, "stopped"); there || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("of one that does not answer: %v, %v", there, err)
	}
	for _, name := range []string{"", "a.>", "*", "A"} {
		if _, err := b.IsAttended(t.Context(), name); err == nil {
			t.Errorf("asked for %q", name)
		}
		if err := b.Attend(t.Context(), name); err == nil {
			t.Errorf("attended as %q", name)
		}
	}
}
