package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func benchBroker(b *testing.B, relaxed time.Duration) *Broker {
	b.Helper()
	br, err := Open(b.Context(), Options{Dir: b.TempDir(), Relaxed: relaxed})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = br.Close(context.Background()) })
	return br
}

func benchEnvelope(n int) Envelope {
	e := envelope(n%1000, n)
	e.Body = json.RawMessage(`"` + strings.Repeat("x", 500) + `"`)
	return e
}

func BenchmarkPublish(b *testing.B) {
	for _, sync := range []struct {
		name    string
		relaxed time.Duration
	}{{"strict", 0}, {"relaxed", time.Second}} {
		for _, writers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/%d", sync.name, writers), func(b *testing.B) {
				br := benchBroker(b, sync.relaxed)
				var n atomic.Int64
				b.SetParallelism(max(writers/2, 1)) // times two processors
				if writers == 1 {
					for b.Loop() {
						if _, err := br.Publish(b.Context(), benchEnvelope(int(n.Add(1)))); err != nil {
							b.Fatal(err)
						}
					}
					return
				}
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := br.Publish(b.Context(), benchEnvelope(int(n.Add(1)))); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}

func BenchmarkNext(b *testing.B) {
	br := benchBroker(b, time.Second)
	for n := range 5000 {
		if _, err := br.Publish(b.Context(), benchEnvelope(n)); err != nil {
			b.Fatal(err)
		}
	}
	n := 0
	for b.Loop() {
		n++
		if _, err := br.Next(b.Context(), token(n%1000), 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWaiting(b *testing.B) {
	br := benchBroker(b, time.Second)
	for n := range 5000 {
		if _, err := br.Publish(b.Context(), benchEnvelope(n)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if n, err := br.Waiting(b.Context(), token(7), 0); err != nil || n != 5 {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkPublishToHandler is one message at a time, from before Publish to
// inside the handler.
func BenchmarkPublishToHandler(b *testing.B) {
	br := benchBroker(b, 0)
	ctx, cancel := context.WithCancel(b.Context())
	got := make(chan time.Time, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- br.Consume(ctx, func(context.Context, WakeUp) error { got <- time.Now(); return nil })
	}()
	var took []time.Duration
	n := 0
	for b.Loop() {
		n++
		began := time.Now()
		if _, err := br.Publish(ctx, benchEnvelope(n)); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-got).Sub(began))
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		b.Error(err)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkOpen is opening and closing a log of so many messages, one in each
// mailbox.
func BenchmarkOpen(b *testing.B) {
	for _, size := range []int{0, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			dir := b.TempDir()
			fill(b, dir, size)
			for b.Loop() {
				br, err := Open(b.Context(), Options{Dir: dir, Relaxed: time.Second})
				if err != nil {
					b.Fatal(err)
				}
				if err := br.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLastAll(b *testing.B) {
	const size = 100_000
	dir := b.TempDir()
	fill(b, dir, size)
	br, err := Open(b.Context(), Options{Dir: dir, Relaxed: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = br.Close(context.Background()) }()
	for b.Loop() {
		n := 0
		if err := br.LastAll(b.Context(), func(string, uint64) bool { n++; return true }); err != nil || n != size {
			b.Fatal(n, err)
		}
	}
}

func fill(b *testing.B, dir string, size int) {
	b.Helper()
	br, err := Open(b.Context(), Options{Dir: dir, Relaxed: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	for n := range size {
		if _, err := br.Publish(b.Context(), Envelope{ID: "i", Token: token(n), Body: json.RawMessage(`{}`)}); err != nil {
			b.Fatal(err)
		}
	}
	if err := br.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}
