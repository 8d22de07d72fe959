package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"parley/pause"
)

var errOver = errors.New("over")

func TestFor(t *testing.T) {
	t.Parallel()
	const never = 100 * time.Hour
	for _, c := range []struct {
		name             string
		d, ends, takes   time.Duration
		endedWithContext bool
	}{
		{name: "waits for its time", d: time.Hour, ends: never, takes: time.Hour},
		{name: "ends with its context", d: time.Hour, ends: time.Minute, takes: time.Minute, endedWithContext: true},
		{name: "does not wait for nothing", ends: never},
		{name: "does not wait for less than nothing", d: -time.Hour, ends: never},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), c.ends, errOver)
				defer cancel()
				began := time.Now()
				err := pause.For(ctx, c.d)
				if took := time.Since(began); took != c.takes {
					t.Errorf("it took %s, want %s", took, c.takes)
				}
				if errors.Is(err, errOver) != c.endedWithContext || (err == nil) == c.endedWithContext {
					t.Errorf("%v, want the end of the context: %v", err, c.endedWithContext)
				}
			})
		})
	}
	t.Run("never goes on after the end of its context", func(t *testing.T) {
		t.Parallel()
		ctx, end := context.WithCancelCause(t.Context())
		end(errOver)
		for range 100 { // a select that finds both takes either
			if err := pause.For(ctx, 0); !errors.Is(err, errOver) {
				t.Fatalf("%v, want the cause of the end", err)
			}
		}
	})
}
