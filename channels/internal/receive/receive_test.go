package receive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/internal/receive"
)

var (
	errNetwork = errors.New("connection refused")
	errRival   = errors.New("another one receives")
)

// recorder is an observer that records its calls.
type recorder struct {
	channels.NopObserver
	calls []string
}

func (r *recorder) SetConnected(channel string, up bool) {
	r.calls = append(r.calls, fmt.Sprintf("%s up %v", channel, up))
}
func (r *recorder) Reconnected(channel string) { r.calls = append(r.calls, channel+" reconnected") }
func (r *recorder) Event(channel string, _ time.Time) {
	r.calls = append(r.calls, channel+" event")
}

// fixture is a loop with what it tells.
type fixture struct {
	receive.Loop
	observer recorder
	log      bytes.Buffer
}

func newFixture() *fixture {
	f := &fixture{}
	plain := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	f.Loop = receive.NewLoop(receive.Config{
		Common: channels.Common{
			Name: "home", Observer: &f.observer, Log: slog.New(slog.NewTextHandler(&f.log, plain)),
			MinPause: 2 * time.Second, MaxPause: 8 * time.Second, Jitter: func() float64 { return 0 }, // 1, 2, 4, 4
		},
		Network: "pigeons", Peer: "the loft", Identity: func() []any { return []any{"as", "ours"} },
		Conflict: receive.Conflict{Is: func(err error) bool { return errors.Is(err, errRival) }, Message: "two lofts", Pause: time.Minute},
	})
	return f
}

func (f *fixture) lines() []string {
	defer f.log.Reset()
	return slices.Collect(strings.Lines(f.log.String()))
}

// failing returns a step that returns these errors one after another, and when it
// was called, in seconds.
func failing(errs ...error) (step func(context.Context) error, at *[]int) {
	began, at := time.Now(), &[]int{}
	return func(context.Context) error {
		*at = append(*at, int(time.Since(began).Seconds()))
		return errs[len(*at)-1]
	}, at
}

func same[T comparable](t *testing.T, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestRetryUntilFatal(t *testing.T) {
	t.Parallel()
	wait := &channels.Error{Kind: channels.RateLimit, Op: "fly", RetryAfter: 7 * time.Second}
	refused := &channels.Error{Kind: channels.Unauthorized, Op: "fly"}
	for name, c := range map[string]struct {
		errs []error
		at   []int
		want error
		log  []string
	}{
		"pauses longer after each failure": {
			errs: []error{errNetwork, errNetwork, errNetwork, errNetwork, nil}, at: []int{0, 1, 3, 7, 11},
			log: []string{"level=WARN msg=\"the loft is out of reach, trying again\" error=\"connection refused\"\n"},
		},
		"waits exactly as long as the network asks for": {
			errs: []error{errNetwork, fmt.Errorf("identify: %w", wait), errNetwork, nil}, at: []int{0, 1, 8, 10},
			log: []string{
				"level=WARN msg=\"the loft is out of reach, trying again\" error=\"connection refused\"\n",
				"level=WARN msg=\"pigeons asks to wait\" op=fly wait=7s\n",
			},
		},
		"logs a conflict once": {
			errs: []error{errRival, errRival, errRival, nil}, at: []int{0, 60, 120, 180},
			log: []string{"level=ERROR msg=\"two lofts\" error=\"another one receives\"\n"},
		},
		"returns the refusal of the account": {
			errs: []error{errNetwork, fmt.Errorf("identify: %w", refused)}, at: []int{0, 1}, want: refused,
			log: []string{"level=WARN msg=\"the loft is out of reach, trying again\" error=\"connection refused\"\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture()
				step, at := failing(c.errs...)
				if err := f.RetryUntilFatal(t.Context(), step); err != c.want { //nolint:errorlint // itself
					t.Errorf("%v", err)
				}
				same(t, *at, c.at...)
				same(t, f.lines(), c.log...)
			})
		})
	}
	t.Run("forgets failures and conflicts after a success", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFixture()
			var first []string
			for range 2 {
				step, at := failing(errNetwork, errNetwork, errRival, nil)
				if err := f.RetryUntilFatal(t.Context(), step); err != nil {
					t.Error(err)
				}
				same(t, *at, 0, 1, 3, 63)
				if first == nil {
					first = f.lines()
				}
			}
			same(t, f.lines(), first...)
		})
	})
	t.Run("ends with its context, and without an error", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFixture()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			step, at := failing(errNetwork, errNetwork, errNetwork)
			if err := f.RetryUntilFatal(ctx, step); err != nil {
				t.Error(err)
			}
			same(t, *at, 0, 1)
		})
	})
	t.Run("calls the step once after the end of its context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range []error{nil, errNetwork, refused} {
			f := newFixture()
			step, at := failing(err)
			if err := f.RetryUntilFatal(ctx, step); err != nil {
				t.Error(err)
			}
			same(t, *at, 0)
			same(t, f.lines())
		}
	})
	t.Run("is disconnected from a failure on", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFixture()
			f.MarkConnected()
			step, _ := failing(errNetwork, errNetwork, nil)
			if err := f.RetryUntilFatal(t.Context(), step); err != nil || f.IsConnected() {
				t.Errorf("%v, connected: %v", err, f.IsConnected())
			}
			same(t, f.observer.calls, "home up true", "home up false")
		})
	})
}

func TestMarkConnected(t *testing.T) {
	t.Parallel()
	t.Run("tells each change once, and as whom it is connected", func(t *testing.T) {
		t.Parallel()
		f := newFixture()
		f.MarkDisconnected()
		for range 2 {
			f.MarkConnected()
			f.MarkConnected()
			f.MarkDisconnected()
			f.MarkDisconnected()
		}
		same(t, f.observer.calls, "home up true", "home up false", "home up true", "home reconnected", "home up false")
		connected := "level=INFO msg=connected network=pigeons as=ours\n"
		same(t, f.lines(), connected, connected)
	})
}

func TestOffer(t *testing.T) {
	t.Parallel()
	t.Run("offers the same event until it is taken, with pauses of its own", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFixture()
			for range 2 {
				step, at := failing(errNetwork, errNetwork, nil)
				taken := f.Offer(t.Context(), channels.Message{Event: "17"}, func(ctx context.Context, m channels.Message) error {
					if m.Event != "17" || len(f.observer.calls) > 0 {
						t.Errorf("%s is offered after %v", m.Event, f.observer.calls)
					}
					return step(ctx)
				})
				if !taken {
					t.Error("the event was not taken")
				}
				same(t, *at, 0, 1, 3)
				same(t, f.observer.calls, "home event")
				again := "level=WARN msg=\"event not stored, offering it again\" event=17 error=\"connection refused\"\n"
				same(t, f.lines(), again, again)
				f.observer.calls = nil
			}
		})
	})
	t.Run("ends with its context", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFixture()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			step, at := failing(errNetwork, errNetwork)
			accept := func(ctx context.Context, _ channels.Message) error { return step(ctx) }
			for range 2 { // and offers nothing after that
				if f.Offer(ctx, channels.Message{}, accept) {
					t.Error("the event was taken")
				}
			}
			same(t, *at, 0, 1)
			same(t, f.observer.calls)
		})
	})
}
