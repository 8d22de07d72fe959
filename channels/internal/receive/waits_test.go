package receive_test

import (
	"errors"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/internal/receive"
)

// clock is a time that a test moves.
type clock struct{ time.Time }

func (c *clock) now() time.Time          { return c.Time }
func (c *clock) advance(d time.Duration) { c.Time = c.Add(d) }

func newWaits(sameEnd time.Duration) (*receive.Waits, *clock) {
	c := &clock{time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)}
	return &receive.Waits{Network: "pigeons", Now: c.now, SameEnd: sameEnd}, c
}

// left is what Check says, in seconds.
func left(t *testing.T, w *receive.Waits, scope, chat string) float64 {
	t.Helper()
	err := w.Check("fly", scope, chat)
	if err == nil {
		return 0
	}
	var e *channels.Error
	if !errors.As(err, &e) || e.Kind != channels.RateLimit || e.Op != "fly" || e.Message != "pigeons has asked to wait" {
		t.Errorf("%v", err)
		return -1
	}
	return e.RetryAfter.Seconds()
}

func expectLeft(t *testing.T, w *receive.Waits, want map[[2]string]float64) {
	t.Helper()
	for c, want := range want {
		if got := left(t, w, c[0], c[1]); got != want {
			t.Errorf("%v waits for %v s, want %v", c, got, want)
		}
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	t.Run("hold a chat exactly as long, and no other", func(t *testing.T) {
		t.Parallel()
		w, c := newWaits(time.Second)
		expectLeft(t, w, map[[2]string]float64{{"", "a"}: 0})
		w.Note("", "a", 9*time.Second)
		expectLeft(t, w, map[[2]string]float64{{"", "a"}: 9, {"", "b"}: 0, {"post", "a"}: 0})
		c.advance(8999 * time.Millisecond)
		expectLeft(t, w, map[[2]string]float64{{"", "a"}: 0.001})
		c.advance(time.Millisecond)
		expectLeft(t, w, map[[2]string]float64{{"", "a"}: 0})
	})
	t.Run("of a chat are as the network said last", func(t *testing.T) {
		t.Parallel()
		w, _ := newWaits(time.Second)
		w.Note("", "a", 9*time.Second)
		w.Note("", "a", 5*time.Second)
		expectLeft(t, w, map[[2]string]float64{{"", "a"}: 5, {"", "b"}: 0})
	})
	t.Run("of a scope hold all its chats, for the longest", func(t *testing.T) {
		t.Parallel()
		w, _ := newWaits(0)
		w.Note("post", "", 9*time.Second)
		w.Note("post", "", 5*time.Second)
		w.Note("post", "a", 12*time.Second)
		expectLeft(t, w, map[[2]string]float64{{"post", ""}: 9, {"post", "a"}: 12, {"post", "b"}: 9, {"read", "a"}: 0})
	})
	t.Run("that two chats are told are of the scope", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			name    string
			sameEnd time.Duration
			second  time.Duration // asked of b, 4 s after 10 s were asked of a
			all     float64
		}{
			{"the same end", time.Second, 6 * time.Second, 6},
			{"the same end, rounded", time.Second, 7 * time.Second, 7},
			{"ends of their own", time.Second, 9 * time.Second, 0},
			{"a network that never means the scope", 0, 6 * time.Second, 0},
		} {
			w, clock := newWaits(c.sameEnd)
			w.Note("", "a", 10*time.Second)
			clock.advance(4 * time.Second)
			w.Note("post", "b", c.second) // another scope
			expectLeft(t, w, map[[2]string]float64{{"", "c"}: 0, {"post", "c"}: 0})
			w.Note("", "b", c.second)
			if got := left(t, w, "", "c"); got != c.all {
				t.Errorf("%s: a third chat waits for %v s, want %v", c.name, got, c.all)
			}
		}
	})
	// Without this, each chat of many ends its own wait in the network's, and makes that
	// longer for all others. (F4 at full size)
	t.Run("that a crowd is told are of the scope, until the last of them", func(t *testing.T) {
		t.Parallel()
		w, clock := newWaits(time.Second)
		w.Note("", "a", 10*time.Second)
		w.Note("", "b", 14*time.Second)
		w.Note("post", "c", 60*time.Second) // another scope
		expectLeft(t, w, map[[2]string]float64{{"", "d"}: 0})
		w.Note("", "c", 12*time.Second)
		expectLeft(t, w, map[[2]string]float64{{"", "d"}: 14, {"", "a"}: 14})
		clock.advance(15 * time.Second)
		w.Note("", "a", 3*time.Second)
		w.Note("", "b", 6*time.Second) // those of before are over
		expectLeft(t, w, map[[2]string]float64{{"", "d"}: 0})
	})
	// (F16)
	t.Run("stay as long as they are when the clock is set back", func(t *testing.T) {
		t.Parallel()
		w, c := newWaits(0)
		w.Note("", "a", 30*time.Second)
		c.advance(10 * time.Second)
		expectLeft(t, w, map[[2]string]float64{{"", "a"}: 20})
		c.advance(-24 * time.Hour)
		expectLeft(t, w, map[[2]string]float64{{"", "a"}: 20})
		c.advance(20 * time.Second)
		expectLeft(t, w, map[[2]string]float64{{"", "a"}: 0})
	})
}
