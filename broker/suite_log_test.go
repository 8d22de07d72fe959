package broker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func testFull(t *testing.T, open opener) {
	b := open(t, func(o *Options) { o.MaxBytes = 64 << 10 })
	var stored []uint64
	for i := 0; ; i++ {
		e := envelope(1, i)
		e.Body = make([]byte, 5000)
		seq, err := b.Publish(t.Context(), e)
		if errors.Is(err, ErrFull) {
			break
		}
		if err != nil || i > 20 {
			t.Fatalf("message %d: %v", i, err)
		}
		stored = append(stored, seq)
	}
	last := stored[len(stored)-1]
	for pruned := 0; pruned < len(stored)-1; { // the newest stays
		n, err := b.Prune(t.Context(), time.Now().Add(time.Hour), func(string) uint64 { return last })
		if err != nil || pruned+n >= len(stored) {
			t.Fatalf("pruned %d and %d of %d, %v", pruned, n, len(stored), err)
		}
		pruned += n // a server that has not heard of the newest messages leaves them to the next call
	}
	if seq := publish(t, b, envelope(1, 1000)); seq != last+1 {
		t.Errorf("place %d after %d", seq, last)
	}
}

func testPrune(t *testing.T, open opener) {
	b := open(t)
	var places [3][]uint64
	for i := range 4 {
		for n := range 3 {
			places[n] = append(places[n], publish(t, b, envelope(n, i)))
		}
	}
	if err := b.Advance(t.Context(), 14); err != nil {
		t.Fatal(err)
	}
	none, err := b.Prune(t.Context(), time.Now().Add(-time.Hour), func(string) uint64 { return 100 })
	if err != nil || none != 0 {
		t.Fatalf("pruned %d young messages, %v", none, err)
	}
	n, err := b.Prune(t.Context(), time.Now().Add(time.Hour), func(tok string) uint64 {
		switch tok {
		case token(0):
			return places[0][1]
		case token(1):
			return 100
		}
		return 0 // unknown
	})
	if err != nil || n != 2+4+1 { // and one of two fillers
		t.Fatalf("pruned %d, %v", n, err)
	}
	for n, want := range []int{2, 0, 4} {
		if got := mailboxOf(t, b, token(n)); len(got) != want {
			t.Errorf("mailbox %d has %d messages left, want %d", n, len(got), want)
		}
	}
	if _, last, err := b.Generation(t.Context()); err != nil || last != 14 {
		t.Errorf("last place %d, %v", last, err)
	}
}

func testRedelivery(t *testing.T, open opener) {
	b := open(t)
	seq := publish(t, b, envelope(1, 0))
	seen := make(chan WakeUp, 10)
	background(t, func(ctx context.Context) error {
		return b.Consume(ctx, func(_ context.Context, d WakeUp) error {
			seen <- d
			if d.Tries < 3 {
				return errors.New("not yet")
			}
			return nil
		})
	})
	for tries := 1; tries <= 3; tries++ {
		want := WakeUp{Token: token(1), Key: "key of 1", Seq: seq, Tries: tries}
		if d := cmp.Diff(want, receive(t, seen)); d != "" {
			t.Fatal(d)
		}
	}
}

func testHandover(t *testing.T, open opener) {
	b := open(t, func(o *Options) { o.Handlers = 3 })
	const all = 30
	for i := range all {
		publish(t, b, envelope(i, 0))
	}
	var busy, limit atomic.Int32
	begun := make(chan struct{}, all)
	first := background(t, func(ctx context.Context) error {
		return b.Consume(ctx, func(ctx context.Context, _ WakeUp) error {
			if n := busy.Add(1); n > limit.Load() {
				limit.Store(n)
			}
			defer busy.Add(-1)
			begun <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		})
	})
	for range 3 {
		receive(t, begun)
	}
	first()
	if limit.Load() != 3 || busy.Load() != 0 {
		t.Errorf("%d at a time, %d still", limit.Load(), busy.Load())
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	done := make(chan struct{})
	background(t, func(ctx context.Context) error {
		return b.Consume(ctx, func(_ context.Context, d WakeUp) error {
			mu.Lock()
			defer mu.Unlock()
			if seen[d.Token] = true; len(seen) == all {
				select {
				case <-done:
				default:
					close(done)
				}
			}
			return nil
		})
	})
	receive(t, done)
}

func testNext(t *testing.T, open opener) {
	b := open(t)
	a := publish(t, b, envelope(1, 0))
	publish(t, b, envelope(2, 0))
	c := publish(t, b, envelope(1, 1))
	for after, want := range map[uint64]uint64{0: a, a: c, a + 1: c, c: 0, 1000: 0} {
		e, err := b.Next(t.Context(), token(1), after)
		if want == 0 && !errors.Is(err, ErrNone) || want != 0 && (err != nil || e.Seq != want) {
			t.Errorf("after %d: %d, %v", after, e.Seq, err)
		}
	}
	if _, err := b.NextAtLeast(t.Context(), token(1), c, c+5); !errors.Is(err, ErrNone) {
		t.Errorf("the leader says %v", err)
	}
	if e, err := b.NextAtLeast(t.Context(), token(1), a, c); err != nil || e.Seq != c {
		t.Errorf("%d, %v", e.Seq, err)
	}
	if _, err := b.Next(t.Context(), "*", 0); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("a wildcard for a token: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Next(ctx, token(1), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func testWaiting(t *testing.T, open opener) {
	b := open(t)
	var places []uint64
	for i := range 5 {
		places = append(places, publish(t, b, envelope(1, i)))
		publish(t, b, envelope(2, i))
	}
	for i, after := range append([]uint64{0}, places...) {
		if n, err := b.Waiting(t.Context(), token(1), after); err != nil || n != 5-i {
			t.Errorf("above %d: %d, %v", after, n, err)
		}
	}
	if n, err := b.Waiting(t.Context(), token(3), 0); err != nil || n != 0 {
		t.Errorf("empty mailbox: %d, %v", n, err)
	}
}

func testLastAll(t *testing.T, open opener) {
	b := open(t)
	collect := func() map[string]uint64 {
		got := map[string]uint64{}
		err := b.LastAll(t.Context(), func(tok string, seq uint64) bool { got[tok] = seq; return true })
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := collect(); len(got) != 0 {
		t.Errorf("an empty log has %v", got)
	}
	want := map[string]uint64{}
	for i := range 2 {
		for n := range 60 {
			want[token(n)] = publish(t, b, envelope(n, i))
		}
	}
	if err := b.Advance(t.Context(), 125); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, collect()); d != "" {
		t.Error(d)
	}
	for _, n := range []int{0, 59} {
		if last, err := b.Last(t.Context(), token(n)); err != nil || last != want[token(n)] {
			t.Errorf("mailbox %d: last %d, %v", n, last, err)
		}
	}
	if last, err := b.Last(t.Context(), token(99)); err != nil || last != 0 {
		t.Errorf("empty mailbox: last %d, %v", last, err)
	}
	calls := 0
	if err := b.LastAll(t.Context(), func(string, uint64) bool { calls++; return false }); err != nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func testAdvance(t *testing.T, open opener) {
	b := open(t)
	publish(t, b, envelope(1, 0))
	g1, last, err := b.Generation(t.Context())
	if err != nil || last != 1 || g1 == "" {
		t.Fatalf("%q %d, %v", g1, last, err)
	}
	for range 2 {
		if err := b.Advance(t.Context(), 40); err != nil {
			t.Fatal(err)
		}
	}
	g2, last, err := b.Generation(t.Context())
	if err != nil || g1 != g2 || last != 40 {
		t.Errorf("%q %d, %v", g2, last, err)
	}
	seen := make(chan WakeUp, 100)
	background(t, func(ctx context.Context) error {
		return b.Consume(ctx, func(_ context.Context, d WakeUp) error { seen <- d; return nil })
	})
	second := publish(t, b, envelope(1, 1))
	got := []uint64{receive(t, seen).Seq, receive(t, seen).Seq}
	slices.Sort(got)
	if d := cmp.Diff([]uint64{1, second}, got); d != "" || second != 41 {
		t.Errorf("delivered %v, stored at %d", got, second)
	}
}
