package broker

import (
	"context"
	"slices"
	"testing"
	"time"
)

// What came in since a time is read in its order, in all mailboxes, and what is no message is not.
func TestWhatCameInIsReadInItsOrder(t *testing.T) {
	t.Parallel()
	b := open(t, func(o *Options) { o.Dir = t.TempDir() })
	var want []uint64
	for i := range 5 {
		want = append(want, publish(t, b, envelope(i%2, i)))
	}
	if err := b.Advance(t.Context(), want[4]+3); err != nil { // by a message of no mailbox
		t.Fatal(err)
	}
	read := func(since time.Time, most int) (got []uint64) {
		t.Helper()
		err := b.Envelopes(context.Background(), since, func(e Envelope) bool {
			if e.Token == "" || e.At.IsZero() || len(e.Body) == 0 {
				t.Errorf("incomplete: %+v", e)
			}
			got = append(got, e.Seq)
			return len(got) < most
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := read(time.Now().Add(-time.Hour), 100); !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
	if got := read(time.Now().Add(-time.Hour), 2); !slices.Equal(got, want[:2]) {
		t.Errorf("read %v, though two were enough", got)
	}
	if got := read(time.Now().Add(time.Hour), 100); len(got) != 0 {
		t.Errorf("of the future: %v", got)
	}
}
