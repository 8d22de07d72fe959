package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// factsAfter are the ids of the facts above a place.
func factsAfter(t *testing.T, b *Broker, after uint64) (ids []string) {
	t.Helper()
	last := after
	if err := b.Facts(t.Context(), after, func(f Fact) bool {
		if f.Seq <= last || f.At.IsZero() {
			t.Errorf("fact %q at place %d after %d, stored %v", f.ID, f.Seq, last, f.At)
		}
		last = f.Seq
		ids = append(ids, f.ID+"="+string(f.Body))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return ids
}

func fact(t *testing.T, b *Broker, id, body string) uint64 {
	t.Helper()
	seq, err := b.AppendFact(t.Context(), id, []byte(body))
	if err != nil {
		t.Fatalf("append fact %.40q: %v", id, err)
	}
	return seq
}

func testFacts(t *testing.T, open opener) {
	b := open(t)
	if got := factsAfter(t, b, 0); got != nil {
		t.Errorf("no facts, but %q", got)
	}
	a := fact(t, b, "a", "1")
	hostile := "b\r\nNats-Rollup: all\r\n\r\n\x00\xff*>"
	c := fact(t, b, hostile, "")
	if again := fact(t, b, "a", "other"); again != a {
		t.Errorf("the same id again went to place %d, not %d", again, a)
	}
	fact(t, b, "c", "{ \"x\": 1 }\n")
	if d := cmp.Diff([]string{"a=1", hostile + "=", "c={ \"x\": 1 }\n"}, factsAfter(t, b, 0)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"c={ \"x\": 1 }\n"}, factsAfter(t, b, c)); d != "" {
		t.Error(d)
	}
	calls := 0
	if err := b.Facts(t.Context(), 0, func(Fact) bool { calls++; return false }); err != nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if last, err := b.LastFact(t.Context()); err != nil || last != 3 {
		t.Errorf("the last fact is %d, %v", last, err)
	}
	for _, bad := range []struct{ id, body string }{{"", "x"}, {strings.Repeat("i", maxMeta+1), ""}, {"x", strings.Repeat("b", b.MaxBody()+1)}} {
		if _, err := b.AppendFact(t.Context(), bad.id, []byte(bad.body)); err == nil || bad.id != "" && !errors.Is(err, ErrTooLarge) {
			t.Errorf("an id of %d and a body of %d bytes: %v", len(bad.id), len(bad.body), err)
		}
	}
	if _, err := b.Next(t.Context(), token(1), 0); !errors.Is(err, ErrNone) {
		t.Errorf("a fact is in a mailbox: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Facts(ctx, 0, func(Fact) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Who does not know whether a fact was stored appends it again, perhaps while the first
// attempt is still on its way.
func testFactsRepeated(t *testing.T, open opener) {
	b := open(t)
	const writers, each = 8, 20
	places := make([][]uint64, writers)
	for i := range each {
		var wg sync.WaitGroup
		for n := range writers {
			wg.Go(func() {
				seq, err := b.AppendFact(t.Context(), fmt.Sprint("again ", i), []byte("x"))
				if err != nil {
					t.Error(err)
				}
				places[n] = append(places[n], seq)
			})
		}
		wg.Wait()
	}
	for n := range writers {
		if d := cmp.Diff(places[0], places[n]); d != "" {
			t.Errorf("writer %d was told other places: %s", n, d)
		}
	}
	if got := len(factsAfter(t, b, 0)); got != each {
		t.Errorf("%d facts, want %d", got, each)
	}
}

// Whoever reads after an append was confirmed finds it, whichever server is
// asked, and each writer's facts in its order.
func testFactsConfirmed(t *testing.T, open opener) {
	b := open(t)
	const writers, each = 4, 20
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			var last uint64
			for i := range each {
				id := fmt.Sprintf("%d %02d", n, i)
				seq, err := b.AppendFact(t.Context(), id, nil)
				if err != nil || seq <= last {
					t.Errorf("fact %s at place %d after %d, %v", id, seq, last, err)
					return
				}
				found := false
				if err := b.Facts(t.Context(), last, func(f Fact) bool { found = found || f.Seq == seq; return true }); err != nil || !found {
					t.Errorf("fact %s was confirmed, and found: %v, %v", id, found, err)
				}
				last = seq
			}
		})
	}
	wg.Wait()
	next := map[string]int{}
	for _, id := range factsAfter(t, b, 0) {
		var n, i int
		if _, err := fmt.Sscanf(id, "%d %d", &n, &i); err != nil {
			t.Fatal(err)
		}
		if w := fmt.Sprint(n); i != next[w] {
			t.Errorf("writer %s: fact %d, not %d", w, i, next[w])
		}
		next[fmt.Sprint(n)]++
	}
	if len(next) != writers {
		t.Errorf("facts of %d writers", len(next))
	}
}

func testFactsPruned(t *testing.T, open opener) {
	b := open(t)
	for i := range 5 {
		fact(t, b, fmt.Sprint(i), "")
	}
	later := time.Now().Add(time.Hour)
	for _, c := range []struct {
		before  time.Time
		applied uint64
		want    int
	}{{time.Now().Add(-time.Hour), 5, 0}, {later, 0, 0}, {later, 2, 2}, {later, 2, 0}, {later, 100, 2}} { // the newest stays
		if n, err := b.PruneFacts(t.Context(), c.before, c.applied); err != nil || n != c.want {
			t.Errorf("applied up to %d: pruned %d, not %d, %v", c.applied, n, c.want, err)
		}
	}
	if d := cmp.Diff([]string{"4="}, factsAfter(t, b, 0)); d != "" {
		t.Error(d)
	}
	if seq := fact(t, b, "5", ""); seq != 6 {
		t.Errorf("place %d after 5", seq)
	}
}
