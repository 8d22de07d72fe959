package bench

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/simulators/model"
)

// networks are where people can write.
var networks = []string{"telegram", "slack", "signal"}

// spoken echoes what was said without who said it, which the model is told in a
// group.
func spoken(_ context.Context, p *model.Prompt) model.Answer {
	text := p.LastText()
	return model.Reply(model.Say(text[max(strings.Index(text, "hello"), 0):]))
}

func onNetwork(b *testing.B, name string, brain model.Brain, run func(b *testing.B, w *world, c *child)) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		w := newWorld(b, worldOptions{Network: name, Brain: brain})
		run(b, w, start(b, w, "parley", turnsOnce))
	})
}

// BenchmarkNetworksOneChat is one person on each network who asks, waits, and asks
// again: what a network adds to a turn.
func BenchmarkNetworksOneChat(b *testing.B) {
	for _, name := range networks {
		onNetwork(b, name, spoken, func(b *testing.B, w *world, c *child) { oneAfterAnother(b, w, c) })
	}
}

// BenchmarkNetworksManyChats is 64 people on each network, each of whom asks again
// when the answer is there.
func BenchmarkNetworksManyChats(b *testing.B) {
	for _, name := range networks {
		onNetwork(b, name, spoken, func(b *testing.B, w *world, c *child) { manyAtOnce(b, w, c) })
	}
}

// How an answer comes of which people see the beginning before its end: the model
// begins after thinks and is done after about three seconds more.
const (
	thinks    = time.Second
	wordEvery = 100 * time.Millisecond
	words     = 30
	readers   = 16 // at once
)

// slowly echoes word by word.
func slowly(ctx context.Context, p *model.Prompt) model.Answer {
	a := spoken(ctx, p)
	a.FirstToken, a.Pace = thinks, wordEvery
	return a
}

// BenchmarkNetworksFirstSign is sixteen people on each network who wait for an
// answer that takes its time: from what they say until they see that the bot is at
// work, and from the model's first word until they see a text.
func BenchmarkNetworksFirstSign(b *testing.B) {
	for _, name := range networks {
		onNetwork(b, name, slowly, func(b *testing.B, w *world, _ *child) {
			var (
				mu           sync.Mutex
				signs, texts []time.Duration
			)
			if _, err := (&lane{w: w, no: readers}).ask(b.Context()); err != nil { // it is connected
				b.Fatal(err)
			}
			rounds := make(chan struct{})
			var reading sync.WaitGroup
			for i := range readers {
				l := &lane{w: w, no: int64(i), more: strings.Repeat(" word", words)}
				reading.Go(func() {
					for range rounds {
						q := l.say()
						if _, err := q.wait(b.Context()); err != nil {
							b.Error(err)
							continue
						}
						mu.Lock()
						if !q.sign.IsZero() {
							signs = append(signs, q.sign.Sub(q.asked))
						}
						texts = append(texts, q.first.Sub(q.asked)-thinks)
						mu.Unlock()
					}
				})
			}
			for b.Loop() {
				rounds <- struct{}{}
			}
			close(rounds)
			reading.Wait()
			if len(texts) == 0 {
				b.Fatal("nothing was measured")
			}
			if len(signs) > 0 {
				b.ReportMetric(milliseconds(median(signs)), "first-sign-p50-ms")
			}
			b.ReportMetric(float64(len(signs))/float64(len(texts)), "signs/answer")
			b.ReportMetric(milliseconds(median(texts)), "first-text-after-first-word-p50-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkNetworksAttachment is a message with a file of 50 MB, on Telegram with
// one of 20 MB, the most that its servers hand out: what parley holds more than
// before, and how long it takes until the file lies in the workspace and the answer
// is there.
func BenchmarkNetworksAttachment(b *testing.B) {
	for _, name := range networks {
		size := 50 << 20
		if name == "telegram" {
			size = 20 << 20
		}
		var saved atomic.Int64
		onNetwork(b, name, func(_ context.Context, p *model.Prompt) model.Answer {
			text, file, _ := strings.Cut(p.LastText(), "\n")
			if strings.Contains(file, "saved as") {
				saved.Add(1)
			}
			return model.Reply(model.Say(text[max(strings.Index(text, "hello"), 0):]))
		}, func(b *testing.B, w *world, c *child) {
			l := &lane{w: w}
			if _, err := l.ask(b.Context()); err != nil {
				b.Fatal(err)
			}
			file := make([]byte, size)
			before, _, _ := c.memory()
			atMost(b, 3, func() {
				l.file = file
				saved.Store(0)
				began := time.Now()
				if _, err := l.ask(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(milliseconds(time.Since(began)), "answered-ms")
				if saved.Load() == 0 {
					b.Fatal("the file was not brought")
				}
				_, peak, ok := c.memory()
				if ok {
					b.ReportMetric(megabytes(peak), "peak-MB")
					b.ReportMetric(megabytes(peak-before), "over-idle-MB")
				}
			})
		})
	}
}
