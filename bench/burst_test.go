package bench

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkBurst is many people who write in the same moment, to a model that
// thinks for two seconds. Times are without those.
func BenchmarkBurst(b *testing.B) {
	const thinks = 2 * time.Second
	for _, people := range []int{1000, 5000} {
		b.Run(fmt.Sprintf("people=%d", people), func(b *testing.B) {
			each(b, func(b *testing.B, system string) {
				w := newWorld(b, worldOptions{Latency: thinks})
				c := start(b, w, system, people+turnsOnce)
				allAtOnce(b, w, c, people, thinks)
			})
		})
	}
}

// allAtOnce lets so many people say one thing in the same moment, once. What
// the model thinks is not counted.
func allAtOnce(b *testing.B, w *world, c *child, people int, thinks time.Duration) {
	b.Helper()
	atMost(b, 1, func() {
		before := c.usage()
		questions := make([]*question, people)
		for i := range questions {
			questions[i] = w.say(int64(1+i), fmt.Sprintf("hello from %d", i))
		}
		var took []time.Duration
		for _, q := range questions {
			d, err := q.wait(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			took = append(took, d)
		}
		report(b, c, before, took, thinks)
	})
}
