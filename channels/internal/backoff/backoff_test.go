package backoff_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels/internal/backoff"
)

func TestPausesGrowToTheirLongestAndBeginAnewAfterSuccess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		jitter float64
		want   []time.Duration
	}{
		{0, []time.Duration{50, 100, 200, 350, 350}},
		{0.5, []time.Duration{75, 150, 300, 525, 525}},
	} {
		p := backoff.Pauses{Min: 100, Max: 700, Jitter: func() float64 { return c.jitter }}
		for range 2 {
			var got []time.Duration
			for range c.want {
				got = append(got, p.Next())
			}
			if !slices.Equal(got, c.want) || p.Failures() != len(c.want) {
				t.Errorf("%v after %d failures, want %v", got, p.Failures(), c.want)
			}
			p.Reset()
		}
	}
}

func TestPausesNeverLeaveTheirBounds(t *testing.T) {
	t.Parallel()
	p := backoff.Pauses{Min: time.Second, Max: time.Minute}
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := p.Next()
		if d < time.Second/2 || d > time.Minute {
			t.Fatalf("a pause of %s", d)
		}
		seen[d] = true
	}
	if len(seen) < 900 {
		t.Errorf("only %d different pauses of 1000", len(seen))
	}
}

func TestAPauseEndsWithItsTimeOrWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		p := backoff.Pauses{Min: 2 * time.Second, Max: 24 * time.Hour, Jitter: func() float64 { return 0 }}
		began := time.Now()
		p.Wait(ctx)
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s", took)
		}
		for range 20 {
			p.Wait(ctx)
		}
		if took := time.Since(began); took != time.Hour {
			t.Errorf("after the end of the context it had taken %s", took)
		}
	})
}
